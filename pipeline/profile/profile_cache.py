"""Cached profiles of recently requested namespaces, maintained by listening to the memories table.

A namespace is read once, when its profile is first requested; afterwards every change is applied
incrementally. The facts held per namespace are bounded, so the cost of a request does not depend on the
number of memories.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pipeline.columns import to_microseconds
from pipeline.ports import Catalog, Clock, DocumentTable, Embedder, MemoryTable
from pipeline.profile.bucket_classifier import (
    BucketClassifier,
    build_classifier,
    effective_buckets,
)
from pipeline.profile.fact_relevance import lasting_file
from pipeline.profile.profile_sections import (
    DEFAULT_MAX_TOKENS,
    ProfileSnapshot,
    SectionFact,
    build_profile_from_ordered,
)
from pipeline.profile.profile_state import DYNAMIC, STATIC, ProfileState, ScoredFacts
from pipeline.profile.topic_vectors import TopicVectors, topic_vectors
from pipeline.rows import DocumentRow, MemoryRow, NamespaceRow, OrganizationRow, Vector
from pipeline.text.analyzer import hash_terms
from pipeline.vector_classifier import read_classifier

log = logging.getLogger(__name__)

MAX_CACHED_FACTS = 200_000
"""Facts held of all namespaces; the least recently requested are evicted."""
MIN_ENTRY_WEIGHT = 10
"""Weight of an entry without facts, in facts."""
MAX_PENDING_CHANGES = 256
"""Pending changes of an entry at which they are applied without waiting for a request."""
SNAPSHOT_TTL_MS = 60_000
"""Lifetime of a snapshot; its contents depend slightly on the time of day."""
MAX_DELETED_DOCUMENTS = 50_000
"""Recently deleted documents; memories supported only by them are deleted moments later."""
MAX_FACTS_RECLASSIFIED_INLINE = 500
"""Facts of a namespace up to which a request waits for a change of buckets."""
ROWS_PER_LOAD_BATCH = 65_536
"""Memories read before the top ones are selected: about 20 MB."""
MAX_CACHED_CLASSIFIERS = 256
MAX_CACHED_CLASSIFICATIONS = 20_000
"""Facts with cached buckets, per classifier."""


@dataclass(eq=False, slots=True)
class _CachedClassifier:
    classifier: BucketClassifier
    bucket_names_by_id: OrderedDict[str, frozenset[str]] = field(default_factory=OrderedDict)


@dataclass(eq=False, slots=True)
class _CacheEntry:
    """A cached namespace.

    `state` is None and changes are pending while it loads. `previous` answers meanwhile after a change of
    buckets.
    """

    name: str
    incarnations: tuple[str, ...]
    bucket_definitions: Mapping[str, str]
    state: ProfileState | None = None
    load_task: "asyncio.Task[None] | None" = None
    previous: "_CacheEntry | None" = None
    pending_changes: dict[str, MemoryRow | None] = field(default_factory=dict)
    snapshot: ProfileSnapshot | None = None
    snapshot_at_ms: int = 0


class ProfileCache:
    """Cache of profiles: an instance per process and generation of tables; subscribes to them on construction."""

    def __init__(
        self,
        *,
        documents: DocumentTable,
        memories: MemoryTable,
        catalog: Catalog,
        embedder: Embedder,
        clock: Clock,
        capacity: int = MAX_CACHED_FACTS,
        max_tokens: int = DEFAULT_MAX_TOKENS,
    ) -> None:
        """`max_tokens`: of static and dynamic facts together."""
        self.max_tokens = max_tokens
        self.lasting_statements = read_classifier(lasting_file(embedder.name))
        self._memories = memories
        self._catalog = catalog
        self._embedder = embedder
        self._clock = clock
        self._capacity = capacity
        self._entries: OrderedDict[str, _CacheEntry] = OrderedDict()
        self._entries_by_incarnation: dict[str, _CacheEntry] = {}
        self._classifiers: OrderedDict[tuple[tuple[str, str], ...], _CachedClassifier] = OrderedDict()
        self._deleted_documents: OrderedDict[str, None] = OrderedDict()
        self._topics: TopicVectors | None = None
        documents.subscribe(self._on_documents_change, self._entries_by_incarnation.__contains__)
        memories.subscribe(self._on_memories_change, self._entries_by_incarnation.__contains__)

    async def get_profile(self, namespace: NamespaceRow, organization: OrganizationRow) -> ProfileSnapshot:
        """Return all sections of a namespace, with every change made so far."""
        while True:
            current = self._catalog.namespace(namespace.name) or namespace
            entry = self._entry_for(current, effective_buckets(current, organization))
            if entry.load_task is not None:
                if (previous_snapshot := self._previous_snapshot(entry)) is not None:
                    return previous_snapshot
                # Shielded: a cancelled caller must not cancel the load that others await.
                await asyncio.shield(entry.load_task)
            self._apply_pending(entry)
            if entry.state is None or self._entries.get(entry.name) is not entry:
                continue
            if entry.state.is_underfilled:
                self._remove(entry.name)
                continue
            return self._snapshot(entry, entry.state)

    async def classify(
        self, bucket_definitions: Mapping[str, str], ids: Sequence[str], vectors: Sequence[Vector], texts: Sequence[str]
    ) -> list[frozenset[str]]:
        """Return the buckets of memories; recent classifications are cached."""
        cached = await self._classifier_for(bucket_definitions)
        new_positions = [position for position, id_ in enumerate(ids) if id_ not in cached.bucket_names_by_id]
        membership = cached.classifier.classify_facts(
            [vectors[position] for position in new_positions],
            [hash_terms(texts[position]) for position in new_positions],
        )
        for position, bucket_flags in zip(new_positions, membership, strict=True):
            names = (name for name, is_member in zip(cached.classifier.names, bucket_flags, strict=True) if is_member)
            cached.bucket_names_by_id[ids[position]] = frozenset(names)
        classified = [cached.bucket_names_by_id[id_] for id_ in ids]
        while len(cached.bucket_names_by_id) > MAX_CACHED_CLASSIFICATIONS:
            cached.bucket_names_by_id.popitem(last=False)
        return classified

    async def empty_state(self, bucket_definitions: Mapping[str, str]) -> ProfileState:
        return ProfileState((await self._classifier_for(bucket_definitions)).classifier, self.lasting_statements)

    def _previous_snapshot(self, entry: _CacheEntry) -> ProfileSnapshot | None:
        """Return the snapshot before a change of buckets, while a large namespace is reclassified.

        It contains the buckets that still exist.
        """
        previous = entry.previous
        if previous is None or previous.state is None:
            return None
        self._apply_pending(previous)
        if previous.state.is_underfilled or len(previous.state.facts) < MAX_FACTS_RECLASSIFIED_INLINE:
            return None
        snapshot = self._snapshot(previous, previous.state)
        buckets = snapshot.buckets
        return replace(snapshot, buckets={name: buckets.get(name, ()) for name in entry.bucket_definitions})

    def _snapshot(self, entry: _CacheEntry, state: ProfileState) -> ProfileSnapshot:
        now = to_microseconds(self._clock.now()) // 1000
        if entry.snapshot is None or not entry.snapshot_at_ms <= now < entry.snapshot_at_ms + SNAPSHOT_TTL_MS:
            entry.snapshot = build_profile_from_ordered(
                self._with_live_sources(state.top_facts(STATIC)),
                self._with_live_sources(state.top_facts(DYNAMIC)),
                {name: self._with_live_sources(state.top_facts(name)) for name in entry.bucket_definitions},
                now,
                self.max_tokens,
            )
            entry.snapshot_at_ms = now
        return entry.snapshot

    def _with_live_sources(self, facts: Sequence[SectionFact]) -> list[SectionFact]:
        """Drop facts whose documents are all deleted."""
        deleted = self._deleted_documents
        return [
            fact
            for fact in facts
            if not deleted or not fact.sources or not all(source in deleted for source in fact.sources)
        ]

    def _entry_for(self, namespace: NamespaceRow, bucket_definitions: Mapping[str, str]) -> _CacheEntry:
        """Return the entry for the namespace's current incarnations and buckets, loading it if needed."""
        entry = self._entries.get(namespace.name)
        if entry is None or (entry.incarnations, entry.bucket_definitions) != (
            namespace.incarnations,
            bucket_definitions,
        ):
            self._remove(namespace.name)
            previous = None
            if entry is not None and entry.incarnations == namespace.incarnations:
                previous = entry.previous if entry.state is None else entry
            entry = _CacheEntry(namespace.name, namespace.incarnations, bucket_definitions, previous=previous)
            self._insert(entry)
            entry.load_task = asyncio.create_task(self._load(entry))
            entry.load_task.add_done_callback(_log_load_failure)
        self._entries.move_to_end(entry.name)
        return entry

    def _insert(self, entry: _CacheEntry) -> None:
        self._entries[entry.name] = entry
        self._entries_by_incarnation.update(dict.fromkeys(entry.incarnations, entry))

    async def _load(self, entry: _CacheEntry) -> None:
        try:
            state = await self.empty_state(entry.bucket_definitions)
            batches: list[ScoredFacts] = []
            async for batch in self._memories.stream(entry.incarnations):
                batches.append(await asyncio.to_thread(state.score, batch))
                if sum(len(scored_batch.rows) for scored_batch in batches) >= ROWS_PER_LOAD_BATCH:
                    await asyncio.to_thread(state.add_batches, batches)
                    batches = []
            state.add_batches(batches)
            entry.state = state
        finally:
            previous, entry.load_task, entry.previous = entry.previous, None, None
            if entry.state is None and self._entries.get(entry.name) is entry:
                self._remove(entry.name)
                if previous is not None:
                    self._insert(previous)
        self._evict(keep=entry)

    async def _classifier_for(self, bucket_definitions: Mapping[str, str]) -> _CachedClassifier:
        key = tuple(bucket_definitions.items())
        cached = self._classifiers.get(key)
        if cached is None:
            self._topics = self._topics or await topic_vectors(self._embedder)
            cached = self._classifiers[key] = _CachedClassifier(
                await build_classifier(self._embedder, bucket_definitions, self._topics)
            )
        self._classifiers.move_to_end(key)
        while len(self._classifiers) > MAX_CACHED_CLASSIFIERS:
            self._classifiers.popitem(last=False)
        return cached

    def _apply_pending(self, entry: _CacheEntry) -> None:
        if entry.state is not None and entry.pending_changes:
            changes, entry.pending_changes = entry.pending_changes, {}
            entry.state.apply_changes(changes.items())
            entry.snapshot = None

    def _on_memories_change(self, rows_by_id: Mapping[str, list[MemoryRow]]) -> None:
        for memory_id, rows in rows_by_id.items():
            for entry in self._affected_entries(memory_id, rows):
                for target in (entry, *([] if entry.previous is None else [entry.previous])):
                    target.pending_changes[memory_id] = rows[0] if rows else None
                    if len(target.pending_changes) >= MAX_PENDING_CHANGES:
                        self._apply_pending(target)

    def _affected_entries(self, memory_id: str, rows: Sequence[MemoryRow]) -> list[_CacheEntry]:
        """Return the entries that hold the memory; a deletion does not tell its incarnation."""
        if rows:
            entry = self._entries_by_incarnation.get(rows[0].incarnation)
            return [] if entry is None else [entry]
        return [
            entry
            for entry in self._entries.values()
            if entry.state is None or memory_id in entry.pending_changes or memory_id in entry.state.facts
        ]

    def _on_documents_change(self, rows_by_key: Mapping[str, list[DocumentRow]]) -> None:
        for key, rows in rows_by_key.items():
            if rows and key not in self._deleted_documents:
                continue
            if rows:
                del self._deleted_documents[key]
            else:
                self._deleted_documents[key] = None
            for entry in self._entries.values():
                entry.snapshot = None
                if entry.previous is not None:
                    entry.previous.snapshot = None
        while len(self._deleted_documents) > MAX_DELETED_DOCUMENTS:
            self._deleted_documents.popitem(last=False)

    def _evict(self, keep: _CacheEntry) -> None:
        weights = {
            entry.name: MIN_ENTRY_WEIGHT + len(entry.state.facts)
            for entry in self._entries.values()
            if entry.state is not None
        }
        for name, weight in list(weights.items()):
            if sum(weights.values()) <= self._capacity:
                return
            if self._entries[name] is not keep:
                self._remove(name)
                weights[name] -= weight

    def _remove(self, name: str) -> None:
        entry = self._entries.pop(name, None)
        for incarnation in entry.incarnations if entry else ():
            if self._entries_by_incarnation.get(incarnation) is entry:
                del self._entries_by_incarnation[incarnation]


def _log_load_failure(load_task: "asyncio.Task[None]") -> None:
    """Log a failed load that possibly nobody awaits; the next request loads again."""
    if not load_task.cancelled() and (error := load_task.exception()) is not None:
        log.warning("Loading the memories of a namespace for its profile failed: %s", error)
