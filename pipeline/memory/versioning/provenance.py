"""A memory's row as a pure function of the statements that documents currently make.

The row does not depend on statements that were withdrawn, whether or not they reached the table, so a
replay that never sees them builds the same row.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from pipeline.memory.versioning.expiration_rules import expiration_time
from pipeline.memory.versioning.fact_comparison import parse_valid_time
from pipeline.rows import MemoryRow, ProvenanceEntry, Terms, Vector
from schemas.events import FormedMemory, MemoriesFormed, Relation

MemoryEdit = Callable[[MemoryRow | None], MemoryRow | None]
"""Change of a row; None stands for a missing row. Returning the same object means no change."""
SourceOrder = Callable[[str], tuple[datetime, str]]
"""Sort key of a document among the sources of a memory, oldest first."""
EXPIRED_REASON = "expired"
"""Forget reason of memories whose stated end has passed."""
ENDED_REASON = "no longer true"
"""Forget reason of memories that were true until somebody ended them."""
CLIENT_UPDATE_REASON = "client's update"
"""Reason of an update that an application named."""
DECIDED_REASON = "decided by a person"
"""Reason of relations that a person stated about two memories."""
_EARLIEST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SearchFields:
    """Vector and terms by which a memory is searched."""

    vector: Vector
    terms: Terms


def add_source(
    event: MemoriesFormed, memory: FormedMemory, search_fields: SearchFields, source_order: SourceOrder
) -> MemoryEdit:
    """Return an edit that adds the event's document as a source of the memory.

    `search_fields` are used if the row is new.
    """

    def edit(row: MemoryRow | None) -> MemoryRow | None:
        entries = provenance_of(row)
        before = next((entry for entry in entries if entry.document == event.document), None)
        if before is not None and before.seq > event.seq:
            return row
        # An imported statement has its own history, so that it does not matter whether this log knew one before.
        after = (
            _new_entry(event, memory, source_order(event.document)[0])
            if before is None or (memory.imported is not None and before.seq < event.seq)
            else _restated_entry(before, event, memory)
        )
        if after == before:
            return row
        others = [entry for entry in entries if entry.document != event.document]
        return build_row(row or _new_row(event, memory, search_fields), [*others, after])

    return edit


def remove_sources(documents: Collection[str]) -> MemoryEdit:
    """Return an edit that removes documents as sources; without any source the memory is deleted."""

    def edit(row: MemoryRow | None) -> MemoryRow | None:
        entries = provenance_of(row)
        remaining = [entry for entry in entries if entry.document not in documents]
        return row if row is None or len(remaining) == len(entries) else build_row(row, remaining)

    return edit


def provenance_of(row: MemoryRow | None) -> tuple[ProvenanceEntry, ...]:
    """Return the current statements of a memory."""
    if row is None:
        return ()
    return row.provenance or tuple(
        ProvenanceEntry(
            document=source,
            first_stated_seq=-1,
            seq=row.seq,
            first_stated_at=row.created_at,
            effective_at=row.updated_at,
            source_order_time=_EARLIEST + timedelta(microseconds=place),
            date=row.date,
            start=row.start,
            end=row.end,
            relations=row.relations,
            forgotten_at=row.forgotten_at,
            forget_reason=row.forget_reason,
        )
        for place, source in enumerate(row.sources)
    )


def build_row(row: MemoryRow, provenance: Sequence[ProvenanceEntry]) -> MemoryRow | None:
    """Build the row that these statements make; None without any.

    Its valid time is the latest stated, its text position that in its oldest source. It is forgotten unless
    it was stated again afterwards.
    """
    if not provenance:
        return None
    ordered = tuple(sorted(provenance, key=lambda entry: (entry.source_order_time, entry.document)))
    latest = max(
        ordered,
        key=lambda entry: (
            parse_valid_time(entry.date, entry.effective_at),
            -entry.first_stated_at.timestamp(),
            entry.document,
        ),
    )
    forgotten = _last_forgotten(ordered)
    return replace(
        row,
        sources=tuple(entry.document for entry in ordered),
        provenance=ordered,
        seq=max(entry.seq for entry in ordered),
        created_at=min(entry.first_stated_at for entry in ordered),
        updated_at=latest.effective_at,
        date=latest.date,
        expires_at=_expiration(row.text, ordered),
        start=ordered[0].start,
        end=ordered[0].end,
        relations=_merged_relations(ordered),
        worth=max((entry.worth for entry in ordered if entry.worth is not None), default=0.0),
        in_profile=any(entry.in_profile for entry in ordered),
        forgotten_at=None if forgotten is None else forgotten.forgotten_at,
        forget_reason=None if forgotten is None else forgotten.forget_reason,
    )


def stated_expiration(row: MemoryRow) -> datetime | None:
    """Return the end that all statements of a memory give it."""
    return _expiration(row.text, row.provenance)


def _expiration(text: str, provenance: Sequence[ProvenanceEntry]) -> datetime | None:
    """Return the latest stated end; None if any statement has none."""
    ends = [_entry_expiration(text, entry) for entry in provenance]
    stated_ends = [end for end in ends if end is not None]
    return max(stated_ends) if len(stated_ends) == len(ends) else None


def _entry_expiration(text: str, entry: ProvenanceEntry) -> datetime | None:
    return expiration_time(text, entry.event_dates, parse_valid_time(entry.date, entry.effective_at))


def _new_row(event: MemoriesFormed, memory: FormedMemory, search_fields: SearchFields) -> MemoryRow:
    return MemoryRow(
        id=memory.id,
        incarnation=memory.imported.incarnation
        if memory.imported is not None
        else memory.incarnation or event.incarnation,
        text=memory.text,
        sources=(),
        seq=event.seq,
        created_at=event.at,
        updated_at=event.at,
        vector=search_fields.vector,
        terms=search_fields.terms,
        is_static=memory.is_static,
        is_inference=memory.is_inference,
    )


def _new_entry(event: MemoriesFormed, memory: FormedMemory, source_order_time: datetime) -> ProvenanceEntry:
    entry = ProvenanceEntry(
        document=event.document,
        first_stated_seq=event.seq,
        seq=event.seq,
        first_stated_at=event.at,
        effective_at=event.at,
        source_order_time=source_order_time,
        date=_valid_date(event, memory),
        event_dates=memory.event_dates,
        start=memory.start,
        end=memory.end,
        relations=memory.relations,
        superseded_by=memory.replaced_by,
        worth=memory.worth,
        in_profile=memory.in_profile,
        said_by=memory.said_by,
    )
    imported = memory.imported
    if imported is None:
        expired_at = _entry_expiration(memory.text, entry)
        if expired_at is None or expired_at > event.at:
            return entry
        return replace(entry, forgotten_at=expired_at, forget_reason=EXPIRED_REASON)
    return replace(
        entry,
        first_stated_at=imported.since,
        effective_at=imported.at,
        forgotten_at=imported.forgotten_at,
        forget_reason=imported.forget_reason,
    )


def _restated_entry(before: ProvenanceEntry, event: MemoriesFormed, memory: FormedMemory) -> ProvenanceEntry:
    """Update a statement whose document states it in a newer text, or whose event was delivered again."""
    date = _valid_date(event, memory)
    is_newer = memory.effective_at is not None and parse_valid_time(date, event.at) > parse_valid_time(
        before.date, before.effective_at
    )
    return replace(
        before,
        seq=event.seq,
        effective_at=max(before.effective_at, event.at) if is_newer else before.effective_at,
        date=date if is_newer else before.date,
        event_dates=memory.event_dates,
        start=memory.start,
        end=memory.end,
        worth=memory.worth,
        in_profile=memory.in_profile,
        said_by=memory.said_by,
        relations=_union(before.relations, memory.relations),
        superseded_by=tuple(dict.fromkeys((*before.superseded_by, *memory.replaced_by))),
    )


def _valid_date(event: MemoriesFormed, memory: FormedMemory) -> str | None:
    """Return the document's date, unless the fact is about another time."""
    if memory.effective_at is None or memory.effective_at == parse_valid_time(memory.date, event.at):
        return memory.date
    return memory.effective_at.isoformat()


def _last_forgotten(provenance: Sequence[ProvenanceEntry]) -> ProvenanceEntry | None:
    """Return the statement forgotten last, unless a later statement was made."""
    forgotten = [entry for entry in provenance if entry.forgotten_at is not None]
    if not forgotten:
        return None
    last = max(forgotten, key=lambda entry: (entry.forgotten_at or _EARLIEST, entry.document))
    current = [entry for entry in provenance if entry.forgotten_at is None]
    return None if any(entry.first_stated_at > (last.forgotten_at or _EARLIEST) for entry in current) else last


def stated_relations(row: MemoryRow) -> tuple[Relation, ...]:
    """Return the relations that documents state, without those derived from valid times."""
    return _merged_relations(row.provenance)


def _merged_relations(provenance: Sequence[ProvenanceEntry]) -> tuple[Relation, ...]:
    relations: tuple[Relation, ...] = ()
    for entry in provenance:
        relations = _union(relations, entry.relations)
    return relations


def _union(relations: tuple[Relation, ...], more: tuple[Relation, ...]) -> tuple[Relation, ...]:
    existing = {(relation.kind, relation.target) for relation in relations}
    added = tuple(relation for relation in more if (relation.kind, relation.target) not in existing)
    return relations + added
