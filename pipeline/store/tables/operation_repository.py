"""Operations on whole namespaces and their status."""

from pipeline.rows import OperationRow
from pipeline.store.lancedb.sharded_table import ShardedTable


class OperationRepository:
    """`ports.OperationTable`."""

    def __init__(self, table: ShardedTable[OperationRow]) -> None:
        self.table = table

    async def record(self, row: OperationRow) -> None:
        """Write or replace an operation; durable on return."""
        await self.table.update([row.id], lambda _, __: [row])
        await self.table.wait_until_durable()

    async def get(self, operation: str) -> OperationRow | None:
        rows = (await self.table.get([operation])).get(operation)
        return rows[0] if rows else None
