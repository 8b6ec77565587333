"""LanceDB table with a single writer: commits, compaction, cleanup of old versions."""

import asyncio
import logging
import time
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
from lancedb import AsyncConnection, AsyncTable

from pipeline.ports import Row
from pipeline.store.lancedb.compaction_policy import CompactionPolicy
from pipeline.store.lancedb.key_filter import KeyFilter
from pipeline.store.lancedb.lance_table import LanceTable, release_unused_memory
from pipeline.store.lancedb.row_codec import RowCodec, in_condition
from pipeline.store.lancedb.table_access import (
    ROW_ID_COLUMN,
    count_deleted_rows,
    delete_and_count,
    fragment_sizes,
    newest_rows,
    open_or_create,
)
from pipeline.store.lancedb.table_directory import TableDirectory, count_versions

_MIN_VERSIONS_TO_CLEAN = 1
"""Old versions are cleaned up beyond this number: each keeps the rows it replaced, perhaps all of them."""

_MIN_MAINTENANCE_SECONDS = 0.05
_MAINTENANCE_REST_FACTOR = 10
"""Maintenance may take one part in this many of the time."""

_log = logging.getLogger(__name__)


class ExclusiveLanceTable(LanceTable[Row]):
    """LanceDB table with a single writer. Calls that change it must not overlap."""

    VERSION_RETENTION = timedelta(minutes=5)
    BUSY_VERSION_RETENTION = timedelta(minutes=1)

    def __init__(
        self,
        table: AsyncTable,
        codec: RowCodec[Row],
        disk: TableDirectory | None,
        *,
        key_filter: KeyFilter[str],
        compaction_policy: CompactionPolicy,
        maintenance_lock: asyncio.Lock,
    ) -> None:
        super().__init__(table, codec, disk)
        self._key_filter = key_filter
        self._compaction_policy = compaction_policy
        self._maintenance_lock = maintenance_lock
        self._maintained_at = 0.0
        self._last_maintenance_seconds = 0.0
        self._cleanup_due_at: float | None = None

    @classmethod
    async def open(
        cls,
        connection: AsyncConnection,
        folder: Path | None,
        name: str,
        codec: RowCodec[Row],
        maintenance_lock: asyncio.Lock,
    ) -> "ExclusiveLanceTable[Row]":
        """Open or create. `folder` is the database's local folder, None at an object store.

        Tables share `maintenance_lock`: two compactions at a time would take twice the memory, and both
        cores.
        """
        table = await open_or_create(connection, name, cls.schema(codec))
        stored_keys = await table.query().select([codec.entity_key_column]).with_row_id().to_arrow()
        key_filter = await asyncio.to_thread(lambda: KeyFilter[str](stored_keys.column(0).to_pylist()))
        disk = None if folder is None else await asyncio.to_thread(TableDirectory, folder / f"{name}.lance")
        if disk is not None and (stray_count := await asyncio.to_thread(disk.delete_stray_files)):
            _log.info("Removed %d temporary files that a killed writer left in table %s.", stray_count, name)
        row_ids = stored_keys.column(ROW_ID_COLUMN)
        compaction_policy = CompactionPolicy(
            fragment_sizes(row_ids), await count_versions(disk), count_deleted_rows(row_ids)
        )
        opened = cls(
            table,
            codec,
            disk,
            key_filter=key_filter,
            compaction_policy=compaction_policy,
            maintenance_lock=maintenance_lock,
        )
        if compaction_policy.is_compacted:
            await opened._schedule_cleanup(0.0)
        await opened.open_secondary_index(connection, folder, name, exclusive=True)
        return opened

    @classmethod
    def schema(cls, codec: RowCodec[Row]) -> pa.Schema:
        return codec.schema

    @property
    def codec(self) -> RowCodec[Row]:
        return self._codec

    def may_contain(self, entity_keys: Collection[str]) -> Collection[str]:
        """Return the keys that may be in the table, by the key filter of its only writer."""
        return self._key_filter.may_contain(entity_keys)

    async def commit(self, changed: Mapping[str, Sequence[Row]]) -> None:
        """Replace the rows of these keys (none: delete them), each key atomically; durable on return."""
        indexed_keys = set(self._key_filter.may_contain(changed))
        # Add keys before committing, so that a retry after a partial failure updates instead of inserting.
        self._key_filter.add(key for key, rows in changed.items() if rows)
        await self._add_to_index(changed, indexed_keys)
        deleted = await self._rows_with_secondary_keys([key for key in indexed_keys if not changed[key]])
        for part in self._commit_batches(changed):
            await self._commit_batch(part, indexed_keys)
        await self._fsync()
        await self._remove_from_index(deleted)

    async def delete_incarnations(self, incarnations: Collection[str]) -> None:
        deleted = await delete_and_count(self._table, in_condition("incarnation", sorted(incarnations)))
        self._compaction_policy.record_commit(0, deleted)
        await self._fsync()
        if self._secondary_index is not None:
            await self._secondary_index.delete_incarnations(incarnations)

    def seconds_until_maintenance(self, *, idle: bool) -> float | None:
        """Seconds until fragments should be merged, fewer when idle; None: nothing to merge."""
        now = time.monotonic()
        if self._compaction_policy.is_due(idle=idle):
            return max(0.0, self._maintained_at + _MAINTENANCE_REST_FACTOR * self._last_maintenance_seconds - now)
        return max(0.0, self._cleanup_due_at - now) if idle and self._cleanup_due_at is not None else None

    @property
    def is_maintenance_locked(self) -> bool:
        """True while another table is being maintained."""
        return self._maintenance_lock.locked()

    async def maintain(self, *, full: bool = True) -> None:
        """Merge fragments, refresh indices, drop old versions. Not `full`: only what is due."""
        async with self._maintenance_lock:
            started = time.monotonic()
            only_cleanup = not self._compaction_policy.is_due(idle=True)
            whole_table = full or only_cleanup or self._compaction_policy.needs_full_compaction
            try:
                await (self._optimize(full=full or only_cleanup) if whole_table else self._merge_newest_fragments())
            finally:
                self._maintained_at = time.monotonic()
                self._last_maintenance_seconds = max(_MIN_MAINTENANCE_SECONDS, self._maintained_at - started)
                # Merging reads whole tables: 150 MB for 100k chunks, unused afterwards.
                await asyncio.to_thread(release_unused_memory)
            await self._fsync()
            if whole_table:
                await self._schedule_cleanup(self.VERSION_RETENTION.total_seconds() + 1)

    async def erase_deleted_rows(self) -> int:
        """Move the rows that share a fragment with deleted ones; return their number."""
        async with self._maintenance_lock:
            moved = await self._move_rows_beside_deleted_rows()
            if self._secondary_index is not None:
                await self._secondary_index.maintain(self.VERSION_RETENTION)
            await self._fsync()
            return moved

    async def drop_old_versions(self, older_than: timedelta) -> None:
        """Remove the files of versions older than this, but the newest."""
        async with self._maintenance_lock:
            await self._drop_versions(older_than)
            self._compaction_policy.record_full_compaction(await self._table.count_rows())
            await self._fsync()

    async def _optimize(self, *, full: bool) -> None:
        await self._table.optimize(cleanup_older_than=await self._version_retention())
        await self._create_missing_indexes()
        if self._secondary_index is not None:
            await self._secondary_index.maintain(await self._version_retention(), full=full)
        self._compaction_policy.record_full_compaction(await self._table.count_rows())

    async def _merge_newest_fragments(self) -> None:
        """Merge the newest fragments by rewriting their rows.

        LanceDB's own compaction would rewrite all indexed rows.
        """
        rows = await newest_rows(self._table, self._compaction_policy.rows_in_partial_merge)
        # Every row matches itself: one commit, after which the old fragments are empty and dropped.
        await self._table.merge_insert(self._codec.id_column).when_matched_update_all().execute(rows)
        self._compaction_policy.record_partial_merge(rows.num_rows)
        if self._secondary_index is not None:
            await self._secondary_index.maintain(await self._version_retention(), full=False)

    async def _schedule_cleanup(self, seconds: float) -> None:
        """Schedule a second cleanup for versions that are still inside the retention window."""
        has_old_versions = await count_versions(self._directory) > _MIN_VERSIONS_TO_CLEAN
        self._cleanup_due_at = time.monotonic() + seconds if has_old_versions else None

    async def _rows_with_secondary_keys(self, entity_keys: Collection[str]) -> dict[str, list[Row]]:
        """Read the rows about to be deleted, whose index entries must be removed after them."""
        if self._secondary_index is None or not entity_keys:
            return {}
        table = await self.scan(
            in_condition(self._codec.entity_key_column, entity_keys), self._codec.projection_columns
        )
        return self._codec.group_by_entity_key(await self.decode_rows(table))

    async def _commit_batch(self, changed: Mapping[str, Sequence[Row]], existing: set[str]) -> None:
        rows = self._deduplicate(changed)
        deleted = [key for key, members in changed.items() if not members and key in existing]
        updated = [key for key, members in changed.items() if members and key in existing]
        if updated:
            await self._upsert(rows, updated)
        elif rows:
            await self._table.add(await asyncio.to_thread(self._encode, rows))
        if deleted:
            await self._table.delete(in_condition(self._codec.entity_key_column, deleted))
        replaced_rows = sum(len(changed[key]) for key in updated)  # as far as is known without reading them
        self._compaction_policy.record_commit(len(rows), len(deleted) + replaced_rows)

    def _encode(self, rows: Sequence[Row]) -> pa.Table:
        return self._codec.encode(rows)

    async def _upsert(self, rows: list[Row], updated: list[str]) -> None:
        merge = self._table.merge_insert(self._codec.id_column).when_matched_update_all().when_not_matched_insert_all()
        if not self._codec.has_single_rows:
            # Delete rows that left the row set of their key. LanceDB reads the whole table for it.
            merge = merge.when_not_matched_by_source_delete(in_condition(self._codec.entity_key_column, updated))
        await merge.execute(await asyncio.to_thread(self._encode, rows))
