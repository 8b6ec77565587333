"""What must hold in the tables of a service that has stopped, whatever happened to it."""

from collections import Counter
from pathlib import Path

from pipeline.rows import ChunkRow, DocumentRow, MemoryRow
from pipeline.store import Store, open_store

DIMENSIONS, SHARDS = 256, 4


async def faults(tables: Path) -> list[str]:
    """Rows that nobody owns, and rows that should be there, in this folder of tables (absolute)."""
    store = await open_store(str(tables), dimensions=DIMENSIONS, shards=SHARDS, embedder=None)
    try:
        return await _faults(store)
    finally:
        await store.close()


async def _faults(store: Store) -> list[str]:
    spaces = await _spaces(store)
    documents = await store.documents.in_spaces(spaces)
    chunks = await store.chunks.in_spaces(spaces)
    memories = await store.memories.in_spaces(spaces)
    owned = {space for space in spaces if store.catalog.owner(space) is not None}
    lost = [
        *(f"document {row.key} of {row.space}" for row in documents if row.space not in owned),
        *(f"chunk {row.id} of {row.space}" for row in chunks if row.space not in owned),
        *(f"memory {row.id} of {row.space}" for row in memories if row.space not in owned),
    ]
    wrong = [f"{one}, which nobody owns" for one in lost]
    known = {row.key: row for row in documents}
    return [*wrong, *_twice(documents, chunks, memories), *_unfounded(known, chunks, memories)]


async def _spaces(store: Store) -> list[str]:
    found: set[str] = set()
    for table in (store.documents, store.chunks, store.memories):
        _, rows = await table.scan(None, "true", ["space", table.codec.group])
        found.update(rows.column("space").to_pylist())
    return sorted(found)


def _twice(documents: list[DocumentRow], chunks: list[ChunkRow], memories: list[MemoryRow]) -> list[str]:
    counted = Counter([row.key for row in documents])
    counted.update(row.id for row in chunks)
    counted.update(row.id for row in memories)
    return [f"{one} is there {times} times" for one, times in counted.items() if times > 1]


def _unfounded(
    documents: dict[str, DocumentRow], chunks: list[ChunkRow], memories: list[MemoryRow]
) -> list[str]:
    wrong = []
    positions: dict[str, list[int]] = {}
    for chunk in chunks:
        row = documents.get(chunk.document)
        positions.setdefault(chunk.document, []).append(chunk.position)
        if row is None:
            wrong.append(f"chunk {chunk.id} of {chunk.space} has no document")
        elif row.text is not None and row.text[chunk.start : chunk.end].strip() != chunk.text.strip():
            wrong.append(f"chunk {chunk.id} of {chunk.space} is not what its document says there")
    for key, found in positions.items():
        if sorted(found) != list(range(len(found))):
            wrong.append(f"the chunks of {key} are at {sorted(found)}")
    wrong += [
        f"document {row.id} of {row.space} is done and has no chunks"
        for row in documents.values()
        if row.status == "done" and row.text and row.key not in positions
    ]
    wrong += [
        f"memory {memory.id} of {memory.space} comes from {memory.sources}, not all of which are there"
        for memory in memories
        if not documents.keys() >= set(memory.sources)
    ]
    return wrong
