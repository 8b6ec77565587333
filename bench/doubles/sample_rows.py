"""Rows in which everything is filled in that a measurement or a test is not about."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from pipeline.rows import ChunkRow, DocumentRow, MemoryRow

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
INCARNATION = "s#0"


def document_row(key: str, incarnation: str = INCARNATION, at: datetime = EPOCH, **fields: Any) -> DocumentRow:
    """A document that came at this time; its public id is its key."""
    return replace(DocumentRow(key, incarnation, key, 0, 0, created_at=at, updated_at=at), **fields)


def chunk_row(document: str, position: int, text: str, start: int = 0, **fields: Any) -> ChunkRow:
    """A passage of a document, without vector and terms."""
    row = ChunkRow(
        id=f"{document}-{position}",
        incarnation=INCARNATION,
        document=document,
        position=position,
        text=text,
        start=start,
        end=start + len(text),
        seq=0,
        created_at=EPOCH,
        vector=np.zeros(0, np.float32),
        terms=np.zeros(0, np.uint32),
    )
    return replace(row, **fields)


def memory_row(id_: str, text: str, sources: Sequence[str], at: datetime = EPOCH, **fields: Any) -> MemoryRow:
    """A memory that these documents state since this time, without vector and terms."""
    row = MemoryRow(
        id=id_,
        incarnation=INCARNATION,
        text=text,
        sources=tuple(sources),
        seq=0,
        created_at=at,
        updated_at=at,
        vector=np.zeros(0, np.float32),
        terms=np.zeros(0, np.uint32),
    )
    return replace(row, **fields)
