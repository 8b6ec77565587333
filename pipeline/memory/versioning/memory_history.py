"""Memories as of a past moment: the statements made by then, and the versions they formed. Pure."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from pipeline.memory.versioning.fact_lookup import FactIndex
from pipeline.memory.versioning.provenance import ENDED_REASON, EXPIRED_REASON, build_row, provenance_of
from pipeline.memory.versioning.truth_maintenance import premises, revalidate_conclusion
from pipeline.memory.versioning.version_chain import VersionState
from pipeline.memory.versioning.version_resolution import resolve_versions, with_version_state
from pipeline.rows import MemoryRow, ProvenanceEntry


@dataclass(frozen=True, slots=True)
class MemoriesAsOf:
    """The memories known at the moment. `hidden_ids`: those forgotten on request since."""

    rows: list[MemoryRow]
    hidden_ids: frozenset[str]


def memories_as_of(rows: Iterable[MemoryRow], moment: datetime, *, include_forgotten: bool = False) -> MemoriesAsOf:
    """Reconstruct the memories of a namespace at a moment from its current rows.

    Memories forgotten on request since stay hidden, with their earlier versions and conclusions, unless
    `include_forgotten`; memories that only expired or ended since are restored.
    """
    current = {row.id: row for row in rows}
    stated = {
        id_: statements
        for id_, row in current.items()
        if (statements := [statement for statement in provenance_of(row) if statement.first_stated_at <= moment])
    }
    not_yet_stated = current.keys() - stated.keys()
    rebuilt = {
        id_: build_row(current[id_], [_provenance_as_of(entry, moment, not_yet_stated) for entry in statements])
        for id_, statements in stated.items()
    }
    past_rows = {id_: row for id_, row in rebuilt.items() if row is not None}
    states = resolve_versions(FactIndex(), past_rows)
    versioned = {id_: with_version_state(row, states.get(id_)) for id_, row in past_rows.items()}
    visible = {id_: row for id_, row in versioned.items() if row is not None}
    hidden = frozenset() if include_forgotten else frozenset(_hidden_ids(current, moment) & visible.keys())
    visible |= {id_: _as_forgotten(visible[id_], current[id_]) for id_ in hidden}
    return MemoriesAsOf(list(_revalidate_conclusions(visible, states).values()), hidden)


def _provenance_as_of(entry: ProvenanceEntry, moment: datetime, missing_ids: Collection[str]) -> ProvenanceEntry:
    """Return a statement without later changes to it. The times of repetitions in between are not kept."""
    hidden = entry.forgotten_at is not None and entry.forgotten_at <= moment
    return replace(
        entry,
        effective_at=entry.effective_at if entry.effective_at <= moment else entry.first_stated_at,
        relations=tuple(relation for relation in entry.relations if relation.target not in missing_ids),
        superseded_by=tuple(newer for newer in entry.superseded_by if newer not in missing_ids),
        forgotten_at=entry.forgotten_at if hidden else None,
        forget_reason=entry.forget_reason if hidden else None,
    )


def _hidden_ids(current: Mapping[str, MemoryRow], moment: datetime) -> set[str]:
    """Return the memories forgotten on request since and their earlier versions; those true until then are not."""
    hidden: set[str] = set()
    to_visit = [
        row.id
        for row in current.values()
        if row.forgotten_at is not None
        and row.forgotten_at > moment
        and row.forget_reason not in {EXPIRED_REASON, ENDED_REASON}
    ]
    while to_visit:
        id_ = to_visit.pop()
        if id_ in hidden or id_ not in current:
            continue
        hidden.add(id_)
        to_visit += [relation.target for relation in current[id_].relations if relation.kind == "updates"]
    return hidden


def _as_forgotten(row: MemoryRow, now: MemoryRow) -> MemoryRow:
    """Mark a memory as forgotten; earlier versions are treated alike."""
    at = now.forgotten_at or now.updated_at
    return replace(row, forgotten_at=at, forget_reason=now.forget_reason, is_latest=False)


def _revalidate_conclusions(rows: dict[str, MemoryRow], states: Mapping[str, VersionState]) -> dict[str, MemoryRow]:
    """Demote or drop conclusions whose premises no longer hold, until nothing changes."""
    conclusions = [id_ for id_, row in rows.items() if premises(row)]
    changed = True
    while changed:
        changed = False
        for id_ in conclusions:
            if (row := rows.get(id_)) is None:
                continue
            state = states.get(id_)
            revalidated = revalidate_conclusion(row, rows, is_superseded=state is not None and state.is_superseded)
            if revalidated is row:
                continue
            changed = True
            if revalidated is None:
                del rows[id_]
            else:
                rows[id_] = revalidated
    return rows
