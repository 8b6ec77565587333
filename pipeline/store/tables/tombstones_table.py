"""Tombstones of deleted documents that several processes share."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pipeline.store.lancedb.sharded_table import ShardedTable


@dataclass(frozen=True, slots=True)
class TombstoneRow:
    """A document (by key) and the log position of its deletion."""

    key: str
    seq: int


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
