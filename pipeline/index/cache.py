"""The hot cache: the namespaces searched last, in memory or mapped, kept true by the tables themselves."""

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from time import perf_counter

from pipeline.errors import OutageError
from pipeline.index.changes import Changes
from pipeline.index.keyed import keyed
from pipeline.index.loading import Loading
from pipeline.index.namespace import NamespaceIndex
from pipeline.index.sharing import Sharing
from pipeline.index.shelf import Shelf
from pipeline.ports import Catalog, Chunks, Documents, Memories, SharedWords
from pipeline.rows import ChunkRow, DocumentRow, MemoryRow, NamespaceRow, Vector
from pipeline.turns import soon

UNSEEN_CHANGES = 16_384
"""Groups and rows; a namespace that changes more between two searches is dropped and loaded again."""
_AT_ONCE = 256
"""Groups that are worked in before others may have the loop."""
_FEW = 16
"""Groups that are worked in as they come, where somebody searches."""
_SEARCHED_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Usage:
    """What the cache holds, and how often it was asked for what it held."""

    nbytes: int
    namespaces: int
    hits: int
    misses: int


@dataclass(eq=False, slots=True)
class _Entry:
    """A namespace that is loaded or being loaded (`loading`)."""

    name: str
    spaces: tuple[str, ...]
    changes: Changes = field(default_factory=Changes)
    loading: "asyncio.Task[None] | None" = None
    index: NamespaceIndex | None = None
    nbytes: int = 0
    asked: float = -inf
    """When it was searched last."""
    expected: bool = False
    """Whether its changes are about to be worked in."""

    def knows(self, document: str) -> bool:
        """Whether the document is, was or may be here."""
        noted = document in self.changes.documents or document in self.changes.chunks
        return noted or self.index is None or self.index.documents.knows(document)


