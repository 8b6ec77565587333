"""A namespace too large to be held: every question reads its rows from the store, batch by batch.

Exact, and slow: two readings a question (what its words weigh, then the scores). The functions that score
are those of the namespaces in memory, so both give the same answers.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from pipeline.index.candidates import Part, Scored, best_of, candidates, detached, passed
from pipeline.index.documents import DocumentSide
from pipeline.index.finding import find, latest, nearest, newest
from pipeline.index.hits import Hit, Relatives, Remembered, Wanted
from pipeline.index.live import SEGMENT_ROWS, Visible, chunk_owners, look, memory_owners
from pipeline.index.parameters import CANDIDATES
from pipeline.index.relatives import related
from pipeline.index.scoring import Question, Statistics
from pipeline.index.segments import pieces, segment
from pipeline.ports import Chunks, Documents, Memories
from pipeline.rows import ChunkColumns, MemoryColumns, Vector
from schemas.filters import FilterExpression


class StreamedNamespace:
    """The rows of one namespace, in the store. Made for one question and then dropped."""

    def __init__(
        self, documents: DocumentSide, chunks: Chunks, memories: Memories, spaces: Sequence[str]
    ) -> None:
        self.documents = documents
        self._chunks = chunks
        self._memories = memories
        self._spaces = spaces

    @classmethod
    async def open(
        cls, documents: Documents, chunks: Chunks, memories: Memories, spaces: Sequence[str]
    ) -> "StreamedNamespace":
        """Read the documents; rows come when asked for."""
        columns = await documents.columns(spaces)
        return cls(await asyncio.to_thread(DocumentSide, columns), chunks, memories, spaces)

    async def statistics(self, terms: Collection[int]) -> Statistics:
        """What the rows that can be seen say about these terms."""
        counted = Statistics(dict.fromkeys(terms, 0))
        async for chunk in self._chunk_parts(vectors=False):
            counted.add("chunk", chunk.segment.postings, chunk.mask, chunk.documents)
        async for memory in self._memory_parts(vectors=False):
            counted.add("memory", memory.segment.postings, memory.mask, memory.documents)
        return counted

    async def search(self, question: Question, wanted: Wanted) -> list[Hit]:
        """The rows that answer best, best first."""
        found: list[Scored] = []
        async for part in self._parts(wanted):
            passing = None if wanted.filter is None else self.documents.mask(wanted.filter)
            found += await asyncio.to_thread(self._candidates, question, wanted, passing, part)
            found = best_of(found, max(wanted.limit, CANDIDATES))
        return await asyncio.to_thread(find, question, wanted, self.documents, found)

    def _candidates(
        self, question: Question, wanted: Wanted, passing: NDArray[np.bool_] | None, part: Part
    ) -> list[Scored]:
        return detached(candidates(question, wanted, self.documents, passing, [part]))

    async def nearest(self, vector: Vector, limit: int) -> list[tuple[str, float]]:
        """Ids of the newest, not forgotten memories with their cosine, best first."""
        found: list[tuple[str, float]] = []
        async for part in self._memory_parts():
            found += nearest([part], vector, limit)
            found = sorted(found, key=lambda one: (-one[1], one[0]))[:limit]
        return found

    async def newest(self, expression: FilterExpression | None, limit: int) -> list[Remembered]:
        """The newest current memories, at most `limit` that last and `limit` that do not, newest first."""
        found: list[Remembered] = []
        async for part in self._memory_parts():
            passing = None if expression is None else self.documents.mask(expression)
            seen = passed([part], self.documents, passing)
            found = latest([*found, *await asyncio.to_thread(newest, seen, limit)], limit)
        return found

    async def relatives(
        self, ids: Sequence[str], expression: FilterExpression | None, *, forgotten: bool
    ) -> dict[str, Relatives]:
        """The direct relations of memories, as far as they pass the filter."""
        parts = [part async for part in self._memory_parts(vectors=False)]
        return await asyncio.to_thread(related, self.documents, parts, ids, expression, forgotten=forgotten)

    async def _parts(self, wanted: Wanted) -> AsyncIterator[Part]:
        if "chunk" in wanted.regarded:
            async for chunk in self._chunk_parts():
                yield chunk
        if "memory" in wanted.regarded:
            async for memory in self._memory_parts():
                yield memory

    async def _chunk_parts(self, *, vectors: bool = True) -> AsyncIterator[Visible[ChunkColumns]]:
        async for batch in self._chunks.stream(self._spaces, vectors=vectors):
            for piece in pieces(batch, SEGMENT_ROWS):
                yield await asyncio.to_thread(self._chunk_part, piece)

    async def _memory_parts(self, *, vectors: bool = True) -> AsyncIterator[Visible[MemoryColumns]]:
        async for batch in self._memories.stream(self._spaces, vectors=vectors):
            for piece in pieces(batch, SEGMENT_ROWS):
                yield await asyncio.to_thread(self._memory_part, piece)

    def _chunk_part(self, batch: ChunkColumns) -> Visible[ChunkColumns]:
        return look(segment(batch, chunk_owners(self.documents, batch)), self.documents)

    def _memory_part(self, batch: MemoryColumns) -> Visible[MemoryColumns]:
        return look(segment(batch, memory_owners(self.documents, batch)), self.documents)
