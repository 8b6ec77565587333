"""The edits that forget a memory and take that back, used by the request and by the log alike."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from pipeline.memory.versioning.provenance import EXPIRED_REASON, MemoryEdit, build_row, provenance_of
from pipeline.rows import MemoryRow, ProvenanceEntry


@dataclass(frozen=True, slots=True)
class ForgetCommand:
    """The time and reason of a forgetting, and the statements it covers; `restores`: it takes one back.

    `source_positions`: the documents that stated the memory, with the seq of their text; None covers all
    statements made by `at`. A document that withdraws a fact and later states it again makes a new
    statement, not covered.
    """

    at: datetime
    reason: str = ""
    source_positions: Mapping[str, int] | None = None
    restores: bool = False

    def covers(self, entry: ProvenanceEntry) -> bool:
        """Return whether the command forgets this statement."""
        if self.source_positions is None:
            return entry.first_stated_at <= self.at
        return entry.first_stated_seq <= self.source_positions.get(entry.document, -2)


def forget_edit(incarnations: Collection[str], command: ForgetCommand) -> MemoryEdit:
    """Return an edit that forgets a memory of one of these incarnations, or restores it.

    The previous version does not become the latest again; the history is kept.
    """

    def edit(row: MemoryRow | None) -> MemoryRow | None:
        if row is None or row.incarnation not in incarnations:
            return row
        entries = provenance_of(row)
        change = _restore_entry if command.restores else _forget_entry
        updated = [change(entry, command) for entry in entries]
        return row if updated == list(entries) else build_row(row, updated)

    return edit


def source_positions_of(row: MemoryRow) -> dict[str, int]:
    """Return the documents that state a memory with their seq, for the event that forgets it."""
    return {entry.document: entry.seq for entry in provenance_of(row)}


def _forget_entry(entry: ProvenanceEntry, command: ForgetCommand) -> ProvenanceEntry:
    if entry.forgotten_at is not None or not command.covers(entry):
        return entry
    return replace(entry, forgotten_at=command.at, forget_reason=command.reason)


def _restore_entry(entry: ProvenanceEntry, command: ForgetCommand) -> ProvenanceEntry:
    """Undo a forgetting, but for statements that ended by their own words."""
    if entry.forgotten_at is None or entry.forget_reason == EXPIRED_REASON or not command.covers(entry):
        return entry
    return replace(entry, forgotten_at=None, forget_reason=None)