class NamespaceCache:
    """Namespaces by name, least recently used first out, within `limit_bytes` together.

    What is larger by itself is mapped from files in `folder`, and what every search reads of it is held.

    A change of a table is noted in the instant it happens, also while its namespace is being loaded, and is
    worked in before the next search. All calls belong to the event loop that runs the tables.
    """

    def __init__(
        self,
        documents: Documents,
        chunks: Chunks,
        memories: Memories,
        catalog: Catalog,
        limit_bytes: int,
        *,
        folder: Path,
    ) -> None:
        self._memories = memories
        self._catalog = catalog
        self._limit = limit_bytes
        self.loading = Loading(documents, chunks, memories, limit_bytes, Shelf(folder))
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._by_space: dict[str, _Entry] = {}
        self._asked = self._hits = 0
        documents.subscribe(self._documents_changed, self._by_space.__contains__)
        chunks.subscribe(self._chunks_changed, self._by_space.__contains__)
        memories.subscribe(self._memories_changed, self._by_space.__contains__)

    @property
    def nbytes(self) -> int:
        """Bytes held by all namespaces."""
        return sum(entry.nbytes for entry in self._entries.values())

    @property
    def names(self) -> list[str]:
        """The namespaces that are held, least recently used first."""
        return [entry.name for entry in self._entries.values() if entry.index is not None]

    @property
    def usage(self) -> Usage:
        """For metrics."""
        return Usage(self.nbytes, len(self.names), self._hits, self._asked - self._hits)

    async def open(self, namespace: NamespaceRow) -> NamespaceIndex:
        """The namespace, ready to be searched, with every change made so far."""
        held = self._entries.get(namespace.name)
        self._asked += 1
        self._hits += held is not None and held.index is not None and held.spaces == namespace.spaces
        index = await self._true(namespace)
        self._entries[namespace.name].asked = perf_counter()
        return index

    async def nearest(self, namespace: str, vector: Vector, limit: int) -> list[tuple[MemoryRow, float]]:
        """As `ports.MemoryIndex`."""
        row = self._catalog.namespace(namespace)
        if row is None:
            return []
        found = await (await self.open(row)).nearest(vector, limit)
        rows = await self._memories.get([one for one, _ in found])
        return [(rows[one][0], cosine) for one, cosine in found if rows.get(one)]

    async def shared_words(self, namespace: str) -> SharedWords | None:
        """As `ports.WordIndex`."""
        row = self._catalog.namespace(namespace)
        if row is None:
            return None
        index = await self._true(row)
        return Sharing(index.memories.view(), index.documents)

    async def keyed(self, spaces: Sequence[str], keys: Collection[str]) -> list[MemoryRow]:
        """As `ports.KeyIndex`."""
        row = self._catalog.owner(spaces[0]) if spaces else None
        if row is None:
            return []
        index = await self._true(row)
        return keyed(index.memories.view(), index.documents, spaces, keys)

    async def _true(self, namespace: NamespaceRow) -> NamespaceIndex:
        """The namespace, loaded and with every change worked in."""
        while True:
            # While this waited, the namespace may have been moved, or its entry dropped.
            entry = self._entry(self._catalog.namespace(namespace.name) or namespace)
            if entry.loading is not None:
                # Shielded: a caller who goes away must not take the load from the others.
                await asyncio.shield(entry.loading)
            await self._settle(entry)
            if self._entries.get(entry.name) is entry and entry.loading is None and entry.index is not None:
                return entry.index

    def _entry(self, namespace: NamespaceRow) -> _Entry:
        """The entry for what the namespace owns now; a new one starts loading."""
        entry = self._entries.get(namespace.name)
        if entry is None or entry.spaces != namespace.spaces:
            self._drop(namespace.name)
            entry = _Entry(namespace.name, namespace.spaces)
            self._entries[namespace.name] = entry
            self._by_space.update(dict.fromkeys(namespace.spaces, entry))
            entry.loading = asyncio.create_task(self._load(entry))
        self._entries.move_to_end(namespace.name)
        return entry

    async def _load(self, entry: _Entry) -> None:
        loaded = False
        try:
            entry.index = await self.loading.load(entry.spaces)
            loaded = True
        finally:
            entry.loading = None
            if not loaded and self._entries.get(entry.name) is entry:
                self._drop(entry.name)
        self._weigh(entry)

    async def _settle(self, entry: _Entry) -> None:
        """Work in the changes, some at a time, so that many of them do not hold up the loop."""
        while entry.changes:
            changes = entry.changes.take(_AT_ONCE)
            if entry.index is not None:
                self._work_in(entry, entry.index, changes)
            if entry.changes:
                await asyncio.sleep(0)
        while entry.index is not None and entry.index.map_next():
            self._weigh(entry)
            await asyncio.sleep(0)

    def _work_in(self, entry: _Entry, index: NamespaceIndex, changes: Changes) -> None:
        try:
            index.settle(changes)
        except OutageError:
            # Only some of it is worked in, so everything is loaded again.
            self._drop(entry.name)
            raise
        self._weigh(entry)
        # What is mapped takes long to load, and holds little of what went.
        if index.documents.worn and not index.shelved:
            self._drop(entry.name)

    def _weigh(self, entry: _Entry) -> None:
        """Note what an entry weighs now, and let others go until all fit."""
        entry.nbytes = 0 if entry.index is None else entry.index.nbytes
        if entry.index is not None and entry.nbytes > self._limit:
            entry.index.shelve(self.loading.shelf)
        self._make_room(entry)

    def _make_room(self, entry: _Entry) -> None:
        held = self.nbytes
        for other in list(self._entries.values()):
            gone = self._catalog.namespace(other.name) is None
            if other is not entry and (gone or (held > self._limit and other.index is not None)):
                held -= other.nbytes
                self._drop(other.name)

    def _drop(self, name: str) -> None:
        entry = self._entries.pop(name, None)
        for space in entry.spaces if entry else ():
            if self._by_space.get(space) is entry:
                del self._by_space[space]

    def _documents_changed(self, groups: Mapping[str, list[DocumentRow]]) -> None:
        for key, rows in groups.items():
            for entry in self._concerned(rows[0].space if rows else None, key):
                entry.changes.document(key, rows)
                self._bound(entry)

    def _chunks_changed(self, groups: Mapping[str, list[ChunkRow]]) -> None:
        for key, rows in groups.items():
            for entry in self._concerned(rows[0].space if rows else None, key):
                entry.changes.chunk(key, rows)
                self._bound(entry)
                self._expect(entry)

    def _memories_changed(self, groups: Mapping[str, list[MemoryRow]]) -> None:
        for key, rows in groups.items():
            for entry in self._concerned(rows[0].space if rows else None, None):
                entry.changes.memory(key, rows)
                self._bound(entry)
                self._expect(entry)

    def _concerned(self, space: str | None, document: str | None) -> list[_Entry]:
        """The entries a change belongs to. What is gone no longer says its space: whoever may have had it."""
        if space is not None:
            entry = self._by_space.get(space)
            return [entry] if entry is not None else []
        return [entry for entry in self._entries.values() if document is None or entry.knows(document)]

    def _bound(self, entry: _Entry) -> None:
        if entry.changes.weight > UNSEEN_CHANGES and entry.loading is None:
            self._drop(entry.name)

    def _expect(self, entry: _Entry) -> None:
        """Where somebody searches, the next one should not have to work in what came since the last."""
        if not entry.expected and perf_counter() - entry.asked < _SEARCHED_SECONDS:
            entry.expected = True
            soon(self._work_in_few, entry)

    def _work_in_few(self, entry: _Entry) -> None:
        entry.expected = False
        index = entry.index
        if index is None or index.shelved or entry.loading is not None or len(entry.changes) > _FEW:
            return
        if self._entries.get(entry.name) is entry:
            # It is loaded again by the next search, which says what is wrong.
            with suppress(OutageError):
                self._work_in(entry, index, entry.changes.take(_FEW))
