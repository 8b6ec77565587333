"""Cache of namespace indexes: loaded on demand, updated by change notifications, evicted, saved as snapshots."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

from pipeline.errors import OutageError
from pipeline.index.namespace_index import NamespaceIndex
from pipeline.index.namespace_index_loader import NamespaceIndexLoader
from pipeline.index.pending_changes import ChangeKind, PendingChanges
from pipeline.index.ranking.shared_term_search import SharedTermSearch
from pipeline.index.segments.memory_key_lookup import find_memories_by_keys
from pipeline.index.segments.mmap_store import MmapStore
from pipeline.index.snapshots.index_arrays import CapturedIndex
from pipeline.index.snapshots.index_snapshots import SnapshotOptions
from pipeline.index.snapshots.snapshot_file import DamagedSnapshotError
from pipeline.ports import Catalog, ChunkTable, DocumentTable, LexicalNeighborSearch, MemoryTable
from pipeline.rows import MemoryRow, NamespaceRow, Vector
from pipeline.runtime.fair_event_loop import call_soon_background

MAX_PENDING_CHANGES = 16_384
"""Keys and rows; a namespace with more changes between two searches is dropped and loaded again."""
_APPLY_BATCH_SIZE = 256
"""Keys applied between two yields to the event loop."""
_MAX_EAGER_CHANGES = 16
"""Keys applied at once, without waiting for the next search, to recently searched namespaces."""
_RECENT_SEARCH_SECONDS = 1.0
MIN_SNAPSHOT_ROWS = 100
"""Rows from which an index is worth a file."""
_MIN_UNSAVED_CHANGES = 256
_UNSAVED_DIVISOR = 8
"""A snapshot is written again after as many changes as an eighth of its rows: reading them takes milliseconds."""
_QUIET_SECONDS = 0.5
_MAX_SAVE_DELAY_SECONDS = 60.0
"""Longest wait of a snapshot for a moment without searches."""
_CHECK_SECONDS = 900.0
_PAUSE_SECONDS = 0.005
_CLOSING_SECONDS = 5.0
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IndexCacheStats:
    nbytes: int
    namespaces: int
    hits: int
    misses: int


@dataclass(eq=False, slots=True)
class _CacheEntry:
    """A namespace that is loaded or being loaded (`load_task`)."""

    name: str
    incarnations: tuple[str, ...]
    pending: PendingChanges = field(default_factory=PendingChanges)
    load_task: "asyncio.Task[None] | None" = None
    index: NamespaceIndex | None = None
    nbytes: int = 0
    last_searched_at: float = -inf
    """Monotonic seconds (`perf_counter`)."""
    apply_scheduled: bool = False
    unsaved: float = 0.0
    """Changes since the snapshot was written; infinite without one."""
    save_due_at: float = inf
    """Monotonic seconds from which a snapshot is written even while others search."""

    def may_contain(self, document_key: str) -> bool:
        """Tell whether the namespace has, had or may have the document."""
        is_pending = document_key in self.pending.documents or document_key in self.pending.chunks
        return is_pending or self.index is None or self.index.documents.has_ordinal(document_key)


class NamespaceIndexCache:
    """Indexes by namespace name, within `limit_bytes` in total.

    A namespace that is larger by itself is mapped from files in `folder`; only the data that every search
    reads stays in memory.

    Table changes are recorded synchronously, also while a namespace is loading, and applied before the next
    search. All calls belong to the event loop that runs the tables.

    With `snapshots`, `run` writes the indices beside the tables, where the next load finds them.
    """

    def __init__(
        self,
        documents: DocumentTable,
        chunks: ChunkTable,
        memories: MemoryTable,
        catalog: Catalog,
        limit_bytes: int,
        *,
        folder: Path,
        snapshots: SnapshotOptions | None = None,
    ) -> None:
        self._documents = documents
        self._memories = memories
        self._catalog = catalog
        self._limit_bytes = limit_bytes
        mmap_store = MmapStore(folder)
        self._snapshots = snapshots.open(folder, limit_bytes, mmap_store) if snapshots else None
        self._max_outdated_seconds = snapshots.max_outdated_seconds if snapshots else inf
        self._closed = False
        self.loader = NamespaceIndexLoader(documents, chunks, memories, limit_bytes, mmap_store, self._snapshots)
        self._save_wanted = asyncio.Event()
        self._verifying: set[asyncio.Task[None]] = set()
        self._last_search_at = -inf
        self._entries: OrderedDict[str, _CacheEntry] = OrderedDict()
        self._by_incarnation: dict[str, _CacheEntry] = {}
        self._lookups = self._hits = 0
        documents.subscribe(partial(self._on_changed, "documents"), self._by_incarnation.__contains__)
        chunks.subscribe(partial(self._on_changed, "chunks"), self._by_incarnation.__contains__)
        memories.subscribe(partial(self._on_changed, "memories"), self._by_incarnation.__contains__)

    @property
    def nbytes(self) -> int:
        return sum(entry.nbytes for entry in self._entries.values())

    @property
    def cached_namespaces(self) -> list[str]:
        """The namespaces that are held, least recently used first."""
        return [entry.name for entry in self._entries.values() if entry.index is not None]

    @property
    def stats(self) -> IndexCacheStats:
        return IndexCacheStats(self.nbytes, len(self.cached_namespaces), self._hits, self._lookups - self._hits)

    async def open(self, namespace: NamespaceRow) -> NamespaceIndex:
        """The namespace's index, loaded and with every change so far applied."""
        entry = self._entries.get(namespace.name)
        self._lookups += 1
        self._hits += entry is not None and entry.index is not None and entry.incarnations == namespace.incarnations
        index = await self._load_up_to_date(namespace)
        self._entries[namespace.name].last_searched_at = self._last_search_at = perf_counter()
        return index

    async def nearest(self, namespace: str, vector: Vector, limit: int) -> list[tuple[MemoryRow, float]]:
        row = self._catalog.namespace(namespace)
        if row is None:
            return []
        await self._refresh(row)
        neighbors = await (await self.open(row)).nearest_memories(vector, limit)
        rows = await self._memories.get([id_ for id_, _ in neighbors])
        return [(rows[id_][0], cosine) for id_, cosine in neighbors if rows.get(id_)]

    async def neighbor_search(self, namespace: str) -> LexicalNeighborSearch | None:
        row = self._catalog.namespace(namespace)
        if row is None:
            return None
        await self._refresh(row)
        index = await self._load_up_to_date(row)
        return SharedTermSearch(index.memories.snapshot(), index.documents)

    async def find_by_keys(self, incarnations: Sequence[str], keys: Collection[str]) -> list[MemoryRow]:
        row = self._catalog.namespace_of(incarnations[0]) if incarnations else None
        if row is None:
            return []
        await self._refresh(row)
        index = await self._load_up_to_date(row)
        return find_memories_by_keys(index.memories.snapshot(), index.documents, incarnations, keys)

    async def run(self) -> None:
        """Write snapshots while nobody searches, and remove outdated ones, until `close`."""
        checked_at = perf_counter()
        while not self._closed:
            with suppress(TimeoutError):
                async with asyncio.timeout(_CHECK_SECONDS):
                    await self._save_wanted.wait()
            self._save_wanted.clear()
            if perf_counter() - checked_at >= _CHECK_SECONDS:
                checked_at = perf_counter()
                try:
                    await self.erase_snapshots(self._max_outdated_seconds)
                except (OSError, OutageError) as error:
                    log.warning("Snapshots of the index could not be compared with the tables: %s", error)
            for entry in [entry for entry in self._entries.values() if entry.save_due_at < inf]:
                await self._wait_for_quiet(entry)
                if not self._closed:
                    await self._save(entry)

    async def close(self) -> None:
        """End `run`, and write what changed much since its snapshot, within seconds."""
        self._closed = True
        self._save_wanted.set()
        for entry in sorted(self._entries.values(), key=lambda entry: -entry.unsaved):
            if self._snapshots is not None and entry.index is not None and entry.unsaved >= _MIN_UNSAVED_CHANGES:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_CLOSING_SECONDS):
                        await self._save(entry)
        for task in self._verifying:
            task.cancel()
        await asyncio.gather(*self._verifying, return_exceptions=True)

    async def save(self, name: str) -> bool:
        """Write the snapshot of a cached namespace now; False if that is not possible."""
        entry = self._entries.get(name)
        return entry is not None and await self._save(entry)

    async def erase_snapshots(self, older_than: float = 0.0) -> None:
        """Remove snapshots that hold deleted rows, and write those of cached namespaces anew without them."""
        if self._snapshots is None:
            return
        removed = await self._snapshots.remove_outdated(
            lambda incarnation: self._catalog.namespace_of(incarnation) is not None, older_than
        )
        for entry in list(self._entries.values()):
            row = self._catalog.namespace(entry.name)
            if row is None or row.incarnations != entry.incarnations:
                self._drop(entry.name)
                continue
            # One whose file is gone may still map it, and the system keeps a file as long as it is mapped.
            is_mapped = 0 < entry.unsaved < inf and not older_than
            if (is_mapped or entry.incarnations in removed) and not await self._save(entry, reopen=True):
                self._drop(entry.name)

    async def _save(self, entry: _CacheEntry, *, reopen: bool = False) -> bool:
        """Write the snapshot of an entry, perhaps to map it; False if that is not possible now."""
        entry.save_due_at = inf
        if (snapshots := self._snapshots) is None:
            return False
        try:
            await snapshots.track(entry.incarnations)
            while entry.pending or entry.load_task is not None:
                if entry.load_task is not None:
                    await asyncio.shield(entry.load_task)
                await self._apply_pending(entry)
            positions = snapshots.positions(entry.incarnations)
            if self._entries.get(entry.name) is not entry or entry.index is None or positions is None:
                return False
            captured, entry.unsaved = CapturedIndex.capture(entry.index), 0.0
            path = await snapshots.write(entry.incarnations, captured, positions, self._pause_while_searched)
            if path is None or not (reopen or captured.is_spilled):
                return path is not None
            # Mapped from the snapshot from now on: one file instead of two, and none of deleted rows.
            index = await snapshots.reopen(path)
            if self._entries.get(entry.name) is not entry or entry.index.revision != captured.revision:
                return False
            index.revision = captured.revision
            entry.index = index
        except (DamagedSnapshotError, OSError, OutageError) as error:
            log.warning("The index of namespace %s could not be saved: %s", entry.name, error)
            entry.unsaved = inf
            return False
        self._update_size(entry)
        return True

    def _schedule_save(self, entry: _CacheEntry) -> None:
        if self._snapshots is not None and entry.save_due_at == inf and _is_much_unsaved(entry):
            entry.save_due_at = perf_counter() + _MAX_SAVE_DELAY_SECONDS
            self._save_wanted.set()

    async def _wait_for_quiet(self, entry: _CacheEntry) -> None:
        while not self._closed and self._is_searched and perf_counter() < entry.save_due_at:  # noqa: ASYNC110 - silence has no event
            await asyncio.sleep(_QUIET_SECONDS / 2)

    @property
    def _is_searched(self) -> bool:
        return perf_counter() - self._last_search_at < _QUIET_SECONDS

    def _pause_while_searched(self) -> None:
        """Called by the writing thread after each megabyte."""
        sleep(_PAUSE_SECONDS if self._is_searched else 0.0)

    def _verify_later(self, entry: _CacheEntry, path: Path) -> None:
        async def verify() -> None:
            if self._snapshots is not None and not await self._snapshots.verify(path):
                self._drop(entry.name)

        task = asyncio.create_task(verify())
        self._verifying.add(task)
        task.add_done_callback(self._verifying.discard)

    async def _refresh(self, namespace: NamespaceRow) -> None:
        """Hear of changes by other processes before a stage compares memories: its process may follow them late."""
        await asyncio.gather(
            self._documents.refresh(namespace.incarnations), self._memories.refresh(namespace.incarnations)
        )

    async def _load_up_to_date(self, namespace: NamespaceRow) -> NamespaceIndex:
        """Load the namespace unless it is loaded, and apply its pending changes."""
        while True:
            # The namespace may have been moved, or its entry dropped, during the previous iteration.
            entry = self._entry(self._catalog.namespace(namespace.name) or namespace)
            if entry.load_task is not None:
                # Shielded: a cancelled caller must not cancel the load for the others.
                await asyncio.shield(entry.load_task)
            await self._apply_pending(entry)
            if self._entries.get(entry.name) is entry and entry.load_task is None and entry.index is not None:
                return entry.index

    def _entry(self, namespace: NamespaceRow) -> _CacheEntry:
        """The entry for the namespace's current incarnations; a new one starts loading."""
        entry = self._entries.get(namespace.name)
        if entry is None or entry.incarnations != namespace.incarnations:
            self._drop(namespace.name)
            entry = _CacheEntry(namespace.name, namespace.incarnations)
            self._entries[namespace.name] = entry
            for incarnation in namespace.incarnations:
                # A request that began before a move takes no changes away from the namespace they moved to.
                if self._catalog.namespace(namespace.name) is not None or incarnation not in self._by_incarnation:
                    self._by_incarnation[incarnation] = entry
            entry.load_task = asyncio.create_task(self._load(entry))
        self._entries.move_to_end(namespace.name)
        return entry

    async def _load(self, entry: _CacheEntry) -> None:
        loaded = False
        try:
            opened = await self.loader.open(entry.incarnations)
            entry.index, entry.unsaved, loaded = opened.index, opened.unsaved, True
            if opened.unverified is not None:
                self._verify_later(entry, opened.unverified)
            self._schedule_save(entry)
        finally:
            entry.load_task = None
            if not loaded and self._entries.get(entry.name) is entry:
                self._drop(entry.name)
        self._update_size(entry)

    async def _apply_pending(self, entry: _CacheEntry) -> None:
        """Apply pending changes in batches, so that many of them do not block the event loop."""
        while entry.pending:
            changes = entry.pending.take_batch(_APPLY_BATCH_SIZE)
            if entry.index is not None:
                self._apply(entry, entry.index, changes)
            if entry.pending:
                await asyncio.sleep(0)
        while entry.index is not None and entry.index.spill_next_segment():
            self._update_size(entry)
            await asyncio.sleep(0)

    def _apply(self, entry: _CacheEntry, index: NamespaceIndex, changes: PendingChanges) -> None:
        entry.unsaved += len(changes)
        try:
            index.apply_changes(changes)
        except OutageError:
            # The batch is only partly applied, so everything is loaded again.
            self._drop(entry.name)
            raise
        self._update_size(entry)
        self._schedule_save(entry)
        # Spilled indexes are kept: loading takes long, and removed documents take little of their memory.
        if index.documents.fragmented and not index.is_spilled:
            self._drop(entry.name)

    def _update_size(self, entry: _CacheEntry) -> None:
        """Update the size of an entry; spill it when it is too large, and evict others until all fit."""
        entry.nbytes = 0 if entry.index is None else entry.index.nbytes
        if entry.index is not None and entry.nbytes > self._limit_bytes:
            entry.index.spill_to_disk(self.loader.mmap_store)
        self._evict_excess(entry)

    def _evict_excess(self, entry: _CacheEntry) -> None:
        total_bytes = self.nbytes
        for other in list(self._entries.values()):
            deleted = self._catalog.namespace(other.name) is None
            excess = total_bytes > self._limit_bytes and other.index is not None
            if other is not entry and (deleted or excess):
                total_bytes -= other.nbytes
                self._drop(other.name)

    def _drop(self, name: str) -> None:
        entry = self._entries.pop(name, None)
        for incarnation in entry.incarnations if entry else ():
            if self._by_incarnation.get(incarnation) is entry:
                del self._by_incarnation[incarnation]

    def _on_changed(self, kind: ChangeKind, rows_by_key: Mapping[str, list[Any]]) -> None:
        for key, rows in rows_by_key.items():
            document = key if kind != "memories" else None
            for entry in self._affected_entries(rows[0].incarnation if rows else None, document):
                entry.pending.record(kind, key, rows)
                self._drop_if_far_behind(entry)
                if kind != "documents":
                    self._schedule_eager_apply(entry)

    def _affected_entries(self, incarnation: str | None, document_key: str | None) -> list[_CacheEntry]:
        """The entries that a change affects; a deletion carries no incarnation, so all that may have the key."""
        if incarnation is not None:
            entry = self._by_incarnation.get(incarnation)
            return [entry] if entry is not None else []
        return [entry for entry in self._entries.values() if document_key is None or entry.may_contain(document_key)]

    def _drop_if_far_behind(self, entry: _CacheEntry) -> None:
        if entry.pending.recorded > MAX_PENDING_CHANGES and entry.load_task is None:
            self._drop(entry.name)

    def _schedule_eager_apply(self, entry: _CacheEntry) -> None:
        """Apply changes soon in a recently searched namespace, so that the next search need not."""
        if not entry.apply_scheduled and perf_counter() - entry.last_searched_at < _RECENT_SEARCH_SECONDS:
            entry.apply_scheduled = True
            call_soon_background(self._apply_eagerly, entry)

    def _apply_eagerly(self, entry: _CacheEntry) -> None:
        entry.apply_scheduled = False
        index = entry.index
        if index is None or index.is_spilled or entry.load_task is not None or len(entry.pending) > _MAX_EAGER_CHANGES:
            return
        if self._entries.get(entry.name) is entry:
            # The next search loads the namespace again and reports the error.
            with suppress(OutageError):
                self._apply(entry, index, entry.pending.take_batch(_MAX_EAGER_CHANGES))


def _is_much_unsaved(entry: _CacheEntry) -> bool:
    if entry.index is None or (rows := len(entry.index)) < MIN_SNAPSHOT_ROWS:
        return False
    return entry.unsaved >= max(_MIN_UNSAVED_CHANGES, rows // _UNSAVED_DIVISOR)
