"""What a document's statement of a fact does to the memory's row: pure, the same however often done."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from pipeline.memory.keeper import Edit
from pipeline.memory.relations import moment
from pipeline.rows import MemoryRow, Terms, Vector
from schemas.events import FormedMemory, MemoriesFormed, Relation

Order = Callable[[str], tuple[datetime, str]]
"""Where a document comes among the sources of a memory: the oldest first."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a memory is found again."""

    vector: Vector
    terms: Terms


def stated(event: MemoriesFormed, memory: FormedMemory, reading: Reading, order: Order) -> Edit:
    """The document of the event states the memory; `order` of its sources. `reading` is for a new row."""

    def edit(row: MemoryRow | None) -> MemoryRow:
        if row is None:
            return _new(event, memory, reading)
        return _stated_again(row, event, memory, order)

    return edit


def replacing(event: MemoriesFormed, memory: FormedMemory) -> Edit:
    """A memory that was there first speaks of a later time than this one, so it replaces it."""
    when = memory.since or moment(memory.date, event.at)
    relation = Relation(kind="updates", target=memory.id, why="it speaks of a later time")

    def edit(row: MemoryRow | None) -> MemoryRow | None:
        if row is None or moment(row.date, row.updated_at) <= when:
            return row
        return _related(row, (relation,))

    return edit


def _new(event: MemoriesFormed, memory: FormedMemory, reading: Reading) -> MemoryRow:
    return MemoryRow(
        id=memory.id,
        space=event.space,
        text=memory.text,
        sources=(event.document,),
        seq=event.seq,
        created_at=event.at,
        updated_at=event.at,
        vector=reading.vector,
        terms=reading.terms,
        is_static=memory.is_static,
        is_inference=memory.is_inference,
        date=_date(event, memory),
        start=memory.start,
        end=memory.end,
        relations=memory.relations,
    )


def _stated_again(row: MemoryRow, event: MemoriesFormed, memory: FormedMemory, order: Order) -> MemoryRow:
    row = _related(row, memory.relations)
    if event.document not in row.sources:
        row = _supported(row, event, memory, order)
    elif memory.since is not None:
        row = _lifted(row, event, memory)
    place = (memory.start, memory.end)
    if row.sources[0] == event.document and (row.start, row.end) != place:
        row = replace(row, start=memory.start, end=memory.end)
    return replace(row, seq=event.seq) if event.seq > row.seq else row


def _supported(row: MemoryRow, event: MemoriesFormed, memory: FormedMemory, order: Order) -> MemoryRow:
    """One source more. Said again after it was forgotten, it is remembered again."""
    sources = tuple(sorted((*row.sources, event.document), key=order))
    row = replace(row, sources=sources)
    if row.forgotten_at is not None and event.at > row.forgotten_at:
        row = replace(row, forgotten_at=None, forget_reason=None)
    return _lifted(row, event, memory)


def _lifted(row: MemoryRow, event: MemoriesFormed, memory: FormedMemory) -> MemoryRow:
    """The latest time at which the fact was stated."""
    date = _date(event, memory)
    if moment(date, event.at) <= moment(row.date, row.updated_at):
        return row
    return replace(row, date=date, updated_at=max(row.updated_at, event.at))


def _date(event: MemoriesFormed, memory: FormedMemory) -> str | None:
    """The date as the document has it, unless the fact is known to speak of another time."""
    if memory.since is None or memory.since == moment(memory.date, event.at):
        return memory.date
    return memory.since.isoformat()


def _related(row: MemoryRow, relations: tuple[Relation, ...]) -> MemoryRow:
    there = {(one.kind, one.target) for one in row.relations}
    added = tuple(one for one in relations if (one.kind, one.target) not in there)
    return replace(row, relations=row.relations + added) if added else row
