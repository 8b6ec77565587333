"""Compaction of a large table rewrites only recent fragments, and loses nothing."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.rows import DocumentRow, MemoryRow
from pipeline.store import Store
from pipeline.store.lancedb.lance_table import STORAGE_ERRORS
from pipeline.store.lancedb.secondary_index import SecondaryIndex
from pipeline.store.lancedb.sharded_table import ShardedTable
from pipeline.store.single_process.exclusive_lance_table import ExclusiveLanceTable
from tests.support.store_rows import (
    clear_row_cache,
    document,
    full_document,
    full_memory,
    memory,
    open_test_store,
    store_documents,
    store_memories,
    to_comparable,
)

pytestmark = pytest.mark.anyio

LARGE = 6_000
BURST = 20


@pytest.fixture
async def store(tmp_path: Path) -> Store:
    """A table of documents and one of memories that are worth leaving alone."""
    store = await open_test_store(tmp_path, shards=1)
    await store_documents(store, *(document(f"d{number}") for number in range(LARGE)))
    await store_memories(store, *(memory(f"m{number}", ["d"], comparison_keys=("k",)) for number in range(LARGE)))
    await store.flush()
    await store.maintain()
    return store


async def test_a_burst_leaves_the_old_fragment_alone(store: Store) -> None:
    await burst(store)
    first = await places(store.documents), await places(store.memories)
    await upkeep(store)
    assert (await places(store.documents), await places(store.memories)) == first
    assert await fragments(store.documents) == await fragments(store.memories) == 2
    await store.close()


async def test_compaction_keeps_every_row_and_index_entry(store: Store) -> None:
    await burst(store)
    clear_row_cache(store.documents)
    clear_row_cache(store.memories)
    documents, memories = await everything(store.documents), await everything(store.memories)
    await upkeep(store)
    assert await everything(store.documents) == documents
    assert await everything(store.memories) == memories
    assert [row.text for row in await store.memories.find_by_keys(["alice#0"], ["new3"])] == ["new 3"]
    assert len(await store.memories.find_by_documents(["source7"])) == 1
    await store.close()


async def test_a_reopened_table_knows_which_fragments_were_merged(store: Store, tmp_path: Path) -> None:
    await burst(store)
    await upkeep(store)
    await store.close()
    again = await open_test_store(tmp_path, shards=1)
    assert base(again.documents)._compaction_policy._fragment_rows == [LARGE - 1, BURST + 2]
    assert base(again.documents).seconds_until_maintenance(idle=True) is None
    await again.close()


async def test_index_entries_doubled_by_a_killed_merge_are_found_once_and_deleted_together(
    store: Store,
) -> None:
    await burst(store)
    links = base(store.memories)._secondary_index
    assert links is not None
    await kill_between(links)
    clear_row_cache(store.memories)
    found = await store.memories.find_by_keys(["alice#0"], ["new3"])
    assert [row.text for row in found] == ["new 3"]
    await store.memories.update([found[0].id], lambda _, __: [])
    await store.memories.flush()
    assert await store.memories.find_by_keys(["alice#0"], ["new3"]) == []
    await store.close()


async def kill_between(links: SecondaryIndex) -> None:
    """Merge, but for the last step: what was written anew stays where it was as well."""
    broken = replace(links, table=Undeletable(links.table))  # type: ignore[arg-type]
    with pytest.raises(STORAGE_ERRORS):
        await broken._merge_newest_fragments()


class Undeletable:
    """A table whose disk fails before anything is deleted."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    async def delete(self, where: str) -> None:
        """Fails."""
        raise OSError(where)


async def burst(store: Store) -> None:
    """Add new rows and change old ones, with a commit each."""
    for number in range(BURST):
        await store_documents(store, document(f"new{number}", metadata={"n": number}))
        await store_memories(store, memory(f"new {number}", [f"source{number}"], comparison_keys=(f"new{number}",)))
        await store.flush()
    await store_documents(store, replace(document("d1"), title="Changed"), full_document())
    await store_memories(store, replace(memory("m1", ["d"]), is_latest=False), full_memory("d"))
    await store.flush()


async def upkeep(store: Store) -> None:
    """Maintain both tables as far as it is due."""
    for table in (store.documents, store.memories):
        assert base(table).seconds_until_maintenance(idle=True) is not None
        await base(table).maintain(full=False)


def base(table: ShardedTable[Any]) -> ExclusiveLanceTable[Any]:
    """The LanceDB table of a table with one shard."""
    (lance_table,) = table._lance_tables
    assert isinstance(lance_table, ExclusiveLanceTable)
    return lance_table


async def places(table: ShardedTable[Any]) -> Sequence[int]:
    """Row ids of the rows that were stored before the burst."""
    found = await base(table).scan_row_ids("seq = 1", [table.codec.entity_key_column])
    rows = zip(
        found.column(table.codec.entity_key_column).to_pylist(),
        found.column("_rowid").to_pylist(),
        strict=True,
    )
    return sorted(place for _, place in rows if place >> 32 == min(found.column("_rowid").to_pylist()) >> 32)


async def fragments(table: ShardedTable[Any]) -> int:
    """Number of fragments of a table."""
    stats: Any = await base(table)._table.stats()
    return int(stats["fragment_stats"]["num_fragments"])


async def everything(table: ShardedTable[DocumentRow] | ShardedTable[MemoryRow]) -> list[dict[str, Any]]:
    """All rows, ordered by id."""
    rows = [to_comparable(row) for row in await table.list_rows(["alice#0"])]
    return sorted(rows, key=lambda row: str(row[table.codec.id_column]))
