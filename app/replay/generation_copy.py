"""Copies rows from the served generation instead of rebuilding them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from pipeline.ports import Embedder
from pipeline.rows import ChunkRow, MemoryRow
from pipeline.stages.chunk_rows import embed_in_batches, with_title_and_heading
from pipeline.store import Store
from pipeline.store.generations.replay_request import ReplayRequest
from pipeline.store.lancedb.row_codec import in_incarnations
from pipeline.store.lancedb.sharded_table import ShardedTable
from schemas.events import ChunkSpan

T = TypeVar("T")
KEYS_PER_BATCH = 1024


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
        incarnations = target.catalog.incarnations()
        source = self.source

        async def with_new_vectors(rows: list[ChunkRow]) -> list[ChunkRow]:
            return await self._with_new_chunk_vectors(rows, target)

        async for count in _copy_rows(source.documents, target.documents, incarnations, _unchanged):
            yield count
        async for count in _copy_rows(source.chunks, target.chunks, incarnations, with_new_vectors):
            yield count
        if self.include_memories:
            change = self._with_new_memory_vectors
            async for count in _copy_rows(source.memories, target.memories, incarnations, change):
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


async def _copy_rows(
    source: ShardedTable[T],
    target: ShardedTable[T],
    incarnations: Sequence[str],
    transform: Callable[[list[T]], Awaitable[list[T]]],
) -> AsyncIterator[int]:
    """Copy the rows of these incarnations; yields the number of keys of each batch.

    `transform` makes the new rows of a batch. Keys deleted meanwhile are left out.
    """
    key_column = source.codec.entity_key_column
    snapshot, stored = await source.scan(incarnations, in_incarnations(incarnations), [key_column])
    fresh = (source.codec.entity_key_of(row) for row in source.unflushed_rows(snapshot, incarnations))
    keys = sorted({*stored.column(key_column).to_pylist(), *fresh})
    for begin in range(0, len(keys), KEYS_PER_BATCH):
        found = await source.get(keys[begin : begin + KEYS_PER_BATCH])
        rows = await transform([row for members in found.values() for row in members])
        rows_by_key = target.codec.group_by_entity_key(rows)
        await target.update(list(rows_by_key), partial(_replacement, rows_by_key))
        yield len(found)


def _replacement(rows_by_key: dict[str, list[T]], key: str, _: list[T]) -> Sequence[T]:
    return rows_by_key[key]
