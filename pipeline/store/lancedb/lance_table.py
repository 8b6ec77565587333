"""LanceDB table (a shard): reads, and helpers for commits."""

import asyncio
from collections.abc import AsyncIterator, Collection, Coroutine, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import pyarrow as pa
from lancedb import AsyncConnection, AsyncTable
from lancedb.index import BTree

from pipeline.ports import Row
from pipeline.runtime.batches import batches_within
from pipeline.store.lancedb.row_codec import RowCodec, in_condition
from pipeline.store.lancedb.secondary_index import IndexEntry, SecondaryIndex, index_entries_of
from pipeline.store.lancedb.table_access import ROW_ID_COLUMN, rows_of_fragments
from pipeline.store.lancedb.table_directory import TableDirectory, count_versions
from pipeline.store.lancedb.table_size import TableSize

Result = TypeVar("Result")

STORAGE_ERRORS = (OSError, RuntimeError, ValueError)
"""Errors that LanceDB and Arrow raise when a disk is full, a commit conflicts or a peer is gone."""

_INDEX_ROWS = 50_000
_MAX_COMMIT_BYTES = 48 * 1024 * 1024
_INLINE_DECODE_ROWS = 64
_BATCH_ROWS = 4096
_ROWS_PER_MOVE = 8192
"""Rows moved by a commit: some 20 MB."""
_BUSY_VERSIONS = 600
"""Above this many versions fewer are kept, as every commit and cleanup lists them all.

No read takes a minute.
"""
_KEYS_PER_QUERY = 500
"""Maximum number of entity keys in the condition of one query."""


def release_unused_memory() -> None:
    """Return freed Arrow memory to the operating system. Takes milliseconds: call it in a thread."""
    pa.default_memory_pool().release_unused()


