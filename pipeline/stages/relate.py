"""memories.formed → the memories table: what each document supports now, and which version is the latest."""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

from pipeline.breath import Breath
from pipeline.memory.conclusions import premises
from pipeline.memory.keeper import Keeper
from pipeline.memory.statements import Edit, Reading, stated, statements_of, without
from pipeline.ports import Catalog, Documents, Embedder
from pipeline.rows import DocumentRow, MemoryRow, Terms
from pipeline.stage import Record, Stage
from pipeline.stages.giving_up import give_up, take_up
from schemas.events import MemoriesFormed
from schemas.topics import MEMORIES_FORMED

log = logging.getLogger(__name__)

BATCH = 64
PORTION = 500
"""Memories, about, of one update: each is made in one go, while requests wait."""
_EARLIEST = datetime.min.replace(tzinfo=UTC)


class Remembered(Protocol):
    """What is asked of the memories table."""

    async def get(self, groups: Collection[str]) -> dict[str, list[MemoryRow]]: ...

    async def of_documents(self, documents: Collection[str]) -> list[MemoryRow]: ...


@dataclass(frozen=True, slots=True)
class Relate:
    """The stage's work as functions of its ports."""

    documents: Documents
    memories: Remembered
    catalog: Catalog
    embedder: Embedder
    keeper: Keeper
    terms: Callable[[str], Terms]

    async def handle(self, batch: Sequence[Record[MemoriesFormed]]) -> None:
        """Project the batch in updates of bounded size, and mark the documents as done."""
        again = [(record.event.document, record.event.seq) for record in batch if record.redriven]
        await take_up(self.documents, again, "done", dreaming=True)
        events = await self._current([record.event for record in batch])
        await self._withdraw({record.event.document for record in batch} - {one.document for one in events})
        if not events:
            return
        breath = Breath()
        for portion in portions(events):
            rest = portion
            while rest:
                taken, edits = await self._edits(rest)
                await breath.taken()
                await self.keeper.change({event.space for event in rest[:taken]}, edits)
                await self._done(rest[:taken])
                rest = rest[taken:]
        await self.keeper.durable()
        await self.documents.durable()

    async def give_up(self, record: Record[MemoriesFormed], reason: str) -> None:
        """The document has no memories, and says why."""
        await give_up(self.documents, record.event.document, record.event.seq, reason, dreaming=False)

    async def _current(self, events: Sequence[MemoriesFormed]) -> list[MemoriesFormed]:
        """Without those whose namespace or document is gone, and those of an earlier life of the document.

        Those of an older text count: when it was replaced, seen from here, is chance, and since when a fact
        is known must not depend on it.
        """
        rows = await self.documents.get({event.document for event in events})
        return [
            event if found[0].task_type != "superrag" else event.model_copy(update={"memories": ()})
            for event in events
            if self.catalog.owner(event.space) is not None
            and (found := rows.get(event.document))
            and found[0].created_at <= event.at
        ]

    async def _edits(self, events: Sequence[MemoriesFormed]) -> tuple[int, dict[str, list[Edit]]]:
        """What the first of these events do to memories, and how many events that are.

        Where one brings back what another took away, what was concluded from it goes in between.
        """
        there = await self.memories.of_documents({event.document for event in events})
        supported, newest = _supported(events, there)
        stored = await self.memories.get({memory.id for event in events for memory in event.memories})
        readings = await self._readings(events, stored)
        order = await self._order(events, [row for rows in stored.values() for row in rows])
        edits: dict[str, list[Edit]] = {}
        here = {id_ for id_, rows in stored.items() if rows}
        missing: set[str] = set()
        for place, event in enumerate(events):
            if event.seq < newest[event.document]:
                continue
            present = {memory.id for memory in event.memories}
            if not missing.isdisjoint(present):
                return place, edits
            newest[event.document] = event.seq
            lost_here = supported[event.document] - present
            missing |= lost_here
            for lost in sorted(lost_here):
                edits.setdefault(lost, []).append(without(frozenset({event.document})))
            supported[event.document] = present
            for memory in event.memories:
                edits.setdefault(memory.id, []).append(stated(event, memory, readings[memory.id], order))
            here |= present
            missing |= {one for memory in event.memories for one in premises(memory)} - here
        return len(events), edits

    async def _readings(
        self, events: Sequence[MemoriesFormed], stored: Mapping[str, Sequence[MemoryRow]]
    ) -> dict[str, Reading]:
        """Vectors and terms: of stored memories their own, since a row may go before it is written again."""
        readings = {id_: Reading(rows[0].vector, rows[0].terms) for id_, rows in stored.items() if rows}
        texts = {
            memory.id: memory.text
            for event in events
            for memory in event.memories
            if memory.id not in readings
        }
        vectors = await self.embedder.documents(list(texts.values())) if texts else []
        for (id_, text), vector in zip(texts.items(), vectors, strict=True):
            readings[id_] = Reading(vector, self.terms(text))
        return readings

    async def _order(
        self, events: Sequence[MemoriesFormed], rows: Sequence[MemoryRow]
    ) -> Callable[[str], tuple[datetime, str]]:
        keys = {event.document for event in events} | {source for row in rows for source in row.sources}
        found = await self.documents.get(keys)
        created = {key: members[0].created_at for key, members in found.items() if members}
        return lambda key: (created.get(key, _EARLIEST), key)

    async def _done(self, events: Sequence[MemoriesFormed]) -> None:
        seqs = {event.document: event.seq for event in events}

        def change(key: str, rows: list[DocumentRow]) -> Sequence[DocumentRow] | None:
            finished = rows and rows[0].dreaming and rows[0].current_seq == seqs[key]
            return [replace(rows[0], dreaming=False, dreaming_error=None)] if finished else None

        await self.documents.update(list(seqs), change)
        # A document may have been deleted meanwhile, its memories erased before these were written.
        await self._withdraw(seqs.keys())

    async def _withdraw(self, documents: AbstractSet[str]) -> None:
        """Documents that are not there support nothing, also where a process ended before it saw that."""
        found = await self.documents.get(documents)
        if gone := [key for key in documents if not found.get(key)]:
            await self.keeper.withdraw(gone)
            await self.keeper.durable()


def _supported(
    events: Sequence[MemoriesFormed], rows: Sequence[MemoryRow]
) -> tuple[dict[str, set[str]], dict[str, int]]:
    """The memories each document supports before these events, and the newest text in which it did."""
    found: dict[str, set[str]] = {event.document: set() for event in events}
    newest = dict.fromkeys(found, -1)
    for row in rows:
        for one in statements_of(row):
            if one.document in found:
                found[one.document].add(row.id)
                newest[one.document] = max(newest[one.document], one.seq)
    return found, newest


def portions(events: Sequence[MemoriesFormed]) -> Iterator[list[MemoriesFormed]]:
    """In order; more than `PORTION` memories only where one document has them."""
    portion: list[MemoriesFormed] = []
    size = 0
    for event in events:
        if portion and size + len(event.memories) > PORTION:
            yield portion
            portion, size = [], 0
        portion.append(event)
        size += len(event.memories)
    yield portion


def build(
    *,
    documents: Documents,
    memories: Remembered,
    catalog: Catalog,
    embedder: Embedder,
    keeper: Keeper,
    terms: Callable[[str], Terms],
) -> Stage[MemoriesFormed]:
    """The stage `relate`, the only writer of new memories."""
    work = Relate(documents, memories, catalog, embedder, keeper, terms)
    return Stage(name="relate", source=MEMORIES_FORMED, handle=work.handle, batch=BATCH, give_up=work.give_up)
