"""Memories are found by the rare words that they share with a text."""

import pytest

from pipeline.index.namespace import NamespaceIndex
from pipeline.text.terms import hashed, term_hash
from tests.pipeline.index.world import World

pytestmark = pytest.mark.anyio


async def test_what_shares_the_rarest_words_comes_first_with_how_often_each_word_is_there(
    either: World,
) -> None:
    await either.document("d", "A document.")
    for number in range(5):
        await either.memory(f"tea{number}", f"Alice drinks tea number {number}.", "d")
    await either.memory("kettle", "Alice has a kettle.", "d")
    await either.memory("boat", "Bob has a boat.", "d")
    words = await either.cache.shared_words("alice")
    if not isinstance(await either.open(), NamespaceIndex):
        assert words is None, "what is too large to be held is not searched for every fact"
        return
    assert words is not None
    near = words(hashed("Alice makes tea in her kettle"))
    assert near.found[0].id == "kettle"
    assert {one.id for one in near.found} == {"kettle", *(f"tea{number}" for number in range(5))}
    assert {one.document for one in near.found} == {"d"}
    assert (near.rows, near.frequencies[term_hash("tea")], near.frequencies[term_hash("kettl")]) == (7, 5, 1)


async def test_what_is_forgotten_replaced_or_without_its_document_is_no_neighbour(either: World) -> None:
    await either.document("d", "A document.")
    await either.document("gone", "A document.")
    await either.memory("old", "Alice has a green kettle.", "d", is_latest=False)
    await either.memory("lost", "Alice has a blue kettle.", "gone")
    await either.memory("here", "Alice has a red kettle.", "d")
    await either.remove_document("gone")
    words = await either.cache.shared_words("alice")
    assert words is None or [one.id for one in words(hashed("kettle")).found] == ["here"]


async def test_a_namespace_that_is_not_there_has_no_words(either: World) -> None:
    assert await either.cache.shared_words("nobody") is None
