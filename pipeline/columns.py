"""Rows as columns: converts changed rows to the columns that the store streams."""

import json
import zlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pipeline.packed_vectors import pack
from pipeline.rows import (
    ChunkColumns,
    ChunkRow,
    MemoryColumns,
    MemoryRow,
    PackedVectors,
    StringColumn,
)
from schemas.base import Metadata
from schemas.events import Relation

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def from_microseconds(microseconds: int) -> datetime:
    """Convert microseconds since 1970 to a time in UTC."""
    return _EPOCH + int(microseconds) * _MICROSECOND


def string_column(values: Iterable[str | None]) -> StringColumn:
    """Pack strings; None becomes empty."""
    encoded = [(value or "").encode("utf-8", "surrogatepass") for value in values]
    return StringColumn(memoryview(b"".join(encoded)), list_offsets([len(value) for value in encoded]))


def fingerprints(strings: StringColumn) -> NDArray[np.uint32]:
    """32-bit hashes of strings; a lookup must compare the strings of equal hashes."""
    data, crc = strings.data, zlib.crc32
    return np.array([crc(data[start:end]) for start, end in pairwise(strings.offsets.tolist())], np.uint32)


def fingerprint(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


@lru_cache(maxsize=1024)
def incarnation_hash(incarnation: str) -> int:
    """64-bit hash of an incarnation's name, the same in every process."""
    return int.from_bytes(blake2b(incarnation.encode(), digest_size=8).digest(), "big", signed=True)


def metadata_json(metadata: Metadata) -> str:
    """Metadata as JSON; empty string for none."""
    return json.dumps(metadata, ensure_ascii=False) if metadata else ""


def relations_json(relations: Sequence[Relation]) -> str:
    """Relations as JSON; empty string for none."""
    if not relations:
        return ""
    return json.dumps([relation.model_dump(exclude_defaults=True) for relation in relations])


def parse_relations(text: str | None) -> tuple[Relation, ...]:
    """Parse relations; empty or missing text is none."""
    return tuple(Relation.model_validate(relation) for relation in json.loads(text)) if text else ()


def chunk_columns(rows: Sequence[ChunkRow]) -> ChunkColumns:
    return ChunkColumns(
        ids=string_column(row.id for row in rows),
        documents=string_column(row.document for row in rows),
        texts=string_column(row.text for row in rows),
        positions=np.array([row.position for row in rows], np.int32),
        starts=np.array([row.start for row in rows], np.int64),
        ends=np.array([row.end for row in rows], np.int64),
        created_at=_microsecond_array(row.created_at for row in rows),
        vectors=_packed_vectors(rows),
        terms=_concatenated_terms(rows),
        term_offsets=list_offsets([len(row.terms) for row in rows]),
        pages=string_column(row.page for row in rows),
    )


def memory_columns(rows: Sequence[MemoryRow]) -> MemoryColumns:
    return MemoryColumns(
        ids=string_column(row.id for row in rows),
        sources=string_column(" ".join(row.sources) for row in rows),
        texts=string_column(row.text for row in rows),
        relations=string_column(relations_json(row.relations) for row in rows),
        dates=string_column(row.date for row in rows),
        starts=np.array([-1 if row.start is None else row.start for row in rows], np.int64),
        versions=np.array([row.version for row in rows], np.int32),
        is_static=np.array([row.is_static for row in rows], np.bool_),
        is_inference=np.array([row.is_inference for row in rows], np.bool_),
        is_latest=np.array([row.is_latest for row in rows], np.bool_),
        in_profile=np.array([row.in_profile for row in rows], np.bool_),
        worths=np.array([row.worth for row in rows], np.float32),
        forgotten=np.array([row.forgotten_at is not None for row in rows], np.bool_),
        created_at=_microsecond_array(row.created_at for row in rows),
        updated_at=_microsecond_array(row.updated_at for row in rows),
        vectors=_packed_vectors(rows),
        terms=_concatenated_terms(rows),
        term_offsets=list_offsets([len(row.terms) for row in rows]),
        incarnation_hashes=np.array([incarnation_hash(row.incarnation) for row in rows], np.int64),
        comparison_key_hashes=fingerprints(string_column(key for row in rows for key in row.comparison_keys)),
        comparison_key_offsets=list_offsets([len(row.comparison_keys) for row in rows]),
    )


def _microsecond_array(moments: Iterable[datetime]) -> NDArray[np.int64]:
    return np.array([to_microseconds(moment) for moment in moments], np.int64)


def _packed_vectors(rows: Sequence[ChunkRow] | Sequence[MemoryRow]) -> PackedVectors:
    return pack(np.stack([row.vector for row in rows]) if rows else np.zeros((0, 0), np.float32))


def _concatenated_terms(rows: Sequence[ChunkRow] | Sequence[MemoryRow]) -> NDArray[np.uint32]:
    if not rows:
        return np.zeros(0, np.uint32)
    return np.concatenate([row.terms for row in rows]).astype(np.uint32, copy=False)


def list_offsets(lengths: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each list begins in all of them, one after another, and where the last one ends."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
