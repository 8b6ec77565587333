"""Copies rows from the served generation instead of rebuilding them."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import TypeVar

from pipeline.ports import Embedder
from pipeline.rows import ChunkRow, MemoryRow
from pipeline.stages.chunk_rows import embed_in_batches, with_title_and_heading
from pipeline.store import Store
from pipeline.store.generations.replay_request import ReplayRequest
from pipeline.store.generations.row_copy import copy_rows
from schemas.events import ChunkSpan

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class GenerationCopy:
    """Copy of documents and chunks, optionally of memories; `embedder` computes new vectors for them."""

    source: Store
    include_memories: bool = False
    embedder: Embedder | None = None

    @classmethod
    def of_request(cls, request: ReplayRequest | None, source: Store, embedder: Embedder) -> "GenerationCopy | None":
        """Return what the request copies from the served tables; None if it rebuilds everything."""
        if request is None or not request.copies_documents:
            return None
        return cls(source, request.stage is not None, embedder if request.stage == "embed" else None)

    async def copy_into(self, target: Store) -> AsyncIterator[int]:
        """Copy the rows of all owned incarnations; yields the number of entity keys of each batch."""
        incarnations = [incarnation for row in target.catalog.namespaces() for incarnation in row.incarnations]
        source = self.source

        async def with_new_vectors(rows: list[ChunkRow]) -> list[ChunkRow]:
            return await self._with_new_chunk_vectors(rows, target)

        async for count in copy_rows(source.documents, target.documents, incarnations, _unchanged):
            yield count
        async for count in copy_rows(source.chunks, target.chunks, incarnations, with_new_vectors):
            yield count
        if self.include_memories:
            change = self._with_new_memory_vectors
            async for count in copy_rows(source.memories, target.memories, incarnations, change):
                yield count

    async def _with_new_chunk_vectors(self, rows: list[ChunkRow], target: Store) -> list[ChunkRow]:
        if self.embedder is None:
            return rows
        documents = await target.documents.get({row.document for row in rows})
        titles = {key: found[0].title for key, found in documents.items() if found}
        texts = [with_title_and_heading(titles.get(row.document), _chunk_span(row)) for row in rows]
        vectors = await embed_in_batches(texts, self.embedder)
        return [replace(row, vector=vector) for row, vector in zip(rows, vectors, strict=True)]

    async def _with_new_memory_vectors(self, rows: list[MemoryRow]) -> list[MemoryRow]:
        if self.embedder is None:
            return rows
        vectors = await embed_in_batches([row.text for row in rows], self.embedder)
        return [replace(row, vector=vector) for row, vector in zip(rows, vectors, strict=True)]


def _chunk_span(row: ChunkRow) -> ChunkSpan:
    return ChunkSpan(start=row.start, end=row.end, text=row.text, heading=row.heading, page=row.page)


async def _unchanged(rows: list[T]) -> list[T]:
    return rows
