"""A small world: real tables in a folder, and a cache over them that holds everything or maps it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pipeline.index import candidates, live, namespace, segments
from pipeline.index.asking import ask
from pipeline.index.cache import NamespaceCache
from pipeline.index.hits import Hit, Wanted
from pipeline.index.namespace import NamespaceIndex
from pipeline.inference.wordllama import WordLlamaEmbedder
from pipeline.rows import ChunkRow, DocumentRow, MemoryRow, NamespaceRow
from pipeline.store import Store, open_store
from pipeline.text.terms import hashed
from schemas.base import Metadata
from schemas.events import NamespaceChanged, SettingsChanged

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SPACE = "alice#0"
EVERYTHING = 1 << 40


@dataclass
class World:
    """Writes rows the way stages do, and asks the way a search does."""

    store: Store
    embedder: WordLlamaEmbedder
    cache: NamespaceCache

    def namespace(self, name: str = "alice") -> NamespaceRow:
        found = self.store.catalog.namespace(name)
        assert found is not None
        return found

    def own(self, name: str, *spaces: str) -> None:
        change = NamespaceChanged(name=name, generation=0, spaces=spaces, created_at=NOW, updated_at=NOW)
        self.store.catalog.apply(SettingsChanged(change=change))

    async def document(
        self, key: str, *passages: str, metadata: Metadata | None = None, space: str = SPACE, **fields: Any
    ) -> None:
        """A document with its passages as chunks."""
        row = DocumentRow(
            key=key,
            space=space,
            id=f"id-{key}",
            seq=1,
            content_seq=1,
            created_at=NOW,
            updated_at=NOW,
            metadata=metadata or {},
            **fields,
        )
        await self.store.documents.update([key], lambda _key, _rows: [row])
        await self.chunks(key, *passages, space=space)

    async def chunks(self, key: str, *passages: str, space: str = SPACE) -> None:
        vectors = self.embedder.embed(passages)
        rows, start = [], 0
        for position, text in enumerate(passages):
            row = ChunkRow(
                id=f"{key}-{position}",
                space=space,
                document=key,
                position=position,
                text=text,
                start=start,
                end=start + len(text),
                seq=1,
                created_at=NOW,
                vector=vectors[position],
                terms=hashed(text),
            )
            rows.append(row)
            start += len(text)
        await self.store.chunks.update([key], lambda _key, _rows: rows)

    async def memory(self, one: str, text: str, *sources: str, space: str = SPACE, **fields: Any) -> None:
        row = MemoryRow(
            id=one,
            space=space,
            text=text,
            sources=sources,
            seq=1,
            created_at=NOW,
            updated_at=NOW,
            vector=self.embedder.embed([text])[0],
            terms=hashed(text),
            **fields,
        )
        await self.store.memories.update([one], lambda _id, _rows: [row])

    async def change_memory(self, one: str, **fields: Any) -> None:
        await self.store.memories.update([one], lambda _id, rows: [replace(row, **fields) for row in rows])

    async def remove_document(self, key: str) -> None:
        await self.store.documents.update([key], lambda _key, _rows: [])

    async def open(self, name: str = "alice") -> NamespaceIndex:
        return await self.cache.open(self.namespace(name))

    async def hits(self, query: str, name: str = "alice", **wanted: Any) -> list[Hit]:
        namespace = await self.open(name)
        return await namespace.search(await ask(namespace, self.embedder, query), Wanted(**wanted))

    async def found(self, query: str, name: str = "alice", **wanted: Any) -> Sequence[str]:
        """The ids a search finds, best first."""
        return [hit.id for hit in await self.hits(query, name, **wanted)]


def with_small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat a few rows as many: every segment has codes, is found by them, and may be mapped."""
    monkeypatch.setattr(live, "SHELVED_ROWS", 1)
    monkeypatch.setattr(segments, "CODED_ROWS", 1)
    monkeypatch.setattr(candidates, "EXACT_ROWS", 0)
    monkeypatch.setattr(namespace, "INLINE_ROWS", -1)


@asynccontextmanager
async def opened(folder: Path, embedder: WordLlamaEmbedder, limit_bytes: int) -> AsyncIterator[World]:
    store = await open_store(str(folder), dimensions=embedder.dimensions, shards=2)
    cache = NamespaceCache(
        store.documents, store.chunks, store.memories, store.catalog, limit_bytes, folder=folder / "index"
    )
    world = World(store, embedder, cache)
    world.own("alice", SPACE)
    yield world
    await store.close()
