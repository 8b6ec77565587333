"""A small world: real tables in a folder, and a cache over them that holds everything or maps it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from api.search.search_query import NamespaceSearch, SearchModels
from bench.doubles.sample_rows import chunk_row, document_row, memory_row
from pipeline.index import namespace_index
from pipeline.index.namespace_index import NamespaceIndex
from pipeline.index.namespace_index_cache import NamespaceIndexCache
from pipeline.index.query_analysis import analyze_query
from pipeline.index.ranking import candidate_generation
from pipeline.index.ranking.search_request_and_hits import Hit, SearchRequest
from pipeline.index.segments import segment, segment_list
from pipeline.index.snapshots.index_snapshots import SnapshotOptions
from pipeline.ports import Embedder, Reranker
from pipeline.rows import NamespaceRow
from pipeline.store import Store, open_store
from pipeline.text.analyzer import hash_terms
from schemas.base import Metadata
from schemas.events import NamespaceChanged, SettingsChanged
from tests.support.fakes import FixedClock

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
INCARNATION = "alice#0"
UNLIMITED_BYTES = 1 << 40


@dataclass
class IndexHarness:
    """Writes rows the way stages do, and asks the way a search does."""

    store: Store
    embedder: Embedder
    cache: NamespaceIndexCache

    def namespace(self, name: str = "alice") -> NamespaceRow:
        found = self.store.catalog.namespace(name)
        assert found is not None
        return found

    def searching(self, embedder: Embedder | None = None, reranker: Reranker | None = None) -> NamespaceSearch:
        models = SearchModels(embedder or self.embedder, reranker)
        return NamespaceSearch(self.cache, models, self.store.memories, self.store.documents, FixedClock())

    def assign_incarnations(self, name: str, *incarnations: str) -> None:
        change = NamespaceChanged(name=name, epoch=0, incarnations=incarnations, created_at=NOW, updated_at=NOW)
        self.store.catalog.apply(SettingsChanged(change=change))

    async def add_document(
        self,
        key: str,
        *passages: str,
        metadata: Metadata | None = None,
        incarnation: str = INCARNATION,
        **fields: Any,
    ) -> None:
        """A document with its passages as chunks."""
        known = {"id": f"id-{key}", "seq": 1, "content_seq": 1, "metadata": metadata or {}}
        row = document_row(key, incarnation, NOW, **known, **fields)
        await self.store.documents.update([key], lambda _key, _rows: [row])
        await self.set_chunks(key, *passages, incarnation=incarnation)

    async def set_chunks(self, key: str, *passages: str, incarnation: str = INCARNATION) -> None:
        vectors = await self.embedder.embed_documents(passages)
        rows, start = [], 0
        for position, text in enumerate(passages):
            known = {"incarnation": incarnation, "seq": 1, "created_at": NOW}
            known |= {"vector": vectors[position], "terms": hash_terms(text)}
            rows.append(chunk_row(key, position, text, start, **known))
            start += len(text)
        await self.store.chunks.update([key], lambda _key, _rows: rows)

    async def add_memory(
        self, memory_id: str, text: str, *sources: str, incarnation: str = INCARNATION, **fields: Any
    ) -> None:
        (vector,) = await self.embedder.embed_documents([text])
        known = {"incarnation": incarnation, "seq": 1, "vector": vector, "terms": hash_terms(text)}
        row = memory_row(memory_id, text, sources, NOW, **known, **fields)
        await self.store.memories.update([memory_id], lambda _id, _rows: [row])

    async def change_memory(self, memory_id: str, **fields: Any) -> None:
        await self.store.memories.update([memory_id], lambda _id, rows: [replace(row, **fields) for row in rows])

    async def remove_document(self, key: str) -> None:
        await self.store.documents.update([key], lambda _key, _rows: [])

    async def open_index(self, name: str = "alice") -> NamespaceIndex:
        return await self.cache.open(self.namespace(name))

    async def hits(self, query: str, name: str = "alice", **options: Any) -> list[Hit]:
        namespace = await self.open_index(name)
        return await namespace.search(await analyze_query(namespace, self.embedder, query), SearchRequest(**options))

    async def found_ids(self, query: str, name: str = "alice", **options: Any) -> Sequence[str]:
        """The ids a search finds, best first."""
        return [hit.id for hit in await self.hits(query, name, **options)]


def force_spilled_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat a few rows as many: every segment has codes, is found by them, and may be mapped."""
    monkeypatch.setattr(segment_list, "MIN_SPILLED_ROWS", 1)
    monkeypatch.setattr(segment, "MIN_QUANTIZED_ROWS", 1)
    monkeypatch.setattr(candidate_generation, "MAX_EXACT_SCORING_ROWS", 0)
    monkeypatch.setattr(namespace_index, "MAX_INLINE_ROWS", -1)


def open_cache(
    store: Store, folder: Path, limit_bytes: int, *, snapshot_bytes: int = 0, identity: str = "tables"
) -> NamespaceIndexCache:
    """A cache over tables, with snapshots of at most so many bytes."""
    snapshots = SnapshotOptions(identity, snapshot_bytes, 3600.0, store.documents, store.chunks, store.memories)
    return NamespaceIndexCache(
        store.documents,
        store.chunks,
        store.memories,
        store.catalog,
        limit_bytes,
        folder=folder / "index",
        snapshots=snapshots if snapshot_bytes else None,
    )


@asynccontextmanager
async def open_harness(
    folder: Path, embedder: Embedder, limit_bytes: int, *, snapshot_bytes: int = 0, **sharing: Any
) -> AsyncIterator[IndexHarness]:
    store = await open_store(str(folder), dimensions=embedder.dimensions, shards=2, **sharing)
    cache = open_cache(store, folder, limit_bytes, snapshot_bytes=snapshot_bytes)
    world = IndexHarness(store, embedder, cache)
    world.assign_incarnations("alice", INCARNATION)
    yield world
    await store.close()
