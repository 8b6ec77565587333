"""Small tables of one row per key: operations on whole namespaces, answers to requests with an idempotency key, sync
runs of connectors, and tombstones of deleted documents.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic

import pyarrow as pa

from pipeline.ports import Row
from pipeline.rows import AnswerRow, OperationRow, SyncRunsRow
from pipeline.store.lancedb.row_codec import TIMESTAMP, RowCodec
from pipeline.store.lancedb.sharded_table import ShardedTable
from pipeline.store.tables.table_columns import json_column, keyed_codec, plain_columns
from schemas.events import SyncReported

ANSWER_RETENTION = timedelta(days=1)
_PURGE_INTERVAL = 256
"""Answers after which old ones are deleted."""


@dataclass(frozen=True, slots=True)
class TombstoneRow:
    """A document (by key) and the log position of its deletion."""

    key: str
    seq: int


def operations_codec() -> RowCodec[OperationRow]:
    columns = [
        *plain_columns(pa.string(), "id", "kind", "source", "target", "status", "error"),
        *plain_columns(TIMESTAMP, "created_at", "updated_at"),
    ]
    return keyed_codec("operations", "id", columns, OperationRow)


def answers_codec() -> RowCodec[AnswerRow]:
    columns = [
        *plain_columns(pa.string(), "key", "request", "body"),
        *plain_columns(pa.int64(), "status"),
        *plain_columns(TIMESTAMP, "at"),
    ]
    return keyed_codec("answers", "key", columns, AnswerRow, short_lived=True)


def sync_runs_codec() -> RowCodec[SyncRunsRow]:
    """Latest sync runs by connector."""
    columns = [
        *plain_columns(pa.string(), "connector"),
        json_column("runs", tuple[SyncReported, ...], ()),
        *plain_columns(TIMESTAMP, "succeeded_at"),
    ]
    return keyed_codec("syncs", "connector", columns, SyncRunsRow)


def tombstones_codec() -> RowCodec[TombstoneRow]:
    """Deleted documents by key."""
    columns = [
        *plain_columns(pa.string(), "key"),
        *plain_columns(pa.int64(), "seq"),
    ]
    return keyed_codec("tombstones", "key", columns, TombstoneRow, short_lived=True)


class RowRepository(Generic[Row]):
    """Rows by key; of operations it is `ports.OperationTable`."""

    def __init__(self, table: ShardedTable[Row]) -> None:
        self.table = table

    async def record(self, row: Row) -> None:
        """Write or replace a row; durable on return."""
        await self.table.update([self.table.codec.entity_key_of(row)], lambda _, __: [row])
        await self.table.wait_until_durable()

    async def get(self, key: str) -> Row | None:
        rows = (await self.table.get([key])).get(key)
        return rows[0] if rows else None


class AnswerRepository(RowRepository[AnswerRow]):
    """Answers, each kept for a day; `get` may return an older one."""

    _recorded = 0

    async def record(self, row: AnswerRow) -> None:
        """Keep an answer; durable on return."""
        await super().record(row)
        self._recorded += 1
        if self._recorded % _PURGE_INTERVAL == 0:
            old = [kept.key for kept in await self.table.list_rows([""]) if row.at - kept.at > ANSWER_RETENTION]
            await self.table.update(old, lambda _, __: [])


class SharedTombstones:
    """`ports.Tombstones` on a shared table."""

    def __init__(self, table: ShardedTable[TombstoneRow]) -> None:
        self._table = table

    async def record(self, deleted: Mapping[str, int]) -> None:
        def change(key: str, rows: list[TombstoneRow]) -> Sequence[TombstoneRow] | None:
            latest = rows[0].seq if rows else -1
            return [TombstoneRow(key, deleted[key])] if deleted[key] > latest else None

        if deleted:
            await self._table.update(deleted, change)

    async def latest_deletions(self, keys: Collection[str]) -> Mapping[str, int]:
        """Return the log position of the latest deletion of each recently deleted document."""
        return {key: rows[0].seq for key, rows in (await self._table.get(keys)).items()}
