"""Lookup keys find every fact that may be replaced or repeated."""

from collections.abc import Sequence
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from bench.datasets.relations import pairs
from pipeline.memory.attributes.attribute import Attribute, is_equivalent, names_value, naming_phrases
from pipeline.memory.attributes.attribute_extraction import extract_attributes
from pipeline.memory.versioning import comparison_keys
from pipeline.memory.versioning.fact_comparison import find_contradiction


def _are_comparable(ours: Sequence[Attribute], theirs: Sequence[Attribute]) -> bool:
    """Return whether either text replaces the other, or both are equivalent."""
    is_repetition = any(
        is_equivalent(our_attribute, their_attribute) for our_attribute, their_attribute in product(ours, theirs)
    )
    return is_repetition or find_contradiction(ours, theirs) is not None or find_contradiction(theirs, ours) is not None


def test_related_facts_of_labeled_pairs_share_a_key() -> None:
    texts = sorted({text for pair in pairs("open") for text in (pair.old, pair.new)})
    facts = [(text, own) for text in texts if (own := extract_attributes(text))]
    held = {text: set(comparison_keys.index_keys(own)) for text, own in facts}
    related_count = 0
    for (text, ours), (other, theirs) in product(facts, facts):
        if _are_comparable(ours, theirs):
            related_count += 1
            assert held[other] & set(comparison_keys.lookup_keys(ours)), (text, other)
    assert related_count > len(facts)


@given(st.lists(st.sampled_from(["vim", "with", "7", "on", "tea"]), min_size=1, max_size=4))
@settings(max_examples=50, deadline=None)
def test_naming_phrases_are_the_phrases_that_name_a_value(words: list[str]) -> None:
    value = " ".join(words)
    phrases = {" ".join(words[:place]) for place in range(1, len(words) + 1)}
    assert set(naming_phrases(value)) == {phrase for phrase in phrases if names_value(phrase, value)}


def test_likes_share_no_key_with_other_likes() -> None:
    tea, books = extract_attributes("User likes book 7"), extract_attributes("User likes book 8")
    assert not set(comparison_keys.index_keys(tea)) & set(comparison_keys.lookup_keys(books))
    assert set(comparison_keys.index_keys(tea)) & set(
        comparison_keys.lookup_keys(extract_attributes("User no longer likes book 7"))
    )


def test_a_change_is_found_by_the_value_it_replaces() -> None:
    vim, ended = extract_attributes("User uses Vim"), extract_attributes("User no longer uses Vim")
    assert set(comparison_keys.index_keys(vim)) & set(comparison_keys.lookup_keys(ended))
    assert set(comparison_keys.index_keys(ended)) & set(comparison_keys.lookup_keys(vim))
