"""One namespace: its documents, chunks and memories, held or mapped, searched where they lie."""

import asyncio
from collections.abc import Collection, Mapping, Sequence

from pipeline.columns import chunk_columns, memory_columns
from pipeline.index.candidates import Found, Look, Part, few, hands, passed
from pipeline.index.changes import Changes
from pipeline.index.documents import DocumentSide
from pipeline.index.finding import find, nearest, newest
from pipeline.index.hits import Hit, Kind, Relatives, Remembered, Wanted
from pipeline.index.live import LiveRows, by_document, by_id, chunk_owners, memory_owners
from pipeline.index.relatives import related
from pipeline.index.scoring import Question, Statistics
from pipeline.index.shelf import Shelf
from pipeline.rows import (
    ChunkColumns,
    ChunkRow,
    DocumentColumns,
    MemoryColumns,
    Vector,
)
from schemas.filters import FilterExpression

INLINE_ROWS = 20_000
"""Above, a search would hold up the loop."""
HANDS = 2
"""Threads that share one search: numpy works without the interpreter's lock."""


class NamespaceIndex:
    """The rows of one namespace."""

    def __init__(self, documents: DocumentColumns) -> None:
        self.documents = DocumentSide(documents)
        self.chunks = LiveRows[ChunkColumns]("chunk", self.documents, chunk_owners)
        self.memories = LiveRows[MemoryColumns]("memory", self.documents, memory_owners)
        self.settled = 0
        """How often changes were worked in: what was made of the rows meanwhile is what they say."""
        self._looking = 0

    def __len__(self) -> int:
        return len(self.chunks) + len(self.memories)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.documents.nbytes + self.chunks.nbytes + self.memories.nbytes

    @property
    def small(self) -> bool:
        """Whether a search takes less time than handing it to a thread."""
        return len(self) <= INLINE_ROWS

    @property
    def shelved(self) -> bool:
        """Whether it is mapped but for what is small."""
        return self.documents.shelved

    def shelve(self, shelf: Shelf) -> None:
        """From now on hold only what every search reads, and map what comes; `map_next` what is held."""
        self.documents.shelve(shelf)
        self.chunks.shelve(shelf)
        self.memories.shelve(shelf)

    def map_next(self) -> bool:
        """Map a segment that waits for it; False when none did."""
        return self.chunks.map_next() or self.memories.map_next()

    def settle(self, changes: Changes) -> None:
        """Work in what has changed. Afterwards every search sees it."""
        self.settled += 1
        came_or_went = self.documents.apply(changes.documents)
        if changes.chunks:
            self._replace_chunks(changes.chunks)
        if changes.memories:
            self.memories.remove(by_id(changes.memories.keys()))
            self.memories.add(memory_columns([row for rows in changes.memories.values() for row in rows]))
        self.chunks.settle()
        self.memories.settle()
        if len(came_or_went):
            self.chunks.refresh(came_or_went)
            self.memories.refresh(came_or_went)

    async def statistics(self, terms: Collection[int]) -> Statistics:
        """What the rows that can be seen say about these terms."""
        counted = Statistics(dict.fromkeys(terms, 0))
        self.chunks.count(counted)
        self.memories.count(counted)
        return counted

    async def search(self, question: Question, wanted: Wanted) -> list[Hit]:
        """The rows that answer best, best first."""
        parts = self._parts(wanted.regarded)
        passing = None if wanted.filter is None else self.documents.mask(wanted.filter)
        look = Look(question, wanted, self.documents, passing, few(parts))
        found = look.at(parts) if self.small else await self._look(look, parts)
        return find(question, wanted, self.documents, look.candidates(found))

    async def _look(self, look: Look, parts: Sequence[Part]) -> list[Found]:
        """In threads: more than one only where nobody else searches here, who would wait for it."""
        self._looking += 1
        try:
            groups = hands(parts, HANDS if self._looking == 1 else 1)
            looked = await asyncio.gather(*(asyncio.to_thread(look.at, some) for some in groups))
        finally:
            self._looking -= 1
        return [one for some in looked for one in some]

    async def nearest(self, vector: Vector, limit: int) -> list[tuple[str, float]]:
        """Ids of the newest, not forgotten memories with their cosine, best first."""
        return nearest(self.memories.view(), vector, limit)

    async def newest(self, expression: FilterExpression | None, limit: int) -> list[Remembered]:
        """The newest current memories, at most `limit` that last and `limit` that do not, newest first."""
        passing = None if expression is None else self.documents.mask(expression)
        return newest(passed(self.memories.view(), self.documents, passing), limit)

    async def relatives(
        self, ids: Sequence[str], expression: FilterExpression | None, *, forgotten: bool
    ) -> dict[str, Relatives]:
        """The direct relations of memories, as far as they pass the filter."""
        return related(self.documents, self.memories.view(), ids, expression, forgotten=forgotten)

    def _replace_chunks(self, groups: Mapping[str, list[ChunkRow]]) -> None:
        known = [key for key in groups if self.documents.knows(key)]
        if known:
            self.chunks.remove(by_document(self.documents.ordinals(known)))
        self.chunks.add(chunk_columns([row for rows in groups.values() for row in rows]))

    def _parts(self, kinds: Collection[Kind]) -> list[Part]:
        chunks = self.chunks.view() if "chunk" in kinds else ()
        memories = self.memories.view() if "memory" in kinds else ()
        return [*chunks, *memories]
