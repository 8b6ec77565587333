"""Several facts that say one thing are shown as one."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.profile.aggregates import MOST, PREFIX, Stated, aggregated


def said(*texts: str) -> list[str]:
    return [one.text for one in aggregated([Stated(str(at), text) for at, text in enumerate(texts)])]


def test_things_that_somebody_likes_become_one_list() -> None:
    assert said("Ada likes tea", "Ada lives in Rome", "Ada likes jazz", "Ada likes old films.") == [
        "Ada likes tea, jazz and old films",
        "Ada lives in Rome",
    ]


def test_a_fact_stands_for_the_same_with_less_detail() -> None:
    assert said("Ada works at Acme", "Ada works at Acme as an engineer") == [
        "Ada works at Acme as an engineer"
    ]


def test_what_is_added_after_a_pause_is_detail() -> None:
    assert said("Ada works at Acme", "Ada works at Acme; it makes her happy") == [
        "Ada works at Acme; it makes her happy"
    ]
    assert len(said("Ada works at Acme", "Ada works at Acme; but not any longer")) == 2


def test_what_only_begins_alike_stays_apart() -> None:
    facts = (
        "Ada works at Acme",
        "Ada works at Acme no longer",
        "Ada works at Acme Robotics",
        "Ada likes tea",
        "Bob likes jazz",
        "Ada loves tea",
        "Ada likes that the office is near and has a garden",
    )
    assert said(*facts) == list(facts)


def test_long_lists_are_several() -> None:
    things = [f"thing{number}" for number in range(MOST + 2)]
    first, second = said(*(f"Ada likes {thing}" for thing in things))
    assert (first.count("thing"), second.count("thing")) == (MOST, 2)


SENTENCES = st.builds(
    "{} {} {}".format,
    st.sampled_from(["Ada", "Bob", "User"]),
    st.sampled_from(["likes", "plays", "works at", "lives in"]),
    st.sampled_from(["tea", "tea in Rome", "chess", "Acme", "Acme as a cook", "tea, and more"]),
)


@given(st.lists(SENTENCES, max_size=12))
@settings(max_examples=100)
def test_nothing_is_lost_and_an_id_says_whether_it_is_one_memory(texts: list[str]) -> None:
    facts = [Stated(f"m{at}", text) for at, text in enumerate(texts)]
    told = aggregated(facts)
    alone = {one.id: one.text for one in told if not one.id.startswith(PREFIX)}
    assert alone.items() <= {one.id: one.text for one in facts}.items()
    assert len({one.id for one in told}) == len(told)
    every = " | ".join(one.text for one in told)
    for text in texts:
        subject, rest = text.split(" ", 1)
        assert subject in every
        assert rest.split()[-1] in every


@given(st.lists(SENTENCES, max_size=8))
@settings(max_examples=50)
def test_the_same_facts_have_the_same_ids(texts: list[str]) -> None:
    facts = [Stated(f"m{at}", text) for at, text in enumerate(texts)]
    assert aggregated(facts) == aggregated(list(facts))
