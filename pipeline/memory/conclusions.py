"""What was concluded from memories holds as long as all of them do: pure."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pipeline.rows import MemoryRow
from schemas.events import FormedMemory


def premises(row: MemoryRow | FormedMemory) -> tuple[str, ...]:
    """Ids of the memories that this one was concluded from; none for what somebody stated."""
    if not row.is_inference:
        return ()
    return tuple(dict.fromkeys(one.target for one in row.relations if one.kind == "derives"))


def concluded(row: MemoryRow, rows: Mapping[str, MemoryRow | None], *, replaced: bool) -> MemoryRow | None:
    """A conclusion beside its premises: None when one is gone, not the latest when one holds no longer.

    `replaced`: something updates the conclusion itself.
    """
    needed = [rows.get(one) for one in premises(row)]
    there = [one for one in needed if one is not None]
    if len(there) < len(needed):
        return None
    latest = row.forgotten_at is None and not replaced and all(one.is_latest for one in there)
    return row if latest == row.is_latest else replace(row, is_latest=latest)


def all_premises(rows: Iterable[MemoryRow]) -> set[str]:
    """Of several conclusions."""
    return {one for row in rows for one in premises(row)}
