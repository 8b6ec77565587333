"""Matches of a question: which new memories of the log answer it, and the notification of them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass

from api.feed.feed_events import FeedTables, find_replaced, is_new
from api.feed.feed_sources import FORMED
from api.feed.stage_progress import StageProgress
from api.search.search_query import NamespaceSearch
from pipeline.bus.port import Bus
from pipeline.bus.records import decode
from pipeline.rows import MemoryRow, NamespaceRow
from pipeline.stage import Record
from schemas.base import format_timestamp
from schemas.events import MemoriesFormed, QuestionChanged, QuestionNotification
from schemas.http.extensions.feed_bodies import AnsweringMemory, AskedQuestion, Notification
from schemas.http.v5.search_bodies import SearchBody
from schemas.limits import MAX_SEARCH_RESULTS
from schemas.topics import MEMORIES_FORMED

MAX_RECORDS = 64
"""Texts whose memories are compared with a question at once, in one search."""

_LIMIT_FACTOR = 4
"""Results that are looked at for each new memory: others of the same documents may score more."""


@dataclass(frozen=True, slots=True)
class QuestionSources:
    """The active tables, and the search in them. `refresh`: show what other processes wrote to the tables."""

    tables: FeedTables
    search: NamespaceSearch
    refresh: Callable[[tuple[str, ...]], Awaitable[None]]


async def read_formed(
    bus: Bus, incarnations: tuple[str, ...], start: Mapping[int, int], end: Mapping[int, int]
) -> tuple[list[Record[MemoriesFormed]], dict[int, int]]:
    """Read the next records of a namespace between two places, and the place after them."""
    found: list[Record[MemoriesFormed]] = []
    position = {partition: start.get(partition, 0) for partition in end}
    for partition, last in end.items():
        records = bus.read(MEMORIES_FORMED.name, partition, position[partition], last)
        async with aclosing(records):
            async for raw in records:
                position[partition] = raw.offset + 1
                if raw.key.decode(errors="replace") in incarnations:
                    # Undecodable: the stage that reads the topic sent it to the dead letter queue.
                    with suppress(ValueError):
                        found.append(decode(MEMORIES_FORMED, raw))
                if len(found) == MAX_RECORDS:
                    return found, position
        position[partition] = max(last, position[partition])
    return found, position


async def find_answers(
    question: QuestionChanged,
    namespace: NamespaceRow,
    records: Sequence[Record[MemoriesFormed]],
    progress: StageProgress,
    sources: Callable[[], QuestionSources],
) -> dict[str, float]:
    """Return the similarity of each memory that one of these texts was the first to state and that answers."""
    final = [record for record in records if not record.event.is_provisional]
    for record in final:
        await progress.wait_until_handled(FORMED, record)
    current = sources()
    rows = await current.tables.memories.get({memory.id for record in final for memory in record.event.memories})
    new = [
        row.id
        for record in final
        for memory in record.event.memories
        for row in rows.get(memory.id, ())[:1]
        if is_new(row, record.event) and row.forgotten_at is None
    ]
    if not new:
        return {}
    # A search finds what replaced a memory by that memory's words too.
    replaced = await current.tables.memories.get(
        {relation.target for id_ in new for relation in rows[id_][0].relations if relation.kind == "updates"}
    )
    documents = {
        source for held in (rows, replaced) for found in held.values() for row in found for source in row.sources
    }
    await current.refresh(namespace.incarnations)
    body = SearchBody(query=question.query, searchMode="memories", threshold=question.threshold)
    limit = max(MAX_SEARCH_RESULTS, _LIMIT_FACTOR * len(new))
    found = await current.search.run(namespace, body.model_copy(update={"limit": limit}), documents=tuple(documents))
    similarity = {hit.id: hit.similarity for hit in found.hits if hit.id in new}
    return {id_: similarity[id_] for id_ in new if id_ in similarity}


async def build_notification(
    question: QuestionChanged, namespace: NamespaceRow, pending: QuestionNotification, tables: FeedTables
) -> Notification | None:
    """Build the body of a notification from the rows as they are now; None if none of its memories is left."""
    rows = await tables.memories.get(pending.memories.keys())
    held = [row for id_ in pending.memories for row in rows.get(id_, ())[:1] if row.forgotten_at is None]
    if not held:
        return None
    memories = [await _to_answer(row, pending.memories[row.id], tables) for row in held]
    return Notification(
        type="question.answered",
        id=pending.id,
        at=format_timestamp(pending.at),
        namespace=namespace.name,
        question=AskedQuestion(id=question.id, query=question.query),
        memories=memories,
    )


async def _to_answer(row: MemoryRow, similarity: float, tables: FeedTables) -> AnsweringMemory:
    first = min(row.provenance, key=lambda statement: statement.first_stated_at, default=None)
    documents = await tables.documents.get({first.document}) if first is not None else {}
    return AnsweringMemory.of(
        row,
        memory=row.text,
        similarity=similarity,
        document=next((document.id for found in documents.values() for document in found), None),
        replaced=await find_replaced([row], tables.memories),
    )
