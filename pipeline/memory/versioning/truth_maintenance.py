"""Validity of conclusions: each holds only while all of its premises do. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pipeline.memory.versioning.provenance import build_row, provenance_of
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
    supported = _without_unsupported_sources(row, existing) if len(existing) == len(needed_rows) else None
    if supported is None:
        return None
    latest = row.forgotten_at is None and not is_superseded and all(premise.is_latest for premise in existing)
    return supported if latest == row.is_latest else replace(supported, is_latest=latest)


def _without_unsupported_sources(row: MemoryRow, premise_rows: Sequence[MemoryRow]) -> MemoryRow | None:
    """Drop documents that drew the conclusion before any document that is left had stated all premises.

    A replay never sees the documents that are gone, so it lets nobody conclude in between. Positions in the log are
    comparable within an incarnation only.
    """
    firsts = [
        min((entry.first_stated_seq for entry in provenance_of(premise)), default=-1)
        for premise in premise_rows
        if premise.incarnation == row.incarnation
    ]
    entries = provenance_of(row)
    kept = [entry for entry in entries if entry.seq >= max(firsts, default=-1)]
    return build_row(row, kept) if 0 < len(kept) < len(entries) else row


def all_premises(rows: Iterable[MemoryRow]) -> set[str]:
    return {premise_id for row in rows for premise_id in premises(row)}
