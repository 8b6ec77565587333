"""Secondary index: a LanceDB table from secondary keys to entity keys, beside the table of the rows.

LanceDB rebuilds an index on a list column at every optimize: 6 to 20 s of CPU for a million rows with a
hundred thousand different values. An index on numbers is updated in a fraction of a second. An entry may be
stale, never missing: it is written before its row and removed after it.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import blake2b
from pathlib import Path

import pyarrow as pa
from lancedb import AsyncConnection, AsyncTable
from lancedb.index import BTree

from pipeline.ports import Row
from pipeline.store.lancedb.compaction_policy import CompactionPolicy
from pipeline.store.lancedb.key_filter import KeyFilter, NoKeyFilter
from pipeline.store.lancedb.row_codec import in_condition, string_array
from pipeline.store.lancedb.secondary_index_cache import IndexPair, SecondaryIndexCache
from pipeline.store.lancedb.table_access import (
    ROW_ID_COLUMN,
    delete_and_count,
    fragment_sizes,
    newest_rows,
    open_if_exists,
)
from pipeline.store.lancedb.table_directory import TableDirectory, count_versions

_SCHEMA = pa.schema(
    [
        pa.field("key", pa.int64(), nullable=False),
        pa.field("target", pa.string(), nullable=False),
        pa.field("incarnation", pa.string(), nullable=False),
    ]
)
_INDEX_ROWS = 50_000
_KEYS_PER_QUERY = 500
"""Maximum number of keys in the condition of one query."""

IndexEntry = tuple[int, str, str]
"""A hashed secondary key, the entity key it leads to, and the incarnation of that entity."""


def hash_key(key: str) -> int:
    """Hash a secondary key to the 64 bits that the table stores."""
    return int.from_bytes(blake2b(key.encode(errors="surrogatepass"), digest_size=8).digest(), signed=True)


@dataclass(frozen=True, slots=True)
class SecondaryIndex:
    """The secondary index of one table. Writers must hold the right to write that table."""

    table: AsyncTable
    disk: TableDirectory | None
    cache: SecondaryIndexCache
    compaction_policy: CompactionPolicy

    @classmethod
    async def open(
        cls,
        connection: AsyncConnection,
        folder: Path | None,
        name: str,
        existing: AsyncIterator[Sequence[IndexEntry]],
        *,
        exclusive: bool = False,
    ) -> "SecondaryIndex":
        """Open the index of the table `name`, or build it from the `existing` entries.

        `exclusive`: no other process adds entries.
        """
        index_name = f"{name}_secondary_index"
        table = await open_if_exists(connection, index_name)
        if table is None:
            parts = [_encode(batch) async for batch in existing]
            # Another process that builds the same tables may have made it meanwhile, of the same entries.
            table = await connection.create_table(index_name, pa.concat_tables([_encode([]), *parts]), exist_ok=True)
        disk = None if folder is None else await asyncio.to_thread(TableDirectory, folder / f"{index_name}.lance")
        if not exclusive:
            return cls(table, disk, SecondaryIndexCache(NoKeyFilter(), capacity=0), CompactionPolicy())
        column = await table.query().select(["key"]).with_row_id().to_arrow()
        key_filter = await asyncio.to_thread(lambda: KeyFilter[int](column.column("key").to_pylist()))
        fragments = CompactionPolicy(fragment_sizes(column.column(ROW_ID_COLUMN)), await count_versions(disk))
        return cls(table, disk, SecondaryIndexCache(key_filter), fragments)

    async def lookup(self, keys: Collection[str]) -> list[str]:
        """Return the entity keys that any of these keys leads to, without duplicates."""
        pairs = await self._lookup_pairs({hash_key(key) for key in keys})
        return list(dict.fromkeys(target for _, target in pairs))

    async def add(self, entries: Sequence[IndexEntry], indexed_keys: Collection[str]) -> None:
        """Add entries; durable on return. Entity keys outside `indexed_keys` have no entries yet."""
        uncached = [entry for entry in entries if entry[:2] not in self.cache]
        unread_keys = {key for key, target, _ in uncached if target in indexed_keys}
        stored = await self._lookup_pairs(unread_keys) if unread_keys else set()
        fresh = [entry for entry in uncached if entry[:2] not in stored]
        if fresh:
            with self.cache.during_add(_to_pairs(fresh)):
                await self.table.add(await asyncio.to_thread(_encode, fresh))
                self.compaction_policy.record_commit(len(fresh))
                await self._sync()

    async def remove(self, entries: Sequence[IndexEntry]) -> None:
        with self.cache.during_remove(_to_pairs(entries)):
            for batch in _batches(entries):
                keys = ",".join(str(key) for key, _, _ in batch)
                targets = in_condition("target", dict.fromkeys(target for _, target, _ in batch))
                await self.table.delete(f"key IN ({keys}) AND {targets}")
                self.compaction_policy.record_commit(0, len(batch))
        if entries:
            await self._sync()

    async def delete_incarnations(self, incarnations: Collection[str]) -> None:
        with self.cache.during_clear():
            deleted_count = await delete_and_count(self.table, in_condition("incarnation", sorted(incarnations)))
        self.compaction_policy.record_commit(0, deleted_count)
        await self._sync()

    async def maintain(self, retention: timedelta, *, full: bool = True) -> None:
        """Merge fragments, update the scalar index and drop versions older than `retention`.

        Not `full`: only what the compaction policy says is due.
        """
        if full or (self.compaction_policy.is_due(idle=True) and self.compaction_policy.needs_full_compaction):
            await self._optimize(retention)
        elif self.compaction_policy.is_due(idle=True):
            await self._merge_newest_fragments()
        await self._sync()

    async def _optimize(self, retention: timedelta) -> None:
        await self.table.optimize(cleanup_older_than=retention)
        rows = await self.table.count_rows()
        if rows >= _INDEX_ROWS and not await self.table.list_indices():
            await self.table.create_index("key", config=BTree())
        self.compaction_policy.record_full_compaction(rows)

    async def _merge_newest_fragments(self) -> None:
        """Rewrite the newest rows.

        They are added again before they are deleted: a kill in between leaves duplicates, which are
        harmless.
        """
        rows = await newest_rows(self.table, self.compaction_policy.rows_in_partial_merge, with_row_ids=True)
        await self.table.add(rows.drop_columns(ROW_ID_COLUMN))
        for batch in _batches(rows.column(ROW_ID_COLUMN).to_pylist()):
            await self.table.delete(f"{ROW_ID_COLUMN} IN ({','.join(map(str, batch))})")
        self.compaction_policy.record_partial_merge(rows.num_rows)

    async def size(self) -> tuple[int, int]:
        """Bytes and files on a local disk."""
        return (0, 0) if self.disk is None else await asyncio.to_thread(self.disk.disk_usage)

    async def _lookup_pairs(self, keys: Collection[int]) -> set[IndexPair]:
        pairs, missing = self.cache.lookup(keys)
        if missing:
            with self.cache.caching_read(missing) as read:
                found = await self._query_pairs(missing)
                read(found)
            pairs |= found
        return pairs

    async def _query_pairs(self, keys: Collection[int]) -> set[IndexPair]:
        pairs: set[IndexPair] = set()
        for batch in _batches(sorted(keys)):
            query = self.table.query().select(["key", "target"])
            found = await query.where(f"key IN ({','.join(map(str, batch))})").to_arrow()
            pairs.update(zip(found.column(0).to_pylist(), found.column(1).to_pylist(), strict=True))
        return pairs

    async def _sync(self) -> None:
        if self.disk is not None:
            await asyncio.to_thread(self.disk.fsync_new_files)


def _to_pairs(entries: Iterable[IndexEntry]) -> list[IndexPair]:
    return [(key, target) for key, target, _ in entries]


def index_entries_of(rows: Mapping[str, Iterable[tuple[str, Iterable[str]]]]) -> list[IndexEntry]:
    """Build the entries of rows, given as (incarnation, secondary keys) by entity key."""
    return [
        (hash_key(key), target, incarnation)
        for target, members in rows.items()
        for incarnation, keys in members
        for key in keys
    ]


def _encode(entries: Sequence[IndexEntry]) -> pa.Table:
    arrays = [
        pa.array([key for key, _, _ in entries], pa.int64()),
        string_array(target for _, target, _ in entries),
        string_array(incarnation for _, _, incarnation in entries),
    ]
    return pa.table(arrays, schema=_SCHEMA)


def _batches(items: Sequence[Row]) -> Iterator[Sequence[Row]]:
    return (items[begin : begin + _KEYS_PER_QUERY] for begin in range(0, len(items), _KEYS_PER_QUERY))
