"""Invariants of the tables of a stopped service, whatever happened to it."""

from collections import Counter
from pathlib import Path

from app.resources import CATALOG_FOLDER
from pipeline.rows import ChunkRow, DocumentRow, MemoryRow
from pipeline.store import SettingsCatalog, Store, open_store

DIMENSIONS, SHARDS = 256, 4


async def find_violations(data: Path) -> list[str]:
    """Describe rows without owner and missing rows in this data directory (absolute)."""
    catalog = SettingsCatalog(data / CATALOG_FOLDER)
    store = await open_store(str(data / "tables"), dimensions=DIMENSIONS, shards=SHARDS, embedder=None, catalog=catalog)
    try:
        return await _find_violations(store)
    finally:
        await store.close()


async def _find_violations(store: Store) -> list[str]:
    incarnations = await _all_incarnations(store)
    documents = await store.documents.list_rows(incarnations)
    chunks = await store.chunks.list_rows(incarnations)
    memories = await store.memories.list_rows(incarnations)
    owned = {incarnation for incarnation in incarnations if store.catalog.namespace_of(incarnation) is not None}
    lost = [
        *(f"document {row.key} of {row.incarnation}" for row in documents if row.incarnation not in owned),
        *(f"chunk {row.id} of {row.incarnation}" for row in chunks if row.incarnation not in owned),
        *(f"memory {row.id} of {row.incarnation}" for row in memories if row.incarnation not in owned),
    ]
    wrong = [f"{row}, which nobody owns" for row in lost]
    document_by_key = {row.key: row for row in documents}
    return [
        *wrong,
        *_duplicates(documents, chunks, memories),
        *_dangling_rows(document_by_key, chunks, memories),
    ]


async def _all_incarnations(store: Store) -> list[str]:
    found: set[str] = set()
    for table in (store.documents, store.chunks, store.memories):
        _, rows = await table.scan(None, "true", ["incarnation", table.codec.entity_key_column])
        found.update(rows.column("incarnation").to_pylist())
    return sorted(found)


def _duplicates(documents: list[DocumentRow], chunks: list[ChunkRow], memories: list[MemoryRow]) -> list[str]:
    counted = Counter([row.key for row in documents])
    counted.update(row.id for row in chunks)
    counted.update(row.id for row in memories)
    return [f"{key} is there {times} times" for key, times in counted.items() if times > 1]


def _dangling_rows(documents: dict[str, DocumentRow], chunks: list[ChunkRow], memories: list[MemoryRow]) -> list[str]:
    wrong = []
    positions: dict[str, list[int]] = {}
    for chunk in chunks:
        row = documents.get(chunk.document)
        positions.setdefault(chunk.document, []).append(chunk.position)
        if row is None:
            wrong.append(f"chunk {chunk.id} of {chunk.incarnation} has no document")
        elif row.text is not None and row.text[chunk.start : chunk.end].strip() != chunk.text.strip():
            wrong.append(f"chunk {chunk.id} of {chunk.incarnation} is not what its document says there")
    for key, found in positions.items():
        if sorted(found) != list(range(len(found))):
            wrong.append(f"the chunks of {key} are at {sorted(found)}")
    wrong += [
        f"document {row.id} of {row.incarnation} is done and has no chunks"
        for row in documents.values()
        if row.status == "done" and row.text and row.key not in positions
    ]
    wrong += [
        f"memory {memory.id} of {memory.incarnation} comes from {memory.sources}, not all of which are there"
        for memory in memories
        if not documents.keys() >= set(memory.sources)
    ]
    return wrong
