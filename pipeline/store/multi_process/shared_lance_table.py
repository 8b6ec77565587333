"""LanceDB table that several processes change, one commit at a time, under a lock.

Every commit is one merge of rows by id, stamped as `version_stamped_table` describes.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Generic

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lancedb import AsyncConnection, AsyncTable
from numpy.typing import NDArray

from pipeline.errors import LockLostError
from pipeline.ports import Lease, Row
from pipeline.store.lancedb.lance_table import release_unused_memory
from pipeline.store.lancedb.row_codec import RowCodec, in_condition
from pipeline.store.lancedb.table_access import ROW_ID_COLUMN, open_or_create
from pipeline.store.lancedb.table_directory import TableDirectory
from pipeline.store.multi_process.version_stamped_table import (
    DELETED,
    ROW_VERSION,
    VersionStampedTable,
    schema,
    with_version_columns,
)

_FILE_TIME_RESOLUTION_NS = 100_000_000
"""Time after which the next change of a folder has another time; file systems count in up to 10 ms."""
_NEWEST_ROWS = (256, 4096)
"""Rows at the end of the table that are read to find those of new fragments; if these are more, they are looked up."""


@dataclass(frozen=True, slots=True)
class TableChanges(Generic[Row]):
    """Rows that others wrote: key, incarnation and `deleted` of all, and the live ones of `wanted` incarnations."""

    written: pa.Table
    wanted: Collection[str]
    rows: Mapping[str, list[Row]]


class SharedLanceTable(VersionStampedTable[Row]):
    """LanceDB table shared by processes. Callers of methods that change it hold its lock."""

    VERSION_RETENTION = timedelta(minutes=10)
    BUSY_VERSION_RETENTION = timedelta(minutes=2)

    def __init__(self, table: AsyncTable, codec: RowCodec[Row], directory: TableDirectory | None) -> None:
        super().__init__(table, codec, directory)
        self._known_version = (-1, -1)
        """Time of the newest change of the folder of versions, and the version since then."""
        self._read_fragment = -1
        """Fragment up to which every row was written by a version that `changes_after` has read."""

    @classmethod
    async def open(
        cls, connection: AsyncConnection, folder: Path | None, name: str, codec: RowCodec[Row]
    ) -> "SharedLanceTable[Row]":
        """Open or create, under a lock. `folder` is the database's local folder, None at an object store."""
        table = await open_or_create(connection, name, schema(codec))
        disk = None if folder is None else await asyncio.to_thread(TableDirectory, folder / f"{name}.lance")
        if disk is not None:
            await asyncio.to_thread(disk.delete_stray_files)
        base = cls(table, codec, disk)
        await base.open_secondary_index(connection, folder, name)
        return base

    @property
    def is_local(self) -> bool:
        """True in a folder, whose locks can't be lost while a process lives."""
        return self._directory is not None

    @property
    def _has_json_column(self) -> bool:
        return any(field.type == pa.json_() for field in self._codec.schema)

    async def version(self) -> int:
        """Return the version that the next read sees, or an older one."""
        if self._directory is None:
            return int(await self._table.version())
        changed_at = self._directory.versions_changed_at()
        if changed_at != self._known_version[0]:
            # Another version of the same moment may follow, so a time that is too young says nothing later.
            is_over = time.time_ns() - changed_at > _FILE_TIME_RESOLUTION_NS
            version = int(await self._table.version())
            if not is_over:
                return version
            self._known_version = (changed_at, version)
        return self._known_version[1]

    def is_known_to_be(self, version: int) -> bool:
        """Return whether this is certainly the newest version, without asking LanceDB."""
        directory = self._directory
        return directory is not None and self._known_version == (directory.versions_changed_at(), version)

    async def changes_since(self, since: int, incarnations: Collection[str] | None = None) -> pa.Table:
        """Read key, incarnation and `deleted` of every row (None: of all incarnations) written after a version."""
        where = f"row_version > {since}" + _in_any(incarnations)
        columns = [self._codec.entity_key_column, "incarnation", DELETED.name]
        return await self._query_with_deleted(where, columns).to_arrow()

    async def changes_after(
        self, seen: int, version: int, wanted: Callable[[Collection[str]], Collection[str]]
    ) -> TableChanges[Row]:
        """Read what `changes_since` does, and the keys with a live row among it in the `wanted` incarnations.

        Calls follow each other: `seen` was the `version` of an earlier one, or is newer. What is written gets the
        highest numbers of fragments, so only the fragments since then are read, unless compaction made them large.
        """
        keys = [self._codec.entity_key_column, "incarnation", DELETED.name]
        written = await self._written_after(seen, keys, _NEWEST_ROWS)
        incarnations = wanted(written.column("incarnation").unique().to_pylist())
        rows: dict[str, list[Row]] = {}
        if incarnations:
            # One more, to see whether others have written since.
            counts = [written.num_rows + 1] if written.num_rows < _NEWEST_ROWS[0] else []
            full = await self._written_after(seen, None, counts, incarnations)
            rows = self._codec.group_by_entity_key(
                await self.decode_rows(full.filter(pc.invert(full.column(DELETED.name))))
            )
        self._advance_fragment(written, version)
        return TableChanges(written, frozenset(incarnations), rows)

    async def _written_after(
        self,
        seen: int,
        columns: Sequence[str] | None,
        counts: Sequence[int],
        incarnations: Collection[str] | None = None,
    ) -> pa.Table:
        """Read the rows written after a version, with row ids: among the newest rows, if any of these counts do."""
        columns = None if columns is None else [*columns, ROW_VERSION.name]
        total = await self._table.count_rows()
        for count in counts if self._read_fragment >= 0 else ():
            first = max(0, total - count)
            newest = await self._query_with_deleted(None, columns).with_row_id().offset(first).to_arrow()
            fragments = _fragments(newest)
            if not first or (len(fragments) and fragments[0] <= self._read_fragment):
                written = newest.filter(pc.greater(newest.column(ROW_VERSION.name), seen))
                return written if incarnations is None else written.filter(_is_in(written, incarnations))
        where = f"{ROW_VERSION.name} > {seen}" + _in_any(incarnations)
        return await self._query_with_deleted(where, columns).with_row_id().to_arrow()

    def _advance_fragment(self, written: pa.Table, version: int) -> None:
        """Take over up to which fragment there are only rows of this version or earlier ones.

        `written`: all rows after an earlier version, in one state of the table, perhaps a newer one than this.
        """
        fragments = _fragments(written)
        newer = fragments[written.column(ROW_VERSION.name).to_numpy() > version]
        if len(fragments):
            self._read_fragment = max(self._read_fragment, int(newer.min()) - 1 if len(newer) else int(fragments.max()))

    async def commit(
        self,
        changed: Mapping[str, Sequence[Row]],
        before: Mapping[str, Sequence[Row]],
        version: int,
        lease: Lease,
        *,
        are_new: bool = False,
    ) -> int:
        """Replace the rows of these keys, each key atomically; returns the new version.

        `before`: their rows at `version`, the newest one. LockLostError if another process wrote meanwhile;
        nothing of theirs was overwritten. `are_new`: the table never had any of these keys.
        """
        await self._add_to_index(changed, before)
        for part in self._commit_batches(changed):
            rows = self._deduplicate(part)
            kept = {self._codec.id_of(row) for row in rows}
            deleted = [row for key in part for row in before.get(key, ()) if self._codec.id_of(row) not in kept]
            data = await asyncio.to_thread(self._encode_changes, rows, deleted, version + 1)
            lease.ensure_valid()
            # Appending takes a third of a merge, which finds the rows of a process that took over the lock.
            write = self._append if are_new and self.is_local else self._upsert
            version = await write(data, version + 1)
        await self._fsync()
        await self._remove_from_index({key: before.get(key, ()) for key, rows in changed.items() if not rows})
        return version

    async def small_fragment_count(self) -> int:
        """Number of fragments that wait to be merged."""
        stats: Any = await self._table.stats()  # a dictionary, whatever its annotation says
        return int(stats["fragment_stats"]["num_small_fragments"])

    async def maintain(self, purge_through_version: int) -> int:
        """Merge fragments, update indices, drop old versions and old tombstones; returns the version.

        `purge_through_version`: newest version of a tombstone that may go; 0: none.
        """
        if purge_through_version:
            purgeable = "true" if self._codec.short_lived else "deleted"
            await self._table.delete(f"{purgeable} AND row_version <= {purge_through_version}")
        await self._table.optimize(cleanup_older_than=await self._version_retention())
        await self._create_missing_indexes()
        if self._secondary_index is not None:
            await self._secondary_index.maintain(await self._version_retention())
        await asyncio.to_thread(release_unused_memory)
        await self._fsync()
        return await self.version()

    async def erase_deleted_rows(self) -> int:
        """Move the rows that share a fragment with replaced or deleted ones; return their number."""
        moved = await self._move_rows_beside_deleted_rows()
        await self._fsync()
        return moved

    async def drop_old_versions(self, older_than: timedelta) -> None:
        """Remove the files of versions older than this, but the newest."""
        await self._drop_versions(older_than)
        await self._fsync()

    def _merge_of_unchanged_rows(self) -> Any:
        # The condition is that of `_upsert`: a row that another process has changed meanwhile stays as it is.
        merge = self._table.merge_insert(self._codec.id_column)
        unchanged = merge.when_matched_update_all(where="target.row_version = source.row_version")
        return unchanged.use_index(not self._has_json_column)

    async def _append(self, data: pa.Table, row_version: int) -> int:
        added = await self._table.add(data)
        await self._require_version(added.version, data, row_version)
        return row_version

    async def _upsert(self, data: pa.Table, row_version: int) -> int:
        # The condition keeps a holder that lost its lock unknowingly from overwriting newer rows.
        merge = (
            self._table.merge_insert(self._codec.id_column)
            .when_matched_update_all(where=f"target.row_version < {row_version}")
            .when_not_matched_insert_all()
        )
        # LanceDB 0.40 panics when it merges JSON on a condition with the help of an index.
        merged = await merge.use_index(not self._has_json_column).execute(data)
        await self._require_version(merged.version, data, row_version)
        if merged.num_inserted_rows + merged.num_updated_rows != data.num_rows:
            raise self._lock_lost()
        return row_version

    async def _require_version(self, version: int, data: pa.Table, row_version: int) -> None:
        if version == row_version:
            return
        # Followers that saw the version in between would miss these rows.
        ids = data.column(self._codec.id_column).to_pylist()
        await self._table.update(
            {"row_version": version + 1},
            where=f"row_version = {row_version} AND {in_condition(self._codec.id_column, ids)}",
        )
        raise self._lock_lost()

    def _lock_lost(self) -> LockLostError:
        return LockLostError(f"Table {self._codec.table} was changed by another process while this one held its lock.")

    def _encode_changes(self, rows: Sequence[Row], deleted: Sequence[Row], row_version: int) -> pa.Table:
        tables = [with_version_columns(self._codec.encode(rows), row_version, deleted=False)] if rows else []
        if deleted:
            tables.append(
                with_version_columns(self._blank_columns(self._codec.encode(deleted)), row_version, deleted=True)
            )
        return pa.concat_tables(tables)

    def _blank_columns(self, rows: pa.Table) -> pa.Table:
        kept_columns = {self._codec.id_column, self._codec.entity_key_column, "incarnation"}
        columns = [
            rows.column(field.name) if field.name in kept_columns else _empty_array(field, rows.num_rows)
            for field in rows.schema
        ]
        return pa.table(columns, schema=rows.schema)


def _fragments(rows: pa.Table) -> NDArray[np.uint64]:
    """Return the number of the fragment of each row."""
    numbers: NDArray[np.uint64] = rows.column(ROW_ID_COLUMN).to_numpy() >> np.uint64(32)
    return numbers


def _is_in(rows: pa.Table, incarnations: Collection[str]) -> pa.ChunkedArray:
    return pc.is_in(rows.column("incarnation"), pa.array(incarnations, pa.string()))


def _in_any(incarnations: Collection[str] | None) -> str:
    return "" if incarnations is None else f" AND {in_condition('incarnation', incarnations)}"


def _empty_array(field: pa.Field, row_count: int) -> pa.Array:
    """A column without content: null where allowed, else zero."""
    kind = field.type
    if field.nullable:
        return pa.nulls(row_count, kind)
    if pa.types.is_fixed_size_list(kind):
        flat = pa.array(np.zeros(row_count * kind.list_size, kind.value_type.to_pandas_dtype()))
        return pa.FixedSizeListArray.from_arrays(flat, kind.list_size)
    if pa.types.is_list(kind):
        return pa.array([[]] * row_count, kind)
    return pa.array(["" if pa.types.is_string(kind) else 0] * row_count).cast(kind)
