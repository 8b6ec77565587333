"""`There` is named where there is no doubt which place is meant, and no place is guessed."""

import pytest

from pipeline.memory.drafts import drafts
from pipeline.memory.whereabouts import placed


def texts(document: str) -> list[str]:
    return [draft.text for draft in drafts(document)]


@pytest.mark.parametrize(
    ("document", "last"),
    [
        ("Ada works in Oslo. She lives there too.", "Ada lives in Oslo too"),
        ("Ada works at Acme. She started there in 2020.", "Ada started at Acme in 2020"),
        ("I'm from Graz. I often go there on Sundays.", "User often goes to Graz on Sundays"),
        ("I live in Oslo, Norway. I study there.", "User studies in Oslo, Norway"),
        ("I moved to Rome. I work there as a nurse. My sister lives there.", "User's sister lives in Rome"),
        ("Tom: We went to Paris. We met Eva there in 2020.", "Tom and others met Eva in Paris in 2020"),
        (
            "Ann: I travel to Rome often. I've been there a lot. I rent a flat there.",
            "Ann rents a flat in Rome",
        ),
    ],
)
def test_there_is_the_only_place_that_was_named_just_before(document: str, last: str) -> None:
    assert texts(document)[-1] == last


@pytest.mark.parametrize(
    "before",
    [
        "Ada works at Acme in Oslo.",
        "Ada was born in May.",
        "Ada lives in Rome. She likes tea.",
        "Ada likes tea.",
    ],
)
def test_a_short_fact_about_a_place_that_is_not_known_is_left_out(before: str) -> None:
    assert texts(f"{before} Ada lives there.") == texts(before)


@pytest.mark.parametrize(
    "said", ["Ada was there for me.", "Ada got there in the end.", "There is a cafe.", "Do you live there?"]
)
def test_there_is_not_always_a_place(said: str) -> None:
    assert placed(said, "in Rome")[0] == said
