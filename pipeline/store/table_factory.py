"""Table factories: one for each kind of use, tables of a single process and tables shared by several."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from lancedb import AsyncConnection

from pipeline.ports import Row
from pipeline.rows import ChunkRow, DocumentRow, MemoryRow
from pipeline.store.lancedb.row_codec import RowCodec
from pipeline.store.lancedb.sharded_table import read_errors_as_outages
from pipeline.store.multi_process.shard_committer import SharingOptions
from pipeline.store.multi_process.shared_lance_table import SharedLanceTable
from pipeline.store.multi_process.shared_table import SharedTable
from pipeline.store.single_process.change_history import ANY_INCARNATION
from pipeline.store.single_process.exclusive_lance_table import ExclusiveLanceTable
from pipeline.store.single_process.exclusive_table import ExclusiveTable, shard_name
from pipeline.store.single_process.write_ahead_log import WriteAheadLog
from pipeline.store.tables.chunk_table import ShardedChunkTable
from pipeline.store.tables.document_table import ShardedDocumentTable
from pipeline.store.tables.memory_table import ShardedMemoryTable

T = TypeVar("T")


class _ExclusiveDocumentTable(ShardedDocumentTable, ExclusiveTable[DocumentRow]): ...


class _ExclusiveChunkTable(ShardedChunkTable, ExclusiveTable[ChunkRow]): ...


class _ExclusiveMemoryTable(ShardedMemoryTable, ExclusiveTable[MemoryRow]): ...


@dataclass(frozen=True, slots=True)
class ExclusiveTableFactory:
    """Opens the tables of a single process, creating what is missing. `folder` is None at an object store."""

    connection: AsyncConnection
    folder: Path | None
    lance_table_class: type[ExclusiveLanceTable[Any]]
    maintenance_lock: asyncio.Lock
    write_ahead_log: WriteAheadLog | None = None

    documents_class = _ExclusiveDocumentTable
    chunks_class = _ExclusiveChunkTable
    memories_class = _ExclusiveMemoryTable

    async def open(self, table_class: Callable[..., T], codec: RowCodec[Any], shards: int) -> T:
        return table_class(codec, *await self._open_shards(codec, shards), self.write_ahead_log)

    async def open_small(self, codec: RowCodec[Row]) -> ExclusiveTable[Row]:
        return await self.open(ExclusiveTable[Row], codec, 1)

    async def _open_shards(
        self, codec: RowCodec[Row], shards: int
    ) -> tuple[list[ExclusiveLanceTable[Row]], Counter[str]]:
        """The LanceDB tables of one kind of row, and the number of counted rows by incarnation."""
        lance_tables = [
            await self.lance_table_class.open(self.connection, self.folder, name, codec, self.maintenance_lock)
            for name in _lance_table_names(codec, shards)
        ]
        if self.write_ahead_log is not None:
            await _recover_write_ahead_log(self.write_ahead_log, codec, lance_tables)
        return lance_tables, await _count_rows_by_incarnation(codec, lance_tables)


class _SharedDocumentTable(ShardedDocumentTable, SharedTable[DocumentRow]):
    _versions_without_pending: Sequence[int] | None = None
    """Versions of all shards at which no document waited for its memories."""

    @read_errors_as_outages
    async def pending_extraction(self) -> list[DocumentRow]:
        """Return them as every document table, without a scan while nothing has changed since there were none."""
        versions = await asyncio.gather(*(committer.version() for committer in self._committers))
        if versions == self._versions_without_pending:
            return []
        found = await super().pending_extraction()
        self._versions_without_pending = None if found else versions
        return found


class _SharedChunkTable(ShardedChunkTable, SharedTable[ChunkRow]): ...


class _SharedMemoryTable(ShardedMemoryTable, SharedTable[MemoryRow]): ...


@dataclass(frozen=True, slots=True)
class SharedTableFactory:
    """Opens the tables that processes share, creating what is missing. `folder` is None at an object store."""

    connection: AsyncConnection
    folder: Path | None
    sharing: SharingOptions

    documents_class = _SharedDocumentTable
    chunks_class = _SharedChunkTable
    memories_class = _SharedMemoryTable

    async def open(self, table_class: Callable[..., T], codec: RowCodec[Any], shards: int) -> T:
        return table_class(codec, await self._open_shards(codec, shards), self.sharing)

    async def open_small(self, codec: RowCodec[Row]) -> SharedTable[Row]:
        return await self.open(SharedTable[Row], codec, 1)

    async def _open_shards(self, codec: RowCodec[Row], shards: int) -> list[SharedLanceTable[Row]]:
        return [
            await SharedLanceTable.open(self.connection, self.folder, name, codec)
            for name in _lance_table_names(codec, shards)
        ]


async def _recover_write_ahead_log(
    write_ahead_log: WriteAheadLog, codec: RowCodec[Row], lance_tables: Sequence[ExclusiveLanceTable[Row]]
) -> None:
    """Commit to LanceDB what a killed process left in the write-ahead log."""
    for shard, lance_table in enumerate(lance_tables):
        name = shard_name(codec, shard)
        recovered = await write_ahead_log.recover(name, codec)
        if recovered.sequence:
            changed = recovered.changed.items()
            names = [(codec.incarnation_of(rows[0]) if rows else ANY_INCARNATION, key) for key, rows in changed]
            await write_ahead_log.history.record(codec.table, names)
            await lance_table.commit(recovered.changed)
            await write_ahead_log.truncate(name, recovered.sequence)


def _lance_table_names(codec: RowCodec[Any], shards: int) -> list[str]:
    return [codec.table] if shards == 1 else [f"{codec.table}_{shard}" for shard in range(shards)]


async def _count_rows_by_incarnation(
    codec: RowCodec[Any], lance_tables: Sequence[ExclusiveLanceTable[Any]]
) -> Counter[str]:
    counts: Counter[str] = Counter()
    for lance_table in lance_tables:
        incarnations = await lance_table.scan(codec.counted_filter, ["incarnation"])
        for entry in incarnations.column(0).value_counts().to_pylist():
            counts[entry["values"]] += entry["counts"]
    return counts
