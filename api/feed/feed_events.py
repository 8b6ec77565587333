"""Events of a feed: what a record of the log changed, read from the rows that it led to."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from api.feed import feed_sources
from pipeline.projection import touches_content
from pipeline.rows import DocumentRow, MemoryRow
from pipeline.stage import Record
from pipeline.store import SettingsCatalog
from schemas.base import ResponseBody, format_timestamp, without_none
from schemas.events import DocumentExtracted, DocumentSubmitted, MemoriesForgotten, MemoriesFormed
from schemas.http.extensions import feed_bodies as bodies

Row = TypeVar("Row")
Row_co = TypeVar("Row_co", covariant=True)


class RowTable(Protocol[Row_co]):
    """Documents by key, or memories by id."""

    async def get(self, entity_keys: Collection[str]) -> Mapping[str, Sequence[Row_co]]: ...


@dataclass(frozen=True, slots=True)
class FeedTables:
    """The active tables that events are read from. `generation`: that of the consumer groups which fill them."""

    catalog: SettingsCatalog
    documents: RowTable[DocumentRow]
    memories: RowTable[MemoryRow]
    generation: int


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """Event of a feed without its place in it."""

    name: bodies.FeedEventName
    data: ResponseBody


async def to_feed_event(source: feed_sources.FeedSource, record: Record[Any], tables: FeedTables) -> FeedEvent | None:
    """Return what a record changed; None if it changed nothing, or if its rows are gone since."""
    return await _BUILDERS[source.name](record, tables)


async def _submitted(record: Record[DocumentSubmitted], _: FeedTables) -> FeedEvent | None:
    event = record.event
    if record.redriven:
        return None  # it was sent when it was submitted
    data = bodies.DocumentFeedEvent(id=event.id, at=format_timestamp(event.at))
    if event.operation == "delete":
        return FeedEvent("document.deleted", data)
    return FeedEvent("document.queued" if touches_content(event) else "document.updated", data)


async def _extracted(record: Record[DocumentExtracted], tables: FeedTables) -> FeedEvent | None:
    event = record.event
    if event.error is not None:
        return None  # sent as `document.failed`
    is_there = bool((await tables.documents.get({event.document})).get(event.document))
    title = event.title if is_there else None  # the words of a deleted document are not sent
    at = format_timestamp(event.at)
    return FeedEvent(
        "document.extracted", bodies.DocumentFeedEvent(id=event.id, at=at, type=event.type, **without_none(title=title))
    )


async def _processed(record: Record[DocumentSubmitted], tables: FeedTables) -> FeedEvent | None:
    event = record.event
    if event.operation == "delete" or not touches_content(event):
        return None
    row = _first(await tables.documents.get({event.document}), event.document)
    if row is None or row.content_seq > record.offset or row.status not in ("done", "failed"):
        return None  # deleted, or sent with the newer content
    data = bodies.DocumentFeedEvent(id=row.id, at=format_timestamp(row.updated_at), **without_none(error=row.error))
    return FeedEvent("document.done" if row.status == "done" else "document.failed", data)


async def _formed(record: Record[MemoriesFormed], tables: FeedTables) -> FeedEvent | None:
    event = record.event
    rows = await tables.memories.get({memory.id for memory in event.memories})
    created = [row for id_ in rows if (row := _first(rows, id_)) is not None and is_new(row, event)]
    document = _first(await tables.documents.get({event.document}), event.document)
    if not created or document is None:
        return None
    data = bodies.MemoriesFormedEvent(
        document=document.id,
        at=format_timestamp(event.at),
        created=[bodies.CreatedMemory.of(row, memory=row.text) for row in created],
        replaced=await find_replaced(created, tables.memories),
    )
    return FeedEvent("memories.formed", data)


async def _forgotten(record: Record[MemoriesForgotten], tables: FeedTables) -> FeedEvent | None:
    event = record.event
    rows = await tables.memories.get(event.ids)
    known = [row for id_ in event.ids if (row := _first(rows, id_)) is not None]
    if not known:
        return None
    forgotten = [bodies.ForgottenMemory(id=row.id, memory=row.text) for row in known]
    data = bodies.MemoriesForgottenEvent.of(event, forgotten=forgotten)
    return FeedEvent("memories.restored" if event.restores else "memories.forgotten", data)


_BUILDERS: Mapping[str, Callable[[Record[Any], FeedTables], Awaitable[FeedEvent | None]]] = {
    feed_sources.SUBMITTED.name: _submitted,
    feed_sources.EXTRACTED.name: _extracted,
    feed_sources.PROCESSED.name: _processed,
    feed_sources.FORMED.name: _formed,
    feed_sources.FORGOTTEN.name: _forgotten,
}


def is_new(row: MemoryRow, event: MemoriesFormed) -> bool:
    """Return whether this text was the first to state the memory."""
    first = min(row.provenance, key=lambda statement: statement.first_stated_at, default=None)
    return first is not None and (first.document, first.first_stated_seq) == (event.document, event.seq)


async def find_replaced(created: Sequence[MemoryRow], memories: RowTable[MemoryRow]) -> list[bodies.ReplacedMemory]:
    targets = {relation.target: row.id for row in created for relation in row.relations if relation.kind == "updates"}
    rows = await memories.get(targets.keys())
    replaced = [row for id_ in targets if (row := _first(rows, id_)) is not None and not row.is_latest]
    return [bodies.ReplacedMemory(id=row.id, memory=row.text, replaced_by=targets[row.id]) for row in replaced]


def _first(rows: Mapping[str, Sequence[Row]], key: str) -> Row | None:
    held = rows.get(key)
    return held[0] if held else None
