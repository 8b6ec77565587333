"""Memories are found by the rare words that they share with a text."""

import pytest

from pipeline.index.namespace_index import NamespaceIndex
from pipeline.text.analyzer import hash_terms, term_hash
from tests.support.index_harness import IndexHarness

pytestmark = pytest.mark.anyio


async def test_what_shares_the_rarest_words_comes_first_with_how_often_each_word_is_there(
    either: IndexHarness,
) -> None:
    await either.add_document("d", "A document.")
    for number in range(5):
        await either.add_memory(f"tea{number}", f"Alice drinks tea number {number}.", "d")
    await either.add_memory("kettle", "Alice has a kettle.", "d")
    await either.add_memory("boat", "Bob has a boat.", "d")
    words = await either.cache.neighbor_search("alice")
    if not isinstance(await either.open_index(), NamespaceIndex):
        assert words is None, "what is too large to be held is not searched for every fact"
        return
    assert words is not None
    near = words(hash_terms("Alice makes tea in her kettle"))
    assert near.memories[0].id == "kettle"
    assert {memory.id for memory in near.memories} == {"kettle", *(f"tea{number}" for number in range(5))}
    assert {memory.document for memory in near.memories} == {"d"}
    assert (
        near.row_count,
        near.document_frequencies[term_hash("tea")],
        near.document_frequencies[term_hash("kettl")],
    ) == (7, 5, 1)


async def test_what_is_forgotten_replaced_or_without_its_document_is_no_neighbour(
    either: IndexHarness,
) -> None:
    await either.add_document("d", "A document.")
    await either.add_document("gone", "A document.")
    await either.add_memory("old", "Alice has a green kettle.", "d", is_latest=False)
    await either.add_memory("lost", "Alice has a blue kettle.", "gone")
    await either.add_memory("here", "Alice has a red kettle.", "d")
    await either.remove_document("gone")
    words = await either.cache.neighbor_search("alice")
    assert words is None or [memory.id for memory in words(hash_terms("kettle")).memories] == ["here"]


async def test_a_namespace_that_is_not_there_has_no_words(either: IndexHarness) -> None:
    assert await either.cache.neighbor_search("nobody") is None
