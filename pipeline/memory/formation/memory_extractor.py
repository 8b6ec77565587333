"""Turns documents into `memories.formed` events: their facts, related to the facts of the namespace."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol
from weakref import WeakValueDictionary

from pipeline.memory.formation import derived_memories
from pipeline.memory.formation.document_memory_builder import (
    DocumentContext,
    DocumentMemoryBuilder,
    ExtractionJob,
    metadata_with_group,
)
from pipeline.memory.formation.document_voice import is_synced
from pipeline.memory.formation.fact_extractor import ExtractionDelay, FactExtractor, RuleBasedExtractor
from pipeline.memory.formation.nearest_memories import MAX_SEARCHED_NAMESPACE_MEMORIES, LexicalNeighborFinder
from pipeline.memory.formation.rule_based_extraction import CandidateFact
from pipeline.memory.inference import inference_rules
from pipeline.memory.versioning.fact_comparison import FactRecord
from pipeline.memory.versioning.fact_lookup import FactIndex, FactLookup
from pipeline.ports import Catalog, DocumentTable, LexicalNeighborIndex, MemoryKeyIndex, Publisher
from pipeline.rows import DocumentRow, NamespaceRow
from pipeline.runtime.cooperative_yield import CooperativeYield
from schemas.base import Metadata
from schemas.events import FormedMemory, MemoriesFormed
from schemas.topics import MEMORIES_FORMED

DOCUMENTS_PER_SLICE = 32
"""Documents extracted and related together."""
MEMORIES_PER_PUBLISH = 1000
"""Approximate number of memories published at once."""


@dataclass(frozen=True, slots=True)
class DelayedJob:
    """A document whose extraction is delayed, as its row says, with the seconds until a retry."""

    job: ExtractionJob
    retry_after_seconds: float


class CandidateIndex(LexicalNeighborIndex, MemoryKeyIndex, Protocol):
    """The namespace index as far as facts are compared by it."""


def _no_counts(_: Sequence[str]) -> Mapping[str, int]:
    return {}


class MemoryExtractor:
    """Extracts and publishes memories, one caller at a time per namespace, so that facts are compared in
    order.
    """

    def __init__(
        self,
        *,
        documents: DocumentTable,
        catalog: Catalog,
        publisher: Publisher,
        fact_lookup: FactLookup,
        index: CandidateIndex,
        count_memories: Callable[[Sequence[str]], Mapping[str, int]] = _no_counts,
        rules: FactExtractor | None = None,
        fact_extractor: FactExtractor | None = None,
    ) -> None:
        """`count_memories` returns the number of current memories per incarnation without reading tables.

        `rules` stand in for `fact_extractor`, where there is none and while it is delayed.
        """
        self._documents = documents
        self._catalog = catalog
        self._publisher = publisher
        self._fact_lookup = fact_lookup
        self._index = index
        self._count_memories = count_memories
        self._rules = rules or RuleBasedExtractor()
        self._fact_extractor = fact_extractor or self._rules
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def extract(self, jobs: Sequence[ExtractionJob]) -> list[DelayedJob]:
        """Extract pending documents, each namespace in the order given; return the delayed ones."""
        by_namespace: dict[str, list[ExtractionJob]] = {}
        for job in jobs:
            owner = self._catalog.namespace_of(job.incarnation)
            if owner is not None:
                by_namespace.setdefault(owner.name, []).append(job)
        delayed_by_namespace = await asyncio.gather(
            *(self._extract_namespace(name, found) for name, found in by_namespace.items())
        )
        return [job for delayed_jobs in delayed_by_namespace for job in delayed_jobs]

    async def _extract_namespace(self, name: str, jobs: Sequence[ExtractionJob]) -> list[DelayedJob]:
        lock = self._locks.setdefault(name, asyncio.Lock())
        delayed: list[DelayedJob] = []
        async with lock:
            for begin in range(0, len(jobs), DOCUMENTS_PER_SLICE):
                delayed += await self._extract_slice(jobs[begin : begin + DOCUMENTS_PER_SLICE])
        return delayed

    async def _extract_slice(self, jobs: Sequence[ExtractionJob]) -> list[DelayedJob]:
        rows = await self._documents.get([job.document for job in jobs])
        pending = [
            replace(job, is_synced=is_synced(rows[job.document][0].metadata))
            for job in jobs
            if needs_extraction(rows.get(job.document), job.seq)
        ]
        namespace = self._catalog.namespace_of(pending[0].incarnation) if pending else None
        if namespace is None:
            return []
        results = list(zip(pending, await self._fact_extractor.extract(namespace, pending), strict=True))
        extracted = [(job, facts) for job, facts in results if not isinstance(facts, ExtractionDelay)]
        await self._relate_and_publish(namespace, extracted)
        delays = [(job, delay) for job, delay in results if isinstance(delay, ExtractionDelay)]
        # At the first delay only: what rules find does not change until the next.
        first = [job for job, _ in delays if rows[job.document][0].extraction_error is None]
        by_rules = zip(first, await self._rules.extract(namespace, first), strict=True)
        provisional = [(job, facts) for job, facts in by_rules if not isinstance(facts, ExtractionDelay)]
        await self._relate_and_publish(namespace, provisional, is_provisional=True)
        return await self._record_delays(delays)

    async def _record_delays(self, delays: Sequence[tuple[ExtractionJob, ExtractionDelay]]) -> list[DelayedJob]:
        """Write the reasons of delays into the documents' rows."""
        reasons = {job.document: (job.seq, delay.reason) for job, delay in delays}

        def change(key: str, rows: list[DocumentRow]) -> Sequence[DocumentRow] | None:
            seq, reason = reasons[key]
            needs_update = needs_extraction(rows, seq) and rows[0].extraction_error != reason
            return [replace(rows[0], extraction_error=reason)] if needs_update else None

        if reasons:
            await self._documents.update(list(reasons), change)
        return [DelayedJob(job, delay.retry_after_seconds) for job, delay in delays]

    async def _relate_and_publish(
        self,
        namespace: NamespaceRow,
        extracted: Sequence[tuple[ExtractionJob, Sequence[CandidateFact]]],
        *,
        is_provisional: bool = False,
    ) -> None:
        """Compare the facts with known ones, document by document, and publish them."""
        if not extracted:
            return
        cooperative_yield = CooperativeYield()
        attributes = [attribute for _, facts in extracted for fact in facts for attribute in fact.attributes]
        size = sum(self._count_memories(namespace.incarnations).values())
        is_searchable = size <= MAX_SEARCHED_NAMESPACE_MEMORIES
        partner_keys = (
            _inference_partner_keys(extracted) if size <= derived_memories.MAX_INFERENCE_NAMESPACE_MEMORIES else []
        )
        fact_index = await self._fact_lookup.candidates_for(
            namespace.incarnations, attributes, partner_keys, index=self._index if is_searchable else None
        )
        await cooperative_yield.checkpoint()
        await self._drop_orphaned_facts(fact_index)
        jobs = [job for job, _ in extracted]
        shared_metadata, all_groups = await self._load_groups(
            jobs, fact_index, fact_index.with_keys(namespace.incarnations, partner_keys)
        )
        groups = all_groups if size <= derived_memories.MAX_INFERENCE_NAMESPACE_MEMORIES else None
        neighbor_finder = (
            await LexicalNeighborFinder.open(self._index, self._documents, namespace.name)
            if extracted and is_searchable
            else None
        )
        await cooperative_yield.checkpoint()
        events: list[MemoriesFormed] = []
        for job, facts in extracted:
            neighbors = await neighbor_finder.find(job, facts, cooperative_yield) if neighbor_finder is not None else {}
            builder = DocumentMemoryBuilder(
                fact_index, namespace, DocumentContext(job, shared_metadata, neighbors, groups)
            )
            event = await self._build_event(job, builder, facts, cooperative_yield)
            events.append(event.model_copy(update={"is_provisional": is_provisional}))
            if sum(len(event.memories) for event in events) >= MEMORIES_PER_PUBLISH:
                await self._publish(events)
                events = []
        await self._publish(events)

    async def _publish(self, events: Sequence[MemoriesFormed]) -> None:
        await self._publisher.publish(MEMORIES_FORMED, [(event.incarnation, event) for event in events])

    async def _build_event(
        self,
        job: ExtractionJob,
        builder: DocumentMemoryBuilder,
        facts: Sequence[CandidateFact],
        cooperative_yield: CooperativeYield,
    ) -> MemoriesFormed:
        memories: dict[str, FormedMemory] = {}
        for fact in facts:
            memory = builder.build_memory(fact)
            for built in (memory, *builder.derive_conclusions(memory)):
                memories.setdefault(built.id, built)
            # Comparing a thousand facts of one attribute takes a second; let requests run in between.
            await cooperative_yield.checkpoint()
        self._fact_lookup.add_pending(builder.changed_facts.values())
        return MemoriesFormed(
            incarnation=job.incarnation,
            document=job.document,
            seq=job.seq,
            at=job.at,
            memories=tuple(memories.values()),
        )

    async def _drop_orphaned_facts(self, fact_index: FactIndex) -> None:
        """Drop pending facts that never reached the table because their document changed meanwhile.

        While the document waits for extraction, facts of its older text may still be on their way.
        """
        pending = {fact.id: fact.pending for fact in fact_index if fact.pending is not None}
        rows = await self._documents.get({document for document, _ in pending.values()}) if pending else {}
        for id_, (document, seq) in pending.items():
            row = rows.get(document)
            if row and (row[0].searchable_seq == seq or row[0].extraction_pending):
                continue
            if (current := self._fact_lookup.pending_fact(id_)) is not None and current.pending is not None:
                self._fact_lookup.remove_pending(id_)
                fact_index.remove(id_)

    async def _load_groups(
        self, jobs: Sequence[ExtractionJob], facts: Iterable[FactRecord], premises: Iterable[FactRecord]
    ) -> tuple[dict[str, Metadata], dict[str, Metadata | None]]:
        """Return the shared metadata and the exact group of documents, by key.

        Covers the sources of `facts`; if no job has a group, only those of `premises`, and nothing is
        shared.
        """
        is_grouped, own_keys = any(job.group for job in jobs), {job.document for job in jobs}
        keys = own_keys | _source_keys(facts) if is_grouped else _source_keys(premises) - own_keys
        rows_by_key = await self._documents.get(keys) if keys else {}
        rows = {key: document_rows[0] for key, document_rows in rows_by_key.items() if document_rows}
        shared_metadata = {key: metadata_with_group(row) for key, row in rows.items()} if is_grouped else {}
        groups = {key: row.group_metadata for key, row in rows.items()}
        return shared_metadata, groups | {job.document: job.group for job in jobs}


def _source_keys(facts: Iterable[FactRecord]) -> set[str]:
    return {source for fact in facts for source in fact.sources}


def _inference_partner_keys(extracted: Sequence[tuple[ExtractionJob, Sequence[CandidateFact]]]) -> list[str]:
    """Return the keys of facts from which something may follow together with these."""
    texts = [fact.text for _, facts in extracted for fact in facts if not fact.is_inference]
    return list(dict.fromkeys(key for text in texts for key in inference_rules.partner_keys(text)))


def needs_extraction(rows: Sequence[DocumentRow] | None, seq: int) -> bool:
    """Return whether the document exists, waits for extraction, and has no newer content than `seq`."""
    if not rows:
        return False
    return rows[0].extraction_pending and rows[0].searchable_seq <= seq
