"""Several facts that say one thing are shown as one."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.profile.fact_aggregation import (
    AGGREGATE_ID_PREFIX,
    MAX_OBJECTS_PER_AGGREGATE,
    ProfileEntry,
    aggregate_facts,
)


def aggregated_texts(*texts: str) -> list[str]:
    return [entry.text for entry in aggregate_facts([ProfileEntry(str(at), text) for at, text in enumerate(texts)])]


def test_likes_are_enumerated_in_one_statement() -> None:
    assert aggregated_texts("Ada likes tea", "Ada lives in Rome", "Ada likes jazz", "Ada likes old films.") == [
        "Ada likes tea, jazz and old films",
        "Ada lives in Rome",
    ]


def test_a_detailed_fact_replaces_less_detailed_ones() -> None:
    assert aggregated_texts("Ada works at Acme", "Ada works at Acme as an engineer") == [
        "Ada works at Acme as an engineer"
    ]


def test_words_after_a_pause_are_detail() -> None:
    assert aggregated_texts("Ada works at Acme", "Ada works at Acme; it makes her happy") == [
        "Ada works at Acme; it makes her happy"
    ]
    assert len(aggregated_texts("Ada works at Acme", "Ada works at Acme; but not any longer")) == 2


def test_facts_with_only_a_common_beginning_are_not_merged() -> None:
    facts = (
        "Ada works at Acme",
        "Ada works at Acme no longer",
        "Ada works at Acme Robotics",
        "Ada likes tea",
        "Bob likes jazz",
        "Ada loves tea",
        "Ada likes that the office is near and has a garden",
    )
    assert aggregated_texts(*facts) == list(facts)


def test_long_enumerations_are_split() -> None:
    things = [f"thing{number}" for number in range(MAX_OBJECTS_PER_AGGREGATE + 2)]
    first, second = aggregated_texts(*(f"Ada likes {thing}" for thing in things))
    assert (first.count("thing"), second.count("thing")) == (MAX_OBJECTS_PER_AGGREGATE, 2)


SENTENCES = st.builds(
    "{} {} {}".format,
    st.sampled_from(["Ada", "Bob", "User"]),
    st.sampled_from(["likes", "plays", "works at", "lives in"]),
    st.sampled_from(["tea", "tea in Rome", "chess", "Acme", "Acme as a cook", "tea, and more"]),
)


@given(st.lists(SENTENCES, max_size=12))
@settings(max_examples=100)
def test_aggregation_loses_nothing_and_marks_aggregated_ids(texts: list[str]) -> None:
    facts = [ProfileEntry(f"m{at}", text) for at, text in enumerate(texts)]
    entries = aggregate_facts(facts)
    alone = {entry.id: entry.text for entry in entries if not entry.id.startswith(AGGREGATE_ID_PREFIX)}
    assert alone.items() <= {fact.id: fact.text for fact in facts}.items()
    assert len({entry.id for entry in entries}) == len(entries)
    every = " | ".join(entry.text for entry in entries)
    for text in texts:
        subject, rest = text.split(" ", 1)
        assert subject in every
        assert rest.split()[-1] in every


@given(st.lists(SENTENCES, max_size=8))
@settings(max_examples=50)
def test_aggregate_ids_are_deterministic(texts: list[str]) -> None:
    facts = [ProfileEntry(f"m{at}", text) for at, text in enumerate(texts)]
    assert aggregate_facts(facts) == aggregate_facts(list(facts))
