"""What a profile shows, in which order, and how much of it."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.profile.sections import (
    CHARACTERS,
    FACTS,
    FADING_MS,
    LEAST,
    Fact,
    durabilities,
    durability,
    portrait,
)

DAY = 24 * 3600 * 1000
NOW = 1_700_000_000_000


def fact(text: str, days_ago: float = 0, *, static: bool = False, **fields: object) -> Fact:
    return Fact(text, text, int(NOW - days_ago * DAY), static, **fields)  # type: ignore[arg-type]  # tests name fields


def shown(*facts: Fact) -> tuple[list[str], list[str]]:
    made = portrait(facts, [], NOW)
    return [one.text for one in made.static], [one.text for one in made.dynamic]


def test_who_somebody_is_comes_before_what_was_said_last() -> None:
    static, _ = shown(
        fact("Ada likes tea", 0, static=True),
        fact("Ada's name is Ada Byron", 900, static=True),
        fact("Ada lives in Rome", 500, static=True),
    )
    assert static == ["Ada lives in Rome", "Ada's name is Ada Byron", "Ada likes tea"]


def test_what_is_plain_comes_before_what_takes_many_words() -> None:
    static, _ = shown(
        fact("Showing what she made is the best thing ever for Ada", 0, static=True),
        fact("Ada plays the clarinet", 90, static=True),
    )
    assert static[0] == "Ada plays the clarinet"


def test_what_several_documents_say_comes_before_what_one_says() -> None:
    static, _ = shown(
        fact("Ada likes tea", 0, static=True, sources=("a",)),
        fact("Ada plays chess", 9, static=True, sources=("a", "b")),
    )
    assert static == ["Ada plays chess", "Ada likes tea"]


def test_what_is_going_on_comes_newest_first_and_fades() -> None:
    busy = [fact(f"thing {number} happened", number) for number in range(LEAST + 1)]
    old = fact("something happened long ago", FADING_MS / DAY + 1)
    _, dynamic = shown(*busy, old)
    assert dynamic == [one.text for one in busy]


def test_where_nothing_came_since_the_last_of_it_stays() -> None:
    old = [fact(f"thing {number} happened", 900 + 40 * number) for number in range(LEAST + 3)]
    assert shown(*old)[1] == [one.text for one in old[:LEAST]]


def test_what_is_dated_in_the_future_lets_nothing_fade() -> None:
    facts = [fact(f"thing {number} happened", number) for number in range(LEAST + 3)]
    assert len(shown(*facts, fact("the exam is held", -4000))[1]) == len(facts) + 1


def test_sections_are_bounded_in_facts_and_in_characters() -> None:
    many = [fact(f"{number} is short", static=True) for number in range(FACTS + 5)]
    long = [fact(f"{number} " + "long " * 60) for number in range(FACTS + 5)]
    static, dynamic = shown(*many, *long)
    assert len(static) == FACTS
    assert dynamic
    assert sum(map(len, dynamic)) <= CHARACTERS


def test_one_fact_is_shown_however_long_it_is() -> None:
    assert len(shown(fact("x" * (CHARACTERS + 1)))[1]) == 1


def test_a_bucket_has_facts_of_both_kinds() -> None:
    facts = [
        fact("Ada works at Acme", 3, static=True, buckets=frozenset({"work"})),
        fact("Ada has a meeting", buckets=frozenset({"work"})),
        fact("Ada slept"),
    ]
    made = portrait(facts, ["work", "health"], NOW)
    assert [one.text for one in made.buckets["work"]] == ["Ada has a meeting", "Ada works at Acme"]
    assert made.buckets["health"] == []


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
def test_many_facts_last_as_long_as_each_by_itself(facts: list[tuple[str, int, int]]) -> None:
    texts = [text for text, _, _ in facts]
    sources, whens = (np.array([one[at] for one in facts], np.int64) for at in (1, 2))
    assert durabilities(texts, sources, whens).tolist() == [durability(*one) for one in facts]
