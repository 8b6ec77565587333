"""Tombstones that several processes share, in a small table."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pipeline.store.readable import Readable


@dataclass(frozen=True, slots=True)
class TombstoneRow:
    """A document (by key) that was deleted at a log position."""

    key: str
    seq: int


class SharedTombstones:
    """`ports.Tombstones` on a table."""

    def __init__(self, table: Readable[TombstoneRow]) -> None:
        self._table = table

    async def note(self, deleted: Mapping[str, int]) -> None:
        """These documents (by key) were deleted at these log positions; known everywhere on return."""

        def change(key: str, rows: list[TombstoneRow]) -> Sequence[TombstoneRow] | None:
            known = rows[0].seq if rows else -1
            return [TombstoneRow(key, deleted[key])] if deleted[key] > known else None

        if deleted:
            await self._table.update(deleted, change)

    async def newest(self, keys: Collection[str]) -> Mapping[str, int]:
        """The position of the newest deletion of each of these documents that was deleted lately."""
        return {key: rows[0].seq for key, rows in (await self._table.get(keys)).items()}
