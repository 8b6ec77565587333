"""Resolution of `there`: only with a single possible place."""

import pytest

from pipeline.memory.formation.rule_based_extraction import extract_facts
from pipeline.memory.grammar.place_anaphora import resolve_there


def texts(document: str) -> list[str]:
    return [draft.text for draft in extract_facts(document)]


@pytest.mark.parametrize(
    ("document", "last"),
    [
        ("Ada works in Oslo. She lives there too.", "Ada lives in Oslo too"),
        ("Ada works at Acme. She started there in 2020.", "Ada started at Acme in 2020"),
        ("I'm from Graz. I often go there on Sundays.", "User often goes to Graz on Sundays"),
        ("I live in Oslo, Norway. I study there.", "User studies in Oslo, Norway"),
        ("I moved to Rome. I work there as a nurse. My sister lives there.", "User's sister lives in Rome"),
        ("Tom: We went to Paris. We met Eva there in 2020.", "Tom met Eva in Paris in 2020"),
        (
            "Ann: I travel to Rome often. I've been there a lot. I rent a flat there.",
            "Ann rents a flat in Rome",
        ),
    ],
)
def test_there_is_replaced_by_the_only_place_named_before(document: str, last: str) -> None:
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
def test_a_short_fact_about_an_unknown_place_is_dropped(before: str) -> None:
    assert texts(f"{before} Ada lives there.") == texts(before)


@pytest.mark.parametrize(
    "sentence",
    ["Ada was there for me.", "Ada got there in the end.", "There is a cafe.", "Do you live there?"],
)
def test_there_without_a_place_is_kept(sentence: str) -> None:
    assert resolve_there(sentence, "in Rome")[0] == sentence
