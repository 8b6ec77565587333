"""Rows as the pipeline would write them, for tests of reading and deleting."""

from typing import Any

import numpy as np

from bench.doubles.sample_rows import chunk_row, memory_row
from pipeline.rows import ChunkRow, MemoryRow
from schemas.ids import document_key

ALICE = "alice#0"
VECTOR = np.array([1, 0, 0, 0], dtype=np.float32)
TERMS = np.array([1, 2], dtype=np.uint32)


def key(id_: str) -> str:
    """The row key of a document of alice."""
    return document_key(ALICE, id_)


def chunk(document: str, position: int = 0, text: str = "Ada lives in Berlin.") -> ChunkRow:
    """A chunk of one of alice's documents."""
    id_ = f"chunk-{document}-{position}"
    return chunk_row(key(document), position, text, id=id_, incarnation=ALICE, vector=VECTOR, terms=TERMS)


def memory(id_: str, *documents: str, **fields: Any) -> MemoryRow:
    """A memory that these of alice's documents support."""
    sources = [key(document) for document in documents]
    return memory_row(id_, f"Fact {id_}", sources, **{"incarnation": ALICE, "vector": VECTOR, "terms": TERMS, **fields})
