"""What documents state decides a memory's row: a pure function of the statements that hold now.

So it does not matter what was stated in between, nor whether it reached the table before it was taken back:
a replay that never meets it makes the same row.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from pipeline.memory.lifetimes import end
from pipeline.memory.relations import moment
from pipeline.rows import MemoryRow, Statement, Terms, Vector
from schemas.events import FormedMemory, MemoriesFormed, Relation

Edit = Callable[[MemoryRow | None], MemoryRow | None]
"""What a change does to a row; None: the row is not there. The same object back: unchanged."""
Order = Callable[[str], tuple[datetime, str]]
"""Where a document comes among the sources of a memory: the oldest first."""
OVER = "its own end has passed"
"""Why what says its own end is forgotten."""
_EARLIEST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Reading:
    """How a memory is found again."""

    vector: Vector
    terms: Terms


def stated(event: MemoriesFormed, memory: FormedMemory, reading: Reading, order: Order) -> Edit:
    """The document of the event states the memory; `order` of its sources. `reading` is for a new row."""

    def edit(row: MemoryRow | None) -> MemoryRow | None:
        there = statements_of(row)
        before = next((one for one in there if one.document == event.document), None)
        if before is not None and before.seq > event.seq:
            return row
        after = (
            _first(event, memory, order(event.document)[0])
            if before is None
            else _again(before, event, memory)
        )
        if after == before:
            return row
        others = [one for one in there if one.document != event.document]
        return composed(row or _new(event, memory, reading), [*others, after])

    return edit


def without(documents: Collection[str]) -> Edit:
    """These documents no longer support the memory; with its last source it goes."""

    def edit(row: MemoryRow | None) -> MemoryRow | None:
        there = statements_of(row)
        left = [one for one in there if one.document not in documents]
        return row if row is None or len(left) == len(there) else composed(row, left)

    return edit


def statements_of(row: MemoryRow | None) -> tuple[Statement, ...]:
    """What holds now. A row of before there were statements says the same of each of its sources."""
    if row is None:
        return ()
    return row.statements or tuple(
        Statement(
            document=source,
            since_seq=-1,
            seq=row.seq,
            since=row.created_at,
            at=row.updated_at,
            placed=_EARLIEST + timedelta(microseconds=place),
            date=row.date,
            start=row.start,
            end=row.end,
            relations=row.relations,
            forgotten_at=row.forgotten_at,
            forget_reason=row.forget_reason,
        )
        for place, source in enumerate(row.sources)
    )


def composed(row: MemoryRow, statements: Sequence[Statement]) -> MemoryRow | None:
    """The row that these statements make; None when nobody states it any more.

    Its time is the latest that was stated, its place that in its oldest source. It is forgotten while nobody
    has stated it after it was.
    """
    if not statements:
        return None
    ordered = tuple(sorted(statements, key=lambda one: (one.placed, one.document)))
    latest = max(ordered, key=lambda one: (moment(one.date, one.at), -one.since.timestamp(), one.document))
    hidden = _forgotten(ordered)
    return replace(
        row,
        sources=tuple(one.document for one in ordered),
        statements=ordered,
        seq=max(one.seq for one in ordered),
        created_at=min(one.since for one in ordered),
        updated_at=latest.at,
        date=latest.date,
        expires_at=_expiry(row.text, ordered),
        start=ordered[0].start,
        end=ordered[0].end,
        relations=_together(ordered),
        forgotten_at=None if hidden is None else hidden.forgotten_at,
        forget_reason=None if hidden is None else hidden.forget_reason,
    )


def _expiry(text: str, statements: Sequence[Statement]) -> datetime | None:
    """The latest end that is stated; None where a statement says none."""
    ends = [_end(text, one) for one in statements]
    said = [one for one in ends if one is not None]
    return max(said) if len(said) == len(ends) else None


def _end(text: str, statement: Statement) -> datetime | None:
    return end(text, statement.event_dates, moment(statement.date, statement.at))


def _new(event: MemoriesFormed, memory: FormedMemory, reading: Reading) -> MemoryRow:
    return MemoryRow(
        id=memory.id,
        space=memory.restored.space if memory.restored is not None else memory.space or event.space,
        text=memory.text,
        sources=(),
        seq=event.seq,
        created_at=event.at,
        updated_at=event.at,
        vector=reading.vector,
        terms=reading.terms,
        is_static=memory.is_static,
        is_inference=memory.is_inference,
    )


def _first(event: MemoriesFormed, memory: FormedMemory, placed: datetime) -> Statement:
    statement = Statement(
        document=event.document,
        since_seq=event.seq,
        seq=event.seq,
        since=event.at,
        at=event.at,
        placed=placed,
        date=_date(event, memory),
        event_dates=memory.event_dates,
        start=memory.start,
        end=memory.end,
        relations=memory.relations,
        replaced_by=memory.replaced_by,
    )
    before = memory.restored
    if before is None:
        over = _end(memory.text, statement)
        if over is None or over > event.at:
            return statement
        return replace(statement, forgotten_at=over, forget_reason=OVER)
    return replace(
        statement,
        since=before.since,
        at=before.at,
        forgotten_at=before.forgotten_at,
        forget_reason=before.forget_reason,
    )


def _again(before: Statement, event: MemoriesFormed, memory: FormedMemory) -> Statement:
    """The same document states it in a newer text, or its event came again."""
    date = _date(event, memory)
    lifts = memory.since is not None and moment(date, event.at) > moment(before.date, before.at)
    return replace(
        before,
        seq=event.seq,
        at=max(before.at, event.at) if lifts else before.at,
        date=date if lifts else before.date,
        event_dates=memory.event_dates,
        start=memory.start,
        end=memory.end,
        relations=_united(before.relations, memory.relations),
        replaced_by=tuple(dict.fromkeys((*before.replaced_by, *memory.replaced_by))),
    )


def _date(event: MemoriesFormed, memory: FormedMemory) -> str | None:
    """The date as the document has it, unless the fact is known to speak of another time."""
    if memory.since is None or memory.since == moment(memory.date, event.at):
        return memory.date
    return memory.since.isoformat()


def _forgotten(statements: Sequence[Statement]) -> Statement | None:
    """The statement that was forgotten last, if none was made after that."""
    hidden = [one for one in statements if one.forgotten_at is not None]
    if not hidden:
        return None
    last = max(hidden, key=lambda one: (one.forgotten_at or _EARLIEST, one.document))
    fresh = [one for one in statements if one.forgotten_at is None]
    return None if any(one.since > (last.forgotten_at or _EARLIEST) for one in fresh) else last


def stated_relations(row: MemoryRow) -> tuple[Relation, ...]:
    """The relations that documents state, without those that follow from the times of other facts."""
    return _together(row.statements)


def _together(statements: Sequence[Statement]) -> tuple[Relation, ...]:
    relations: tuple[Relation, ...] = ()
    for one in statements:
        relations = _united(relations, one.relations)
    return relations


def _united(relations: tuple[Relation, ...], more: tuple[Relation, ...]) -> tuple[Relation, ...]:
    there = {(one.kind, one.target) for one in relations}
    added = tuple(one for one in more if (one.kind, one.target) not in there)
    return relations + added
