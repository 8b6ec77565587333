"""Validity of conclusions: each holds only while all of its premises do. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pipeline.rows import MemoryRow
from schemas.events import FormedMemory


def premises(row: MemoryRow | FormedMemory) -> tuple[str, ...]:
    """Return the ids of the memories that this one was concluded from; empty for stated facts."""
    if not row.is_inference:
        return ()
    return tuple(dict.fromkeys(relation.target for relation in row.relations if relation.kind == "derives"))


def revalidate_conclusion(
    row: MemoryRow, premise_rows: Mapping[str, MemoryRow | None], *, is_superseded: bool
) -> MemoryRow | None:
    """Check a conclusion against its premises.

    None if a premise is gone; not the latest if a premise no longer holds. `is_superseded`: another fact
    updates the conclusion itself.
    """
    needed_rows = [premise_rows.get(premise_id) for premise_id in premises(row)]
    existing = [premise for premise in needed_rows if premise is not None]
    if len(existing) < len(needed_rows):
        return None
    latest = row.forgotten_at is None and not is_superseded and all(premise.is_latest for premise in existing)
    return row if latest == row.is_latest else replace(row, is_latest=latest)


def all_premises(rows: Iterable[MemoryRow]) -> set[str]:
    return {premise_id for row in rows for premise_id in premises(row)}
