"""The contents, order and limits of profile sections."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.profile.fact_relevance import MAX_CHANGE_AGE_DAYS, is_lasting, leading_name, names_in
from pipeline.profile.profile_sections import (
    CHARS_PER_TOKEN,
    MAX_FACTS_PER_SECTION,
    MAX_SPARSE_AGE_DAYS,
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


@pytest.mark.parametrize(
    ("text", "lasts"),
    [
        ("User's daughter is April", True),
        ("User's name is June", True),
        ("User has an exam in June", False),
        ("User has an exam on June 3", False),
    ],
)
def test_a_month_alone_may_be_a_name(text: str, lasts: bool) -> None:
    assert is_lasting(text, is_static=True) is lasts


def test_names_have_capitals_of_any_script() -> None:
    assert leading_name("\u00c9lodie lives in Rome") == "\u00c9lodie"
    assert (
        leading_name("\u041e\u043b\u044c\u0433\u0430 \u0436\u0438\u0432\u0451\u0442")
        == "\u041e\u043b\u044c\u0433\u0430"
    )
    assert names_in("User knows \u00c9lodie and \u00e9clairs") == {"\u00c9lodie"}


def test_who_somebody_is_precedes_who_their_relatives_are() -> None:
    own, relative = (
        section_fact("User is Amos, 67", static=True),
        section_fact("User's grandson Sipho is 15", static=True),
    )
    assert shown_texts(relative, own)[0] == [own.text, relative.text]


def test_who_somebody_is_is_left_out_where_more_is_told_of_them() -> None:
    shown = shown_texts(
        section_fact("User: mi hija Valentina", static=True),
        section_fact("User: mi hija Valentina estudia en Lima", static=True),
        section_fact("User: mi hija Val", static=True),
    )
    assert sorted(shown[0]) == ["User: mi hija Val", "User: mi hija Valentina estudia en Lima"]


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


def test_what_goes_on_comes_newest_first_and_old_states_are_dropped() -> None:
    recent = [section_fact(f"Ada is painting wall {number}", number) for number in range(3)]
    old = section_fact("Ada is looking for a flat", MAX_CHANGE_AGE_DAYS + 1)
    assert shown_texts(*recent, old)[1] == [fact.text for fact in recent]


def test_a_quiet_namespace_keeps_what_went_on_when_it_was_last_told() -> None:
    facts = [section_fact(f"Ada is painting wall {number}", 900 + number) for number in range(3)]
    assert shown_texts(*facts)[1] == [fact.text for fact in facts]


def test_older_changes_are_shown_where_little_goes_on() -> None:
    change = section_fact("Ada found a flat in Porto", MAX_CHANGE_AGE_DAYS + 30)
    over = section_fact("Ada is staying with Bea", MAX_CHANGE_AGE_DAYS + 30)
    ancient = section_fact("Ada bought a van", MAX_SPARSE_AGE_DAYS + 1)
    now = section_fact("Ada is learning Latvian")
    assert shown_texts(change, over, ancient, now)[1] == [now.text, change.text]
    many = [section_fact(f"Ada is painting wall {number}", number) for number in range(MIN_DYNAMIC_FACTS)]
    assert change.text not in shown_texts(change, *many)[1]


def test_what_was_done_and_is_to_come_goes_on() -> None:
    accepted = section_fact("Ada got accepted for the fair on November 20", 40)
    assert shown_texts(accepted, section_fact("Ada is learning Latvian"))[1] == [
        "Ada is learning Latvian",
        accepted.text,
    ]


def test_a_job_that_was_to_begin_lasts_once_its_day_is_past() -> None:
    assert is_lasting("Ada is starting at the botanic gardens in March", is_static=False)


@pytest.mark.parametrize(
    ("text", "told_days_ago", "is_shown"),
    [
        ("User has an exam on November 10", 20, False),
        ("User has an exam on November 20", 20, True),
        ("User signed up for the half marathon on November 10", 20, False),
        ("User signed up for the half marathon on November 20", 20, True),
        ("User is on leave until 12 November 2023", 9, False),
        ("User is off sick in the week of 6 November 2023", 7, False),
        ("User is taking a pottery class on Tuesdays", 30, True),
        ("User is opening a shop in March", 40, True),
        ("User had pizza", 1, False),
        ("User went to the dentist", 1, False),
        ("User started a freelance project", 20, True),
        ("User has attached the agenda", 1, False),
        ("User wants to study medicine", 200, True),
        ("User is tired", 8, False),
        ("It is lovely", 0, False),
        ("User flies back the same evening", 1, False),
    ],
)
def test_only_what_is_not_over_goes_on(text: str, told_days_ago: float, is_shown: bool) -> None:
    told = section_fact(text, told_days_ago)
    now = section_fact("User is learning Latvian")
    assert (text in shown_texts(told, now)[1]) == is_shown


@pytest.mark.parametrize(
    ("text", "lasts"),
    [
        ("User is 29", True),
        ("User takes ramipril every morning", True),
        ("User moved to Riga in March", True),
        ("User is moving in with their mom in Whitehall to save money", True),
        ("User started at Vattenfall on 1 March 2026 as a grid planner", True),
        ("User broke up with Henning in July", True),
        ("User stopped eating meat", True),
        ("User has asthma", True),
        ("User volunteers at the food bank on Wednesdays", True),
        ("User is chair of the tenants' association", True),
        ("User is a paralegal at a small law firm", True),
        ("User got the apprenticeship at Hargreaves", True),
        ("User: Meine Tochter Svenja wohnt in Bremen", True),
        ("User's grandson stays with User until Christmas", False),
        ("User is late for the meeting", False),
        ("User is on parental leave from May 18 to June 12", False),
        ("User has an interview at Spotify on September 15", False),
        ("User hasn't smoked for two weeks", False),
        ("User wants to run a marathon", False),
    ],
)
def test_habits_and_biography_last_and_dated_plans_do_not(text: str, lasts: bool) -> None:
    assert is_lasting(text, is_static=False) == lasts


def test_facts_about_nobody_of_the_namespace_are_left_out_unless_planned() -> None:
    told = [
        section_fact("User has two daughters, Mia and Romy", static=True),
        section_fact("User is a nurse", static=True),
        section_fact("User is learning Latvian"),
        section_fact("Mia has chickenpox"),
        section_fact("The outage is caused by a full disk"),
        section_fact("Acme is based in Denver", static=True),
        section_fact("The workshop is on November 25"),
    ]
    static, dynamic = shown_texts(*told)
    assert "Acme is based in Denver" not in static
    assert set(dynamic) == {"User is learning Latvian", "Mia has chickenpox", "The workshop is on November 25"}


def test_a_fact_of_more_worth_comes_first_among_equals() -> None:
    static, _ = shown_texts(
        section_fact("Ada likes tea", 0, static=True, worth=4.0),
        section_fact("Ada plays the organ", 9, static=True, worth=6.5),
    )
    assert static == ["Ada plays the organ", "Ada likes tea"]


def test_sections_are_limited_in_facts_and_tokens() -> None:
    facts = [section_fact(f"{number} is short", static=True) for number in range(MAX_FACTS_PER_SECTION + 5)]
    long = [section_fact(f"{number} is " + "long " * 60) for number in range(MAX_FACTS_PER_SECTION + 5)]
    profile = build_profile([*facts, *long], [], NOW_MS, max_tokens=400)
    assert len(profile.static) == MAX_FACTS_PER_SECTION
    assert profile.dynamic
    assert sum(len(entry.text) for entry in profile.dynamic) <= 400 // 2 * CHARS_PER_TOKEN


def test_one_fact_is_shown_however_long_it_is() -> None:
    assert len(shown_texts(section_fact("x" * 10_000))[1]) == 1


def test_a_bucket_has_facts_of_both_kinds() -> None:
    facts = [
        section_fact("Ada works at Acme", 3, static=True, buckets=frozenset({"work"})),
        section_fact("Ada has a meeting", buckets=frozenset({"work"})),
        section_fact("Ada slept", buckets=frozenset({"work"})),
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
    worths = np.linspace(0, 20, len(facts), dtype=np.float32)
    expected = [static_priority(*fact, worth) for fact, worth in zip(facts, worths.tolist(), strict=True)]
    assert static_priorities(texts, sources, valid_times, worths).tolist() == expected
