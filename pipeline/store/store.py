"""The store: all tables of a generation, flushed, maintained and closed together."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pipeline.ports import Row, Tombstones
from pipeline.rows import OperationRow, SyncRunsRow
from pipeline.store.lancedb.sharded_table import ShardedTable
from pipeline.store.lancedb.table_size import TableSize
from pipeline.store.single_process.write_ahead_log import WriteAheadLog
from pipeline.store.tables.chunk_table import ShardedChunkTable
from pipeline.store.tables.document_table import ShardedDocumentTable
from pipeline.store.tables.keyed_tables import AnswerRepository, RowRepository
from pipeline.store.tables.memory_table import ShardedMemoryTable
from pipeline.store.tables.settings_catalog import SettingsCatalog


@dataclass(eq=False, slots=True, kw_only=True)
class Store:
    """All tables. `run` flushes in the background; without it `wait_until_durable` flushes."""

    documents: ShardedDocumentTable
    chunks: ShardedChunkTable
    memories: ShardedMemoryTable
    catalog: SettingsCatalog
    operations: RowRepository[OperationRow]
    answers: AnswerRepository
    tombstones: Tombstones
    syncs: ShardedTable[SyncRunsRow]
    tables: tuple[ShardedTable[Any], ...]
    write_ahead_log: WriteAheadLog | None = None

    async def run(self, *, serves_requests: bool = True) -> None:
        """Flush, follow and maintain every table until `close`."""
        async with asyncio.TaskGroup() as tasks:
            for table in self.tables:
                tasks.create_task(table.run(serves_requests=serves_requests))

    async def close(self) -> None:
        """Stop `run`, then write all pending changes."""
        for table in self.tables:
            table.stop()
        await asyncio.gather(*(table.flush() for table in self.tables))
        if self.write_ahead_log is not None:
            await self.write_ahead_log.close()

    async def sizes(self) -> dict[str, TableSize]:
        sizes = await asyncio.gather(*(table.size() for table in self.tables))
        return {table.codec.table: size for table, size in zip(self.tables, sizes, strict=True)}

    def health_issues(self) -> list[str]:
        """Describe every shard that cannot be written now."""
        return [issue for table in self.tables for issue in table.health_issues()]

    @property
    def bulk_loading(self) -> bool:
        """True while one caller fills the tables and flushes them itself."""
        return any(table.bulk_loading for table in self.tables)

    @bulk_loading.setter
    def bulk_loading(self, value: bool) -> None:
        for table in self.tables:
            table.bulk_loading = value

    @property
    def unflushed_count(self) -> int:
        """Number of entity keys with unflushed changes."""
        return sum(table.unflushed_count for table in self.tables)

    async def flush(self) -> None:
        """Write all pending changes to LanceDB now; raises if that fails."""
        await asyncio.gather(*(table.flush() for table in self.tables))

    async def maintain(self) -> None:
        """Merge fragments, refresh indices and drop old versions of every table now."""
        for table in self.tables:
            await table.maintain()

    async def erase_deleted_rows(self) -> int:
        """Write every row anew whose file holds deleted rows too; return how many. `drop_old_versions` ends it."""
        return sum([await table.erase_deleted_rows() for table in self.tables])

    async def drop_old_versions(self, older_than: timedelta) -> None:
        """Remove from the disk what only versions older than this hold, deleted rows among it."""
        await self.catalog.erase_replaced()
        for table in self.tables:
            await table.drop_old_versions(older_than)
        if self.write_ahead_log is not None:
            await self.write_ahead_log.erase_truncated()

    async def copy_unlogged_state(self, other: "Store") -> None:
        """Copy what the log cannot rebuild: results of operations, kept answers, and runs of connectors."""
        await _copy_all_rows(other.operations.table, self.operations.table)
        await _copy_all_rows(other.answers.table, self.answers.table)
        await _copy_all_rows(other.syncs, self.syncs)

    async def refresh(self, incarnations: Collection[str] | None = None) -> None:
        """Notify listeners of changes by other processes in these incarnations (None: all)."""
        await asyncio.gather(*(table.refresh(incarnations) for table in (self.documents, self.chunks, self.memories)))

    async def incarnations(self) -> set[str]:
        """Return the incarnations that have documents, chunks or memories."""
        found: set[str] = set()
        for table in (self.documents, self.chunks, self.memories):
            _, rows = await table.scan(None, "true", ["incarnation", table.codec.entity_key_column])
            # In a thread: `unique` releases the GIL and takes long on millions of rows.
            values = await asyncio.to_thread(rows.column("incarnation").unique)
            found.update(values.to_pylist())
        return found

    async def delete_incarnations(self, incarnations: Collection[str]) -> None:
        """Delete every row of these incarnations from every table; durable on return, idempotent."""
        for table in (self.documents, self.chunks, self.memories):
            await table.delete_incarnations(incarnations)


async def _copy_all_rows(source: ShardedTable[Row], target: ShardedTable[Row]) -> None:
    rows = target.codec.group_by_entity_key(await source.list_rows([""]))
    await target.update(list(rows), lambda key, _: rows[key])
    await target.wait_until_durable()
