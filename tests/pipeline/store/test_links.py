"""Links lead from keys to rows, however the rows came to the table and left it."""

from collections.abc import Collection
from pathlib import Path

import lancedb
import pytest

from pipeline.store import Store
from pipeline.store.links import Links
from pipeline.store.stored import FAILURES
from tests.pipeline.store.samples import both, forget_recent, memory, opened, store_memories

pytestmark = pytest.mark.anyio


def _links(store: Store) -> Links:
    links = store.memories._bases[0]._links
    assert links is not None
    return links


async def _count(store: Store) -> int:
    return int(await _links(store)._table.count_rows())


@both
async def test_what_goes_takes_its_links_along_and_what_comes_again_brings_them(
    tmp_path: Path, shared: bool
) -> None:
    store = await opened(tmp_path, shards=1, shared=shared)
    row = memory("one", ["p", "q"], keys=("x",))
    for _ in range(2):
        await store_memories(store, row, memory("two", ["q"]))
        await store.memories.flush()
        assert await _count(store) == 4
        await store.memories.update([row.id], lambda _, __: [])
        await store.memories.flush()
        assert await _count(store) == 1
        assert await store.memories.keyed(["alice#0"], ["x"]) == []
    await store.close()


@both
async def test_a_row_that_changes_keeps_one_link_of_each_key(tmp_path: Path, shared: bool) -> None:
    store = await opened(tmp_path, shards=1, shared=shared)
    for sources in (["p"], ["p", "q"], ["q"]):
        await store_memories(store, memory("one", sources, keys=("x",)))
        await store.memories.flush()
    assert await _count(store) == 3
    assert await store.memories.of_documents(["p"]) == []
    assert [row.text for row in await store.memories.of_documents(["q"])] == ["one"]
    await store.close()


@both
async def test_the_links_of_a_namespace_go_with_it(tmp_path: Path, shared: bool) -> None:
    store = await opened(tmp_path, shards=1, shared=shared)
    await store_memories(store, memory("one", ["p"]), memory("two", ["q"], space="bob#0"))
    await store.memories.flush()
    await store.remove_spaces({"alice#0"})
    assert await _count(store) == 1
    await store.close()


@both
async def test_what_comes_again_after_its_namespace_went_is_found_by_its_keys(
    tmp_path: Path, shared: bool
) -> None:
    store = await opened(tmp_path, shards=1, shared=shared)
    for _ in range(2):
        await store_memories(store, memory("one", ["p"], keys=("x",)))
        await store.memories.flush()
        forget_recent(store.memories)
        assert [row.text for row in await store.memories.keyed(["alice#0"], ["x"])] == ["one"]
        await store.remove_spaces({"alice#0"})
        assert await _count(store) == 0
    await store.close()


async def test_links_that_were_made_a_moment_ago_are_not_looked_for(tmp_path: Path) -> None:
    store = await opened(tmp_path, shards=1)
    asked: list[int] = []
    looked_up = _links(store)._pairs

    async def counted(keys: Collection[int]) -> set[tuple[int, str]]:
        asked.append(len(keys))
        return await looked_up(keys)

    _links(store)._pairs = counted  # type: ignore[method-assign]  # what costs a question to LanceDB
    for sources in (["p"], ["p", "q"], ["p", "q"], ["q"]):
        await store_memories(store, memory("one", sources, keys=("x",)))
        await store.memories.flush()
    assert asked == [1]
    assert await _count(store) == 3
    await store.close()


@both
async def test_a_table_of_before_there_were_links_gets_them_when_it_is_opened(
    tmp_path: Path, shared: bool
) -> None:
    store = await opened(tmp_path, shards=1, shared=shared)
    await store_memories(store, memory("one", ["p"], keys=("x",)), memory("two", ["q"]))
    await store.memories.flush()
    await store.close()
    connection = await lancedb.connect_async(str(tmp_path))
    await connection.drop_table("memories_links")
    again = await opened(tmp_path, shards=1, shared=shared)
    forget_recent(again.memories)
    assert [row.text for row in await again.memories.of_documents(["p"])] == ["one"]
    assert [row.text for row in await again.memories.keyed(["alice#0"], ["x"])] == ["one"]
    await again.close()


@both
async def test_what_is_linked_is_found_after_a_restart_and_what_never_was_is_not(
    tmp_path: Path, shared: bool
) -> None:
    store = await opened(tmp_path, shards=1, shared=shared)
    await store_memories(store, memory("one", ["p"], keys=("x",)))
    await store.close()
    again = await opened(tmp_path, shards=1, shared=shared)
    assert [row.text for row in await again.memories.keyed(["alice#0"], ["x", "y"])] == ["one"]
    assert await again.memories.keyed(["alice#0"], ["y"]) == []
    await store_memories(again, memory("two", ["p"], keys=("y",)))
    await again.memories.flush()
    forget_recent(again.memories)
    assert [row.text for row in await again.memories.keyed(["alice#0"], ["y"])] == ["two"]
    await again.close()


async def test_a_key_without_links_and_one_that_came_lately_ask_no_table(tmp_path: Path) -> None:
    store = await opened(tmp_path, shards=1)
    await store_memories(store, memory("one", ["p"]))
    await store.memories.flush()
    await _links(store)._table.drop_columns(["target"])
    assert await store.memories.of_documents(["q"]) == []
    assert [row.text for row in await store.memories.of_documents(["p"])] == ["one"]
    await store.close()
    again = await opened(tmp_path, shards=1)
    assert await again.memories.of_documents(["q"]) == []
    with pytest.raises(FAILURES):
        await again.memories.of_documents(["p"])
    await again.close()