async def run_to_completion(work: Coroutine[Any, Any, Result]) -> Result:
    """Await `work` even when cancelled: a commit that is abandoned half-way may still take effect."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


class LanceTable(Generic[Row]):
    """Read access to the rows of one LanceDB table."""

    VERSION_RETENTION: ClassVar[timedelta]
    BUSY_VERSION_RETENTION: ClassVar[timedelta]

    def __init__(self, table: AsyncTable, codec: RowCodec[Row], directory: TableDirectory | None) -> None:
        self._table = table
        self._codec = codec
        self._directory = directory
        self._secondary_index: SecondaryIndex | None = None

    async def open_secondary_index(
        self, connection: AsyncConnection, folder: Path | None, name: str, *, exclusive: bool = False
    ) -> None:
        """Open the secondary index of the table `name`, if its codec has secondary keys.

        `exclusive`: no other process writes to it, so a key that is absent from memory is absent from the
        table.
        """
        if self._codec.secondary_keys is not None:
            self._secondary_index = await SecondaryIndex.open(
                connection, folder, name, self._all_index_entries(), exclusive=exclusive
            )

    async def lookup(self, keys: Collection[str]) -> list[str]:
        """Return every entity key that has any of these secondary keys, perhaps with stale ones."""
        return [] if self._secondary_index is None else await self._secondary_index.lookup(keys)

    async def scan_keys(self, entity_keys: Sequence[str], columns: Sequence[str], where: str | None = None) -> pa.Table:
        """Read the rows of any number of entity keys; absent keys are skipped."""
        extra_condition = "" if where is None else f" AND {where}"
        parts = [
            await self.scan(
                in_condition(self._codec.entity_key_column, entity_keys[begin : begin + _KEYS_PER_QUERY])
                + extra_condition,
                columns,
            )
            for begin in range(0, len(entity_keys), _KEYS_PER_QUERY)
        ]
        return pa.concat_tables(parts) if parts else self._codec.schema.empty_table().select(list(columns))

    def may_contain(self, entity_keys: Collection[str]) -> Collection[str]:
        return entity_keys

    async def get_rows(self, entity_keys: Collection[str]) -> dict[str, list[Row]]:
        """Read the rows of these entity keys; absent keys are left out."""
        return await self.read_rows(self.may_contain(entity_keys))

    async def read_rows(self, entity_keys: Collection[str]) -> dict[str, list[Row]]:
        """Like `get_rows`, for keys that already passed `may_contain`."""
        if not entity_keys:
            return {}
        return self._codec.group_by_entity_key(
            await self.decode_rows(await self.scan(in_condition(self._codec.entity_key_column, entity_keys)))
        )

    async def decode_rows(self, table: pa.Table) -> list[Row]:
        """Decode Arrow to rows; large tables are decoded in a thread."""
        if table.num_rows <= _INLINE_DECODE_ROWS:
            return self._codec.decode(table)
        return await asyncio.to_thread(self._codec.decode, table)

    async def scan(self, where: str | None = None, columns: Sequence[str] | None = None) -> pa.Table:
        """Read rows in one consistent snapshot."""
        return await self._query(where, columns).to_arrow()

    async def scan_row_ids(self, where: str, columns: Sequence[str]) -> pa.Table:
        """Like `scan`, with the column `ROW_ID_COLUMN` for `take_rows`."""
        return await self._query(where, columns).with_row_id().to_arrow()

    async def take_rows(self, row_ids: Sequence[int], columns: Sequence[str] | None = None) -> pa.Table:
        """Read rows by row id, in any order. Rows that moved since the id was read are left out."""
        query = self._table.take_row_ids(list(row_ids))
        return await (query if columns is None else query.select(list(columns))).to_arrow()

    async def stream(self, where: str, columns: Sequence[str], size: int) -> AsyncIterator[pa.Table]:
        """Read one consistent snapshot in batches of at most `size` rows."""
        async for batch in await self._query(where, columns).to_batches(max_batch_length=size):
            yield pa.Table.from_batches([batch])

    async def size(self) -> TableSize:
        """Count rows, bytes, files and versions; takes milliseconds for a thousand files."""
        rows = await self._table.count_rows()
        if self._directory is None:
            return TableSize(rows)
        nbytes, files = await asyncio.to_thread(self._directory.disk_usage)
        index_size = (0, 0) if self._secondary_index is None else await self._secondary_index.size()
        return TableSize(rows, nbytes + index_size[0], files + index_size[1], await count_versions(self._directory))

    async def _add_to_index(self, changed: Mapping[str, Sequence[Row]], indexed_keys: Collection[str]) -> None:
        """Index changed rows before they are committed; `indexed_keys` may have entries already."""
        if self._secondary_index is not None:
            await self._secondary_index.add(self._index_entries(changed), indexed_keys)

    async def _remove_from_index(self, deleted: Mapping[str, Sequence[Row]]) -> None:
        """Remove the index entries of deleted rows, after the deletion was committed."""
        if self._secondary_index is not None and deleted:
            await self._secondary_index.remove(self._index_entries(deleted))

    def _index_entries(self, entity_keys: Mapping[str, Sequence[Row]]) -> list[IndexEntry]:
        secondary_keys, incarnation_of = self._codec.secondary_keys, self._codec.incarnation_of
        if secondary_keys is None:
            return []
        return index_entries_of(
            {
                key: [(incarnation_of(row), secondary_keys(row)) for row in rows]
                for key, rows in entity_keys.items()
                if rows
            }
        )

    async def _all_index_entries(self) -> AsyncIterator[list[IndexEntry]]:
        """Yield the entries of every stored row, to build a missing index."""
        async for batch in self.stream("true", self._codec.projection_columns, _BATCH_ROWS):
            yield self._index_entries(self._codec.group_by_entity_key(await self.decode_rows(batch)))

    def _indexed_columns(self) -> list[str]:
        return [self._codec.entity_key_column]

    async def _create_missing_indexes(self) -> None:
        """Create scalar indices once the table is large enough."""
        if await self._table.count_rows() < _INDEX_ROWS:
            return
        indexed = {column for index in await self._table.list_indices() for column in index.columns}
        for column in dict.fromkeys(self._indexed_columns()):
            if column not in indexed:
                await self._table.create_index(column, config=BTree())

    async def _version_retention(self) -> timedelta:
        """Time for which to keep old versions; a table with many versions keeps them for less."""
        is_busy = await count_versions(self._directory) > _BUSY_VERSIONS
        return self.BUSY_VERSION_RETENTION if is_busy else self.VERSION_RETENTION

    async def _drop_versions(self, older_than: timedelta) -> None:
        """Merge fragments, and remove the files of versions older than this, but the newest."""
        await self._table.optimize(cleanup_older_than=older_than)
        if self._secondary_index is not None:
            await self._secondary_index.maintain(older_than)

    async def _move_rows_beside_deleted_rows(self) -> int:
        """Move the rows that share a fragment with deleted ones to new fragments; return their number.

        LanceDB merges a fragment only if a tenth of its rows is deleted. Old versions keep the files.
        """
        row_ids = await self._row_ids_beside_deleted_rows()
        for start in range(0, len(row_ids), _ROWS_PER_MOVE):
            rows = await LanceTable.take_rows(self, row_ids[start : start + _ROWS_PER_MOVE])
            await self._merge_of_unchanged_rows().execute(rows)
        return len(row_ids)

    async def _row_ids_beside_deleted_rows(self) -> list[int]:
        stored = await LanceTable._query(self, None, [self._codec.id_column]).with_row_id().to_arrow()
        row_ids = stored.column(ROW_ID_COLUMN)
        if self._directory is None:
            # An object store tells only LanceDB which fragments these are.
            return await asyncio.to_thread(row_ids.to_pylist)
        fragments = await asyncio.to_thread(self._directory.fragments_with_deletions)
        return await asyncio.to_thread(rows_of_fragments, row_ids, fragments)

    def _merge_of_unchanged_rows(self) -> Any:
        return self._table.merge_insert(self._codec.id_column).when_matched_update_all()

    async def _fsync(self) -> None:
        if self._directory is not None:
            await asyncio.to_thread(self._directory.fsync_new_files)

    def _query(self, where: str | None, columns: Sequence[str] | None) -> Any:
        query = self._table.query()
        if columns is not None:
            query = query.select(list(columns))
        return query if where is None else query.where(where)

    def _commit_batches(self, changed: Mapping[str, Sequence[Row]]) -> Iterator[dict[str, Sequence[Row]]]:
        """Split the changes into batches small enough for one commit each."""

        def size_of(entry: tuple[str, Sequence[Row]]) -> int:
            return 512 + sum(map(self._codec.size_bytes, entry[1]))

        return map(dict, batches_within(changed.items(), size_of, _MAX_COMMIT_BYTES))

    def _deduplicate(self, changed: Mapping[str, Sequence[Row]]) -> list[Row]:
        # A merge would insert both of two rows with the same id.
        rows = {self._codec.id_of(row): row for members in changed.values() for row in members}
        return sorted(rows.values(), key=self._codec.incarnation_of)
