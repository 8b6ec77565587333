"""What a replay takes over from the tables that are served instead of making it again."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import TypeVar

from pipeline.ports import Embedder
from pipeline.rows import ChunkRow, MemoryRow
from pipeline.stages.embed import in_context, vectors_of
from pipeline.store import Store
from pipeline.store.copying import copied
from schemas.events import ChunkSpan

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Copying:
    """Documents and chunks from `old`, with `memories` these too. `embedder`: their vectors are made anew."""

    old: Store
    memories: bool = False
    embedder: Embedder | None = None

    async def into(self, new: Store) -> AsyncIterator[int]:
        """Copy all that somebody owns; after each portion, how many groups it had."""
        spaces = [space for row in new.catalog.namespaces() for space in row.spaces]
        old = self.old
        async for count in copied(old.documents, new.documents, spaces, _unchanged):
            yield count

        async def embedded(rows: list[ChunkRow]) -> list[ChunkRow]:
            return await self._embedded(rows, new)

        async for count in copied(old.chunks, new.chunks, spaces, embedded):
            yield count
        if self.memories:
            async for count in copied(old.memories, new.memories, spaces, self._remembered):
                yield count

    async def _embedded(self, rows: list[ChunkRow], new: Store) -> list[ChunkRow]:
        if self.embedder is None:
            return rows
        documents = await new.documents.get({row.document for row in rows})
        titles = {key: found[0].title for key, found in documents.items() if found}
        texts = [in_context(titles.get(row.document), _span(row)) for row in rows]
        vectors = await vectors_of(texts, self.embedder)
        return [replace(row, vector=vector) for row, vector in zip(rows, vectors, strict=True)]

    async def _remembered(self, rows: list[MemoryRow]) -> list[MemoryRow]:
        if self.embedder is None:
            return rows
        vectors = await vectors_of([row.text for row in rows], self.embedder)
        return [replace(row, vector=vector) for row, vector in zip(rows, vectors, strict=True)]


def _span(row: ChunkRow) -> ChunkSpan:
    return ChunkSpan(start=row.start, end=row.end, text=row.text, heading=row.heading)


async def _unchanged(rows: list[T]) -> list[T]:
    return rows
