"""Rows as the pipeline would write them, for tests of reading and deleting."""

from typing import Any

import numpy as np

from pipeline.rows import ChunkRow, MemoryRow
from schemas.ids import document_key
from tests.support.fakes import EPOCH

ALICE = "alice#0"
VECTOR = np.array([1, 0, 0, 0], dtype=np.float32)
TERMS = np.array([1, 2], dtype=np.uint32)


def key(id_: str) -> str:
    """The row key of a document of alice."""
    return document_key(ALICE, id_)


def chunk(document: str, position: int = 0, text: str = "Ada lives in Berlin.") -> ChunkRow:
    """A chunk of one of alice's documents."""
    return ChunkRow(
        id=f"chunk-{document}-{position}",
        incarnation=ALICE,
        document=key(document),
        position=position,
        text=text,
        start=0,
        end=len(text),
        seq=0,
        created_at=EPOCH,
        vector=VECTOR,
        terms=TERMS,
    )


def memory(id_: str, *documents: str, **fields: Any) -> MemoryRow:
    """A memory that these of alice's documents support."""
    return MemoryRow(
        id=id_,
        incarnation=ALICE,
        text=f"Fact {id_}",
        sources=tuple(key(document) for document in documents),
        seq=0,
        created_at=EPOCH,
        updated_at=EPOCH,
        vector=VECTOR,
        terms=TERMS,
        **fields,
    )
