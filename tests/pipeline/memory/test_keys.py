"""Whatever can replace or repeat a fact is found by one of the keys that are sought for it."""

from collections.abc import Sequence
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.memory import keys
from pipeline.memory.relations import replaced
from pipeline.memory.slots.reading import slots
from pipeline.memory.slots.slot import Slot, is_named, naming, repeats
from tests.data.relations import pairs


def _concern(ours: Sequence[Slot], theirs: Sequence[Slot]) -> bool:
    """Whether one replaces the other, either way, or both say the same."""
    said = any(repeats(one, other) for one, other in product(ours, theirs))
    return said or replaced(ours, theirs) is not None or replaced(theirs, ours) is not None


def test_all_that_facts_of_the_open_pairs_can_mean_for_each_other_is_found() -> None:
    texts = sorted({text for pair in pairs("open") for text in (pair.old, pair.new)})
    facts = [(text, own) for text in texts if (own := slots(text))]
    held = {text: set(keys.held(own)) for text, own in facts}
    found = 0
    for (text, ours), (other, theirs) in product(facts, facts):
        if _concern(ours, theirs):
            found += 1
            assert held[other] & set(keys.sought(ours)), (text, other)
    assert found > len(facts)


@given(st.lists(st.sampled_from(["vim", "with", "7", "on", "tea"]), min_size=1, max_size=4))
@settings(max_examples=50, deadline=None)
def test_the_phrases_that_name_a_value_are_those_that_are_said_to(said: list[str]) -> None:
    value = " ".join(said)
    phrases = {" ".join(said[:place]) for place in range(1, len(said) + 1)}
    assert set(naming(value)) == {phrase for phrase in phrases if is_named(phrase, value)}


def test_what_somebody_likes_is_not_compared_with_all_else_that_somebody_likes() -> None:
    tea, books = slots("User likes book 7"), slots("User likes book 8")
    assert not set(keys.held(tea)) & set(keys.sought(books))
    assert set(keys.held(tea)) & set(keys.sought(slots("User no longer likes book 7")))


def test_a_change_to_something_else_is_found_by_what_it_replaces() -> None:
    vim, switched = slots("User uses Vim"), slots("User switched from Vim to Emacs")
    assert set(keys.held(vim)) & set(keys.sought(switched))
    assert set(keys.held(switched)) & set(keys.sought(vim))
