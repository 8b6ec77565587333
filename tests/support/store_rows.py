"""Sample rows: small, complete, and different where it matters."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from bench.doubles.sample_rows import chunk_row, document_row, memory_row
from pipeline.packed_vectors import round_vector
from pipeline.rows import ChunkRow, DocumentRow, MemoryRow, ProvenanceEntry
from pipeline.store import Store, open_locks, open_store
from pipeline.store.lancedb.sharded_table import ShardedTable
from pipeline.store.single_process.exclusive_lance_table import ExclusiveLanceTable
from pipeline.store.single_process.exclusive_table import ExclusiveTable
from schemas.events import BlobRef, Content, Relation, Upload
from schemas.ids import chunk_id, document_key, memory_id

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
DIMENSIONS = 4
exclusive_and_shared = pytest.mark.parametrize("shared", [False, True], ids=["exclusive", "shared"])
"""Parametrizes a test that takes `shared`: tables of one process, and tables shared by several."""


async def open_test_store(
    uri: object, shards: int = 2, *, shared: bool = False, storage: Mapping[str, str] | None = None
) -> Store:
    """A store whose loops do not run: `wait_until_durable` flushes, `refresh` follows."""
    return await open_store(
        str(uri),
        dimensions=DIMENSIONS,
        shards=shards,
        embedder="sample",
        locks=open_locks(str(uri), storage) if shared else None,
        storage=storage,
    )


async def start_store(store: Store) -> asyncio.Task[None]:
    """Start the store's loops and wait until they run: `wait_until_durable` flushes no more from then on."""
    running = asyncio.create_task(store.run())
    flushers = [flusher for table in store.tables if isinstance(table, ExclusiveTable) for flusher in table._flushers]
    while not all(flusher._running for flusher in flushers):  # noqa: ASYNC110 - it takes a few turns of the loop
        await asyncio.sleep(0)
    return running


def clear_row_cache(table: ShardedTable[Any]) -> None:
    """Read flushed rows from LanceDB only."""
    if isinstance(table, ExclusiveTable):
        table._memtable.clear_row_cache()


def shrink_row_cache(table: ShardedTable[Any]) -> None:
    """Cache hardly more than the rows of one key."""
    if isinstance(table, ExclusiveTable):
        table._memtable._row_cache._limit = 1200


async def merge_newest_fragments(table: ShardedTable[Any]) -> None:
    """Merge the fragments written since the last maintenance, however few."""
    for lance_table in table._lance_tables:
        if isinstance(lance_table, ExclusiveLanceTable) and lance_table._compaction_policy.rows_in_partial_merge:
            await lance_table._merge_newest_fragments()


def document(name: str, incarnation: str = "alice#0", **fields: Any) -> DocumentRow:
    return document_row(
        document_key(incarnation, name), incarnation, **{"id": name, "seq": 1, "content_seq": 1, **fields}
    )


def full_document() -> DocumentRow:
    """A document with every field set."""
    return document(
        "full",
        status="failed",
        extraction_pending=True,
        error="It's broken",
        title="A 'title'",
        type="pdf",
        summary="Short",
        url="https://example.org",
        text="Long \U0001f389 text",
        text_seq=3,
        source=Content(text="source"),
        upload=Upload(blob=BlobRef(sha256="ab", size=3), filename="a.pdf"),
        metadata={"a.b": "x", "n": 1, "f": 1.5, "yes": True, "list": ["p", "q"]},
        group_metadata={"g": 1},
        supporting_context="why",
        date="2026-01-01",
        task_type="superrag",
        extraction_mode="instant",
        updated_at=EPOCH + timedelta(microseconds=7),
    )


def chunk(parent: str, position: int, incarnation: str = "alice#0", text: str = "", **fields: Any) -> ChunkRow:
    text = text or f"passage {position}"
    row = chunk_row(
        parent,
        position,
        text,
        id=chunk_id(parent, position, text),
        incarnation=incarnation,
        start=position * 10,
        end=position * 10 + 10,
        seq=1,
        vector=round_vector(np.full(DIMENSIONS, position, np.float32)),
        terms=np.arange(position, dtype=np.uint32),
        heading=None if position % 2 else "Heading",
    )
    return replace(row, **fields)


def memory(text: str, sources: Sequence[str], incarnation: str = "alice#0", **fields: Any) -> MemoryRow:
    vector, terms = round_vector(np.full(DIMENSIONS, len(text), np.float32)), np.array([1, 2, 2], np.uint32)
    row = memory_row(memory_id(incarnation, text), text, sources, seq=1, vector=vector, terms=terms)
    return replace(row, incarnation=incarnation, **fields)


def full_memory(source: str) -> MemoryRow:
    """A memory with every field set."""
    return memory(
        "full",
        [source, "another"],
        is_static=True,
        is_inference=True,
        is_latest=False,
        forgotten_at=EPOCH,
        forget_reason="asked",
        version=3,
        date="2026",
        start=0,
        end=4,
        relations=(Relation(kind="updates", target="old", reason="newer"),),
        provenance=(
            ProvenanceEntry(
                document=source,
                first_stated_seq=1,
                seq=2,
                first_stated_at=EPOCH,
                effective_at=EPOCH + timedelta(seconds=1),
                source_order_time=EPOCH,
                date="2026",
                start=0,
                end=4,
                relations=(Relation(kind="updates", target="old", reason="newer"),),
                superseded_by=("newer",),
                forgotten_at=EPOCH,
                forget_reason="asked",
            ),
            ProvenanceEntry(
                "another",
                first_stated_seq=3,
                seq=3,
                first_stated_at=EPOCH,
                effective_at=EPOCH,
                source_order_time=EPOCH,
            ),
        ),
    )


async def store_documents(store: Store, *rows: DocumentRow) -> None:
    by_key = {row.key: row for row in rows}
    await store.documents.update(list(by_key), lambda key, _: [by_key[key]])


async def store_chunks(store: Store, parent: str, rows: Sequence[ChunkRow]) -> None:
    await store.chunks.update([parent], lambda _, __: rows)


async def store_memories(store: Store, *rows: MemoryRow) -> None:
    by_id = {row.id: row for row in rows}
    await store.memories.update(list(by_id), lambda key, _: [by_id[key]])


def to_comparable(row: DocumentRow | ChunkRow | MemoryRow) -> dict[str, Any]:
    """Convert a row to comparable values: arrays as lists."""
    values = {name: getattr(row, name) for name in row.__dataclass_fields__}
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in values.items()}
