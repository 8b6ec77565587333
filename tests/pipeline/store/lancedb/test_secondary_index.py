"""Secondary index: entries lead from keys to rows, however the rows came to the table and left it."""

from collections.abc import Collection
from pathlib import Path

import lancedb
import pytest

from pipeline.store import Store
from pipeline.store.lancedb.lance_table import STORAGE_ERRORS
from pipeline.store.lancedb.secondary_index import SecondaryIndex
from tests.support.store_rows import (
    clear_row_cache,
    exclusive_and_shared,
    memory,
    open_test_store,
    store_memories,
)

pytestmark = pytest.mark.anyio


def _secondary_index(store: Store) -> SecondaryIndex:
    links = store.memories._lance_tables[0]._secondary_index
    assert links is not None
    return links


async def _count(store: Store) -> int:
    return int(await _secondary_index(store).table.count_rows())


@exclusive_and_shared
async def test_index_entries_are_removed_and_added_with_their_rows(tmp_path: Path, shared: bool) -> None:
    store = await open_test_store(tmp_path, shards=1, shared=shared)
    row = memory("one", ["p", "q"], comparison_keys=("x",))
    for _ in range(2):
        await store_memories(store, row, memory("two", ["q"]))
        await store.memories.flush()
        assert await _count(store) == 4
        await store.memories.update([row.id], lambda _, __: [])
        await store.memories.flush()
        assert await _count(store) == 1
        assert await store.memories.find_by_keys(["alice#0"], ["x"]) == []
    await store.close()


@exclusive_and_shared
async def test_a_changed_row_keeps_one_index_entry_per_key(tmp_path: Path, shared: bool) -> None:
    store = await open_test_store(tmp_path, shards=1, shared=shared)
    for sources in (["p"], ["p", "q"], ["q"]):
        await store_memories(store, memory("one", sources, comparison_keys=("x",)))
        await store.memories.flush()
    assert await _count(store) == 3
    assert await store.memories.find_by_documents(["p"]) == []
    assert [row.text for row in await store.memories.find_by_documents(["q"])] == ["one"]
    await store.close()


@exclusive_and_shared
async def test_the_index_entries_of_a_namespace_are_deleted_with_it(tmp_path: Path, shared: bool) -> None:
    store = await open_test_store(tmp_path, shards=1, shared=shared)
    await store_memories(store, memory("one", ["p"]), memory("two", ["q"], incarnation="bob#0"))
    await store.memories.flush()
    await store.delete_incarnations({"alice#0"})
    assert await _count(store) == 1
    await store.close()


@exclusive_and_shared
async def test_rows_added_again_after_a_namespace_was_deleted_are_found_by_key(tmp_path: Path, shared: bool) -> None:
    store = await open_test_store(tmp_path, shards=1, shared=shared)
    for _ in range(2):
        await store_memories(store, memory("one", ["p"], comparison_keys=("x",)))
        await store.memories.flush()
        clear_row_cache(store.memories)
        assert [row.text for row in await store.memories.find_by_keys(["alice#0"], ["x"])] == ["one"]
        await store.delete_incarnations({"alice#0"})
        assert await _count(store) == 0
    await store.close()


async def test_recent_index_entries_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = await open_test_store(tmp_path, shards=1)
    asked: list[int] = []
    looked_up = _secondary_index(store)._lookup_pairs

    async def counted(_: SecondaryIndex, keys: Collection[int]) -> set[tuple[int, str]]:
        asked.append(len(keys))
        return await looked_up(keys)

    monkeypatch.setattr(SecondaryIndex, "_lookup_pairs", counted)
    for sources in (["p"], ["p", "q"], ["p", "q"], ["q"]):
        await store_memories(store, memory("one", sources, comparison_keys=("x",)))
        await store.memories.flush()
    assert asked == [1]
    assert await _count(store) == 3
    await store.close()


@exclusive_and_shared
async def test_a_missing_secondary_index_is_built_when_the_table_is_opened(tmp_path: Path, shared: bool) -> None:
    store = await open_test_store(tmp_path, shards=1, shared=shared)
    await store_memories(store, memory("one", ["p"], comparison_keys=("x",)), memory("two", ["q"]))
    await store.memories.flush()
    await store.close()
    connection = await lancedb.connect_async(str(tmp_path))
    await connection.drop_table("memories_secondary_index")
    again = await open_test_store(tmp_path, shards=1, shared=shared)
    clear_row_cache(again.memories)
    assert [row.text for row in await again.memories.find_by_documents(["p"])] == ["one"]
    assert [row.text for row in await again.memories.find_by_keys(["alice#0"], ["x"])] == ["one"]
    await again.close()


@exclusive_and_shared
async def test_indexed_rows_are_found_after_a_restart_and_others_are_not(tmp_path: Path, shared: bool) -> None:
    store = await open_test_store(tmp_path, shards=1, shared=shared)
    await store_memories(store, memory("one", ["p"], comparison_keys=("x",)))
    await store.close()
    again = await open_test_store(tmp_path, shards=1, shared=shared)
    assert [row.text for row in await again.memories.find_by_keys(["alice#0"], ["x", "y"])] == ["one"]
    assert await again.memories.find_by_keys(["alice#0"], ["y"]) == []
    await store_memories(again, memory("two", ["p"], comparison_keys=("y",)))
    await again.memories.flush()
    clear_row_cache(again.memories)
    assert [row.text for row in await again.memories.find_by_keys(["alice#0"], ["y"])] == ["two"]
    await again.close()


async def test_absent_and_recent_keys_need_no_read_of_the_index(tmp_path: Path) -> None:
    store = await open_test_store(tmp_path, shards=1)
    await store_memories(store, memory("one", ["p"]))
    await store.memories.flush()
    await _secondary_index(store).table.drop_columns(["target"])
    assert await store.memories.find_by_documents(["q"]) == []
    assert [row.text for row in await store.memories.find_by_documents(["p"])] == ["one"]
    await store.close()
    again = await open_test_store(tmp_path, shards=1)
    assert await again.memories.find_by_documents(["q"]) == []
    with pytest.raises(STORAGE_ERRORS):
        await again.memories.find_by_documents(["p"])
    await again.close()
