"""Operations on whole namespaces, and whether they are done."""

from pipeline.rows import OperationRow
from pipeline.store.readable import Readable


class Operations:
    """`ports.Operations`: durable when `record` returns."""

    def __init__(self, table: Readable[OperationRow]) -> None:
        self.table = table

    async def record(self, row: OperationRow) -> None:
        """Write or replace an operation."""
        await self.table.update([row.id], lambda _, __: [row])
        await self.table.durable()

    async def get(self, operation: str) -> OperationRow | None:
        """An operation by its id."""
        rows = (await self.table.get([operation])).get(operation)
        return rows[0] if rows else None

    async def unfinished(self) -> list[OperationRow]:
        """Operations that are still queued, e.g. after a restart."""
        return [row for row in await self.table.in_spaces([""]) if row.status == "queued"]
