"""Small tables of one row per key: operations on whole namespaces, and answers to requests with an idempotency key."""

from datetime import timedelta
from typing import Generic

from pipeline.ports import Row
from pipeline.rows import AnswerRow
from pipeline.store.lancedb.sharded_table import ShardedTable

ANSWER_RETENTION = timedelta(days=1)
_PURGE_INTERVAL = 256
"""Answers after which old ones are deleted."""


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
