"""Answers to requests with an idempotency key, each for a day."""

from datetime import timedelta

from pipeline.rows import AnswerRow
from pipeline.store.lancedb.sharded_table import ShardedTable

RETENTION = timedelta(days=1)
_PURGE_INTERVAL = 256
"""Answers after which old ones are deleted."""


class AnswerRepository:
    """Answers by key."""

    def __init__(self, table: ShardedTable[AnswerRow]) -> None:
        self.table = table
        self._recorded = 0

    async def record(self, row: AnswerRow) -> None:
        """Keep an answer; durable on return."""
        await self.table.update([row.key], lambda _, __: [row])
        await self.table.wait_until_durable()
        self._recorded += 1
        if self._recorded % _PURGE_INTERVAL == 0:
            old = [kept.key for kept in await self.table.list_rows([""]) if row.at - kept.at > RETENTION]
            await self.table.update(old, lambda _, __: [])

    async def get(self, key: str) -> AnswerRow | None:
        """Return an answer, which may be older than a day."""
        rows = (await self.table.get([key])).get(key)
        return rows[0] if rows else None
