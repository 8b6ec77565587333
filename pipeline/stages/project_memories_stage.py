"""memories.formed → the memories table: record the memories of each document and resolve versions."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

import numpy as np

from pipeline.memory.versioning.memory_repository import MemoryRepository
from pipeline.memory.versioning.provenance import MemoryEdit, SearchFields, add_source, provenance_of, remove_sources
from pipeline.memory.versioning.truth_maintenance import premises
from pipeline.ports import Catalog, DocumentTable, Embedder
from pipeline.rows import DocumentRow, MemoryRow, Terms
from pipeline.runtime.batches import batches_within
from pipeline.runtime.cooperative_yield import CooperativeYield
from pipeline.stage import Record, Stage
from pipeline.stages.submission_projection import mark_failed, reset_for_retry
from schemas.events import MemoriesFormed
from schemas.topics import MEMORIES_FORMED

log = logging.getLogger(__name__)

BATCH_SIZE = 64
MAX_MEMORIES_PER_UPDATE = 500
"""Bound of one update, which blocks requests while it is planned; only a single document may exceed it."""
_EARLIEST = datetime.min.replace(tzinfo=UTC)


class MemoryReader(Protocol):
    """Reads of the memories table; a fresh replay filters the sources."""

    async def get(self, entity_keys: Collection[str]) -> dict[str, list[MemoryRow]]: ...

    async def find_by_documents(self, documents: Collection[str]) -> list[MemoryRow]: ...


@dataclass(frozen=True, slots=True)
class ProjectMemoriesStage:
    """The only writer of new memories."""

    documents: DocumentTable
    memories: MemoryReader
    catalog: Catalog
    embedder: Embedder
    memory_repository: MemoryRepository
    count_terms: Callable[[str], Terms]

    @property
    def definition(self) -> Stage[MemoriesFormed]:
        return Stage(
            name="project_memories",
            source=MEMORIES_FORMED,
            handle=self.handle,
            batch_size=BATCH_SIZE,
            on_dead_letter=self.on_dead_letter,
        )

    async def handle(self, batch: Sequence[Record[MemoriesFormed]]) -> None:
        """Project the batch in updates of bounded size, and mark the documents as done."""
        again = [
            (record.event.document, record.event.seq)
            for record in batch
            if record.redriven and not record.event.is_provisional
        ]
        await reset_for_retry(self.documents, again, "done", extraction_pending=True)
        events = await self._current_events([record.event for record in batch])
        await self._remove_missing_documents(
            {record.event.document for record in batch} - {event.document for event in events}
        )
        if not events:
            return
        cooperative_yield = CooperativeYield()
        for portion in batches_within(events, lambda event: len(event.memories), MAX_MEMORIES_PER_UPDATE):
            rest = portion
            while rest:
                taken, edits = await self._plan_edits(rest)
                await cooperative_yield.checkpoint()
                await self.memory_repository.apply({event.incarnation for event in rest[:taken]}, edits)
                await self._mark_done(rest[:taken])
                rest = rest[taken:]
        await self.memory_repository.wait_until_durable()
        await self.documents.wait_until_durable()

    async def on_dead_letter(self, record: Record[MemoriesFormed], reason: str) -> None:
        """Mark the document as failed, without memories, with the reason.

        A document whose provisional memories can't be recorded still waits for the model.
        """
        if record.event.is_provisional:
            return
        await mark_failed(self.documents, record.event.document, record.event.seq, reason, extraction_pending=False)

    async def _current_events(self, events: Sequence[MemoriesFormed]) -> list[MemoriesFormed]:
        """Drop events of deleted namespaces and documents, and of a document's earlier life under the same id.

        Events of a replaced text stay: this stage may see the replacement early or late, and the date of a fact
        must not depend on that.
        """
        rows = await self.documents.get({event.document for event in events})
        return [
            event if found[0].task_type != "superrag" else event.model_copy(update={"memories": ()})
            for event in events
            if self.catalog.namespace_of(event.incarnation) is not None
            and (found := rows.get(event.document))
            and found[0].created_at <= event.at
        ]

    async def _plan_edits(self, events: Sequence[MemoriesFormed]) -> tuple[int, dict[str, list[MemoryEdit]]]:
        """Plan the edits of a prefix of the events; returns its length and the edits by memory id.

        The prefix ends before an event that restores a memory or premise which an earlier event removed, so that
        memories inferred from it are removed in between.
        """
        supported_rows = await self.memories.find_by_documents({event.document for event in events})
        supported, newest = _supported_memories(events, supported_rows)
        stored = await self.memories.get({memory.id for event in events for memory in event.memories})
        readings = await self._vectors_and_terms(events, stored)
        order = await self._document_order(events, [row for rows in stored.values() for row in rows])
        edits: dict[str, list[MemoryEdit]] = {}
        existing = {id_ for id_, rows in stored.items() if rows}
        missing: set[str] = set()
        for place, event in enumerate(events):
            if event.seq < newest[event.document]:
                continue
            present = {memory.id for memory in event.memories}
            if not missing.isdisjoint(present):
                return place, edits
            newest[event.document] = event.seq
            lost_ids = supported[event.document] - present
            missing |= lost_ids
            for lost in sorted(lost_ids):
                edits.setdefault(lost, []).append(remove_sources(frozenset({event.document})))
            supported[event.document] = present
            for memory in event.memories:
                edits.setdefault(memory.id, []).append(add_source(event, memory, readings[memory.id], order))
            existing |= present
            missing |= {premise for memory in event.memories for premise in premises(memory)} - existing
        return len(events), edits

    async def _vectors_and_terms(
        self, events: Sequence[MemoriesFormed], stored: Mapping[str, Sequence[MemoryRow]]
    ) -> dict[str, SearchFields]:
        """Vectors and terms by memory id, stored ones reused: a row may be deleted before it is written again."""
        readings = {id_: SearchFields(rows[0].vector, rows[0].terms) for id_, rows in stored.items() if rows}
        texts = {memory.id: memory.text for event in events for memory in event.memories if memory.id not in readings}
        vectors = await self.embedder.embed_documents(list(texts.values())) if texts else []
        for (id_, text), vector in zip(texts.items(), vectors, strict=True):
            readings[id_] = SearchFields(vector, np.sort(self.count_terms(text)))
        return readings

    async def _document_order(
        self, events: Sequence[MemoriesFormed], rows: Sequence[MemoryRow]
    ) -> Callable[[str], tuple[datetime, str]]:
        keys = {event.document for event in events} | {source for row in rows for source in row.sources}
        found = await self.documents.get(keys)
        created = {key: members[0].created_at for key, members in found.items() if members}
        return lambda key: (created.get(key, _EARLIEST), key)

    async def _mark_done(self, events: Sequence[MemoriesFormed]) -> None:
        seqs = {event.document: event.seq for event in events}
        final = {event.document: event.seq for event in events if not event.is_provisional}

        def change(key: str, rows: list[DocumentRow]) -> Sequence[DocumentRow] | None:
            finished = rows and rows[0].extraction_pending and rows[0].searchable_seq == final[key]
            return [replace(rows[0], extraction_pending=False, extraction_error=None)] if finished else None

        await self.documents.update(list(final), change)
        # A document may have been deleted meanwhile, its memories erased before these were written.
        await self._remove_missing_documents(seqs.keys())

    async def _remove_missing_documents(self, documents: AbstractSet[str]) -> None:
        """Remove missing documents from memories, including those that a crashed run left behind."""
        found = await self.documents.get(documents)
        if gone := [key for key in documents if not found.get(key)]:
            await self.memory_repository.remove_documents(gone)
            await self.memory_repository.wait_until_durable()


def _supported_memories(
    events: Sequence[MemoriesFormed], rows: Sequence[MemoryRow]
) -> tuple[dict[str, set[str]], dict[str, int]]:
    """Memory ids and newest text `seq` by document, before these events."""
    memory_ids: dict[str, set[str]] = {event.document: set() for event in events}
    newest = dict.fromkeys(memory_ids, -1)
    for row in rows:
        for entry in provenance_of(row):
            if entry.document in memory_ids:
                memory_ids[entry.document].add(row.id)
                newest[entry.document] = max(newest[entry.document], entry.seq)
    return memory_ids, newest
