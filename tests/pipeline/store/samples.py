"""Rows to store: small, complete, and different where it matters."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from pipeline.rows import ChunkRow, DocumentRow, MemoryRow, Statement
from pipeline.store import Store, open_locks, open_store
from pipeline.store.base import Base
from pipeline.store.readable import Readable
from pipeline.store.table import Table
from schemas.events import BlobRef, Content, Relation, Upload
from schemas.ids import chunk_id, document_key, memory_id

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
DIMENSIONS = 4
both = pytest.mark.parametrize("shared", [False, True], ids=["exclusive", "shared"])
"""For a test that takes `shared`: tables of one process, and tables that several share."""


async def opened(
    place: object, shards: int = 2, *, shared: bool = False, storage: Mapping[str, str] | None = None
) -> Store:
    """A store whose loops do not run: `durable` flushes, `refresh` follows."""
    return await open_store(
        str(place),
        dimensions=DIMENSIONS,
        shards=shards,
        embedder="sample",
        locks=open_locks(str(place), storage) if shared else None,
        storage=storage,
    )


async def started(store: Store) -> asyncio.Task[None]:
    """Its loops, once all of them run: from then on nobody flushes in `durable`."""
    running = asyncio.create_task(store.run())
    writers = [one for table in store._tables if isinstance(table, Table) for one in table._writers]
    while not all(writer._running for writer in writers):  # noqa: ASYNC110 - it takes a few turns of the loop
        await asyncio.sleep(0)
    return running


def forget_recent(table: Readable[Any]) -> None:
    """Trust only LanceDB for what is flushed."""
    if isinstance(table, Table):
        table._overlay.forget_recent()


def hold_one(table: Readable[Any]) -> None:
    """Hold one group, or hardly more, of those that are flushed."""
    if isinstance(table, Table):
        table._overlay._recent._limit = 1200


async def merge_newest(table: Readable[Any]) -> None:
    """Merge the fragments that came since the last upkeep, few as they are."""
    for base in table._bases:
        if isinstance(base, Base) and base._fragments.newest_rows:
            await base._merge_newest()


def document(name: str, space: str = "alice#0", **fields: Any) -> DocumentRow:
    row = DocumentRow(
        key=document_key(space, name),
        space=space,
        id=name,
        seq=1,
        content_seq=1,
        created_at=EPOCH,
        updated_at=EPOCH,
    )
    return replace(row, **fields)


def full_document() -> DocumentRow:
    """Every field set."""
    return document(
        "full",
        status="failed",
        dreaming=True,
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
        group={"g": 1},
        supporting_context="why",
        date="2026-01-01",
        task_type="superrag",
        dreaming_mode="instant",
        updated_at=EPOCH + timedelta(microseconds=7),
    )


def chunk(parent: str, position: int, space: str = "alice#0", text: str = "", **fields: Any) -> ChunkRow:
    text = text or f"passage {position}"
    row = ChunkRow(
        id=chunk_id(parent, position, text),
        space=space,
        document=parent,
        position=position,
        text=text,
        start=position * 10,
        end=position * 10 + 10,
        seq=1,
        created_at=EPOCH,
        vector=np.full(DIMENSIONS, position, np.float32),
        terms=np.arange(position, dtype=np.uint32),
        heading=None if position % 2 else "Heading",
    )
    return replace(row, **fields)


def memory(text: str, sources: Sequence[str], space: str = "alice#0", **fields: Any) -> MemoryRow:
    row = MemoryRow(
        id=memory_id(space, text),
        space=space,
        text=text,
        sources=tuple(sources),
        seq=1,
        created_at=EPOCH,
        updated_at=EPOCH,
        vector=np.full(DIMENSIONS, len(text), np.float32),
        terms=np.array([1, 2, 2], np.uint32),
    )
    return replace(row, **fields)


def full_memory(source: str) -> MemoryRow:
    """Every field set."""
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
        relations=(Relation(kind="updates", target="old", why="newer"),),
        statements=(
            Statement(
                document=source,
                since_seq=1,
                seq=2,
                since=EPOCH,
                at=EPOCH + timedelta(seconds=1),
                placed=EPOCH,
                date="2026",
                start=0,
                end=4,
                relations=(Relation(kind="updates", target="old", why="newer"),),
                replaced_by=("newer",),
                forgotten_at=EPOCH,
                forget_reason="asked",
            ),
            Statement("another", since_seq=3, seq=3, since=EPOCH, at=EPOCH, placed=EPOCH),
        ),
    )


async def store_documents(store: Store, *rows: DocumentRow) -> None:
    by_key = {row.key: row for row in rows}
    await store.documents.update(list(by_key), lambda key, _: [by_key[key]])


async def store_chunks(store: Store, parent: str, rows: Sequence[ChunkRow]) -> None:
    await store.chunks.update([parent], lambda _, __: rows)


async def store_memories(store: Store, *rows: MemoryRow) -> None:
    by_id = {row.id: row for row in rows}
    await store.memories.update(list(by_id), lambda one, _: [by_id[one]])


def plain(row: DocumentRow | ChunkRow | MemoryRow) -> dict[str, Any]:
    """A row that can be compared: arrays as lists."""
    values = {name: getattr(row, name) for name in row.__dataclass_fields__}
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in values.items()
    }
