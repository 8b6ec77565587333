"""The contents, order and limits of profile sections."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.profile.profile_sections import (
    MAX_DYNAMIC_AGE_MS,
    MAX_FACTS_PER_SECTION,
    MAX_SECTION_CHARS,
    MIN_DYNAMIC_FACTS,
    SectionFact,
    build_profile,
    static_priorities,
    static_priority,
)

DAY_MS = 24 * 3600 * 1000
NOW_MS = 1_700_000_000_000


def section_fact(text: str, days_ago: float = 0, *, static: bool = False, **fields: object) -> SectionFact:
    return SectionFact(text, text, int(NOW_MS - days_ago * DAY_MS), static, **fields)  # type: ignore[arg-type]  # tests name fields


def shown_texts(*facts: SectionFact) -> tuple[list[str], list[str]]:
    profile = build_profile(facts, [], NOW_MS)
    return [entry.text for entry in profile.static], [entry.text for entry in profile.dynamic]


def test_identity_precedes_recent_facts() -> None:
    static, _ = shown_texts(
        section_fact("Ada likes tea", 0, static=True),
        section_fact("Ada's name is Ada Byron", 900, static=True),
        section_fact("Ada lives in Rome", 500, static=True),
    )
    assert static == ["Ada lives in Rome", "Ada's name is Ada Byron", "Ada likes tea"]


def test_plain_statements_precede_long_ones() -> None:
    static, _ = shown_texts(
        section_fact("Showing what she made is the best thing ever for Ada", 0, static=True),
        section_fact("Ada plays the clarinet", 90, static=True),
    )
    assert static[0] == "Ada plays the clarinet"


def test_facts_with_more_sources_come_first() -> None:
    static, _ = shown_texts(
        section_fact("Ada likes tea", 0, static=True, sources=("a",)),
        section_fact("Ada plays chess", 9, static=True, sources=("a", "b")),
    )
    assert static == ["Ada plays chess", "Ada likes tea"]


def test_dynamic_facts_are_newest_first_and_become_outdated() -> None:
    busy = [section_fact(f"thing {number} happened", number) for number in range(MIN_DYNAMIC_FACTS + 1)]
    old = section_fact("something happened long ago", MAX_DYNAMIC_AGE_MS / DAY_MS + 1)
    _, dynamic = shown_texts(*busy, old)
    assert dynamic == [fact.text for fact in busy]


def test_the_newest_of_only_old_facts_stay() -> None:
    old = [section_fact(f"thing {number} happened", 900 + 40 * number) for number in range(MIN_DYNAMIC_FACTS + 3)]
    assert shown_texts(*old)[1] == [fact.text for fact in old[:MIN_DYNAMIC_FACTS]]


def test_a_future_date_outdates_nothing() -> None:
    facts = [section_fact(f"thing {number} happened", number) for number in range(MIN_DYNAMIC_FACTS + 3)]
    assert len(shown_texts(*facts, section_fact("the exam is held", -4000))[1]) == len(facts) + 1


def test_sections_are_limited_in_facts_and_characters() -> None:
    facts = [section_fact(f"{number} is short", static=True) for number in range(MAX_FACTS_PER_SECTION + 5)]
    long = [section_fact(f"{number} " + "long " * 60) for number in range(MAX_FACTS_PER_SECTION + 5)]
    static, dynamic = shown_texts(*facts, *long)
    assert len(static) == MAX_FACTS_PER_SECTION
    assert dynamic
    assert sum(map(len, dynamic)) <= MAX_SECTION_CHARS


def test_one_fact_is_shown_however_long_it_is() -> None:
    assert len(shown_texts(section_fact("x" * (MAX_SECTION_CHARS + 1)))[1]) == 1


def test_a_bucket_has_facts_of_both_kinds() -> None:
    facts = [
        section_fact("Ada works at Acme", 3, static=True, buckets=frozenset({"work"})),
        section_fact("Ada has a meeting", buckets=frozenset({"work"})),
        section_fact("Ada slept"),
    ]
    profile = build_profile(facts, ["work", "health"], NOW_MS)
    assert [entry.text for entry in profile.buckets["work"]] == ["Ada has a meeting", "Ada works at Acme"]
    assert profile.buckets["health"] == []


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["Ada lives in Rome", "Ada likes tea", "The river is long"]),
            st.integers(0, 40),
            st.integers(-(2**40), 2**52),
        )
    )
)
@settings(max_examples=50, deadline=None)
def test_vectorized_priorities_equal_single_ones(facts: list[tuple[str, int, int]]) -> None:
    texts = [text for text, _, _ in facts]
    sources, valid_times = (np.array([fact[at] for fact in facts], np.int64) for at in (1, 2))
    assert static_priorities(texts, sources, valid_times).tolist() == [static_priority(*fact) for fact in facts]
