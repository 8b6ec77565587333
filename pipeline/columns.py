"""Rows to columns: how a handful of changed rows joins the many that come from the store side by side."""

import json
import zlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pipeline.rows import (
    ChunkColumns,
    ChunkRow,
    DocumentColumns,
    DocumentRow,
    MemoryColumns,
    MemoryRow,
    Texts,
)
from schemas.base import Metadata
from schemas.events import Relation

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def microseconds(moment: datetime) -> int:
    """Microseconds since 1970 UTC."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(microseconds: int) -> datetime:
    """The time in UTC."""
    return _EPOCH + int(microseconds) * _MICROSECOND


def texts(values: Iterable[str | None]) -> Texts:
    """Strings packed; None becomes empty."""
    encoded = [(value or "").encode("utf-8", "surrogatepass") for value in values]
    return Texts(memoryview(b"".join(encoded)), _offsets([len(value) for value in encoded]))


def prints(some: Texts) -> NDArray[np.uint32]:
    """32 bits of each, by which it is looked for; who finds two alike has to look at them."""
    data, crc = some.data, zlib.crc32
    return np.array([crc(data[start:end]) for start, end in pairwise(some.offsets.tolist())], np.uint32)


def metadata_json(metadata: Metadata) -> str:
    """Metadata as the columns carry it; empty for none."""
    return json.dumps(metadata, ensure_ascii=False) if metadata else ""


def relations_json(relations: Sequence[Relation]) -> str:
    """Relations as the columns carry them; empty for none."""
    if not relations:
        return ""
    return json.dumps([one.model_dump(exclude_defaults=True) for one in relations])


def relations_of(text: str | None) -> tuple[Relation, ...]:
    """Relations back; empty or missing text is none."""
    return tuple(Relation.model_validate(one) for one in json.loads(text)) if text else ()


def document_columns(rows: Sequence[DocumentRow]) -> DocumentColumns:
    """Documents side by side."""
    return DocumentColumns(
        keys=texts(row.key for row in rows),
        ids=texts(row.id for row in rows),
        titles=texts(row.title for row in rows),
        types=texts(row.type for row in rows),
        summaries=texts(row.summary for row in rows),
        metadata=texts(metadata_json(row.metadata) for row in rows),
        dates=texts(row.date for row in rows),
        created_at=_times(row.created_at for row in rows),
        updated_at=_times(row.updated_at for row in rows),
    )


def chunk_columns(rows: Sequence[ChunkRow]) -> ChunkColumns:
    """Chunks side by side."""
    return ChunkColumns(
        ids=texts(row.id for row in rows),
        documents=texts(row.document for row in rows),
        texts=texts(row.text for row in rows),
        positions=np.array([row.position for row in rows], np.int32),
        starts=np.array([row.start for row in rows], np.int64),
        ends=np.array([row.end for row in rows], np.int64),
        created_at=_times(row.created_at for row in rows),
        vectors=_matrix(rows),
        terms=_joined(rows),
        term_offsets=_offsets([len(row.terms) for row in rows]),
    )


def memory_columns(rows: Sequence[MemoryRow]) -> MemoryColumns:
    """Memories side by side."""
    return MemoryColumns(
        ids=texts(row.id for row in rows),
        sources=texts(" ".join(row.sources) for row in rows),
        texts=texts(row.text for row in rows),
        relations=texts(relations_json(row.relations) for row in rows),
        dates=texts(row.date for row in rows),
        starts=np.array([-1 if row.start is None else row.start for row in rows], np.int64),
        versions=np.array([row.version for row in rows], np.int32),
        is_static=np.array([row.is_static for row in rows], np.bool_),
        is_inference=np.array([row.is_inference for row in rows], np.bool_),
        is_latest=np.array([row.is_latest for row in rows], np.bool_),
        forgotten=np.array([row.forgotten_at is not None for row in rows], np.bool_),
        created_at=_times(row.created_at for row in rows),
        updated_at=_times(row.updated_at for row in rows),
        vectors=_matrix(rows),
        terms=_joined(rows),
        term_offsets=_offsets([len(row.terms) for row in rows]),
        spaces=np.array([hash(row.space) for row in rows], np.int64),
        keys=prints(texts(key for row in rows for key in row.keys)),
        key_offsets=_offsets([len(row.keys) for row in rows]),
    )


def _times(moments: Iterable[datetime]) -> NDArray[np.int64]:
    return np.array([microseconds(one) for one in moments], np.int64)


def _matrix(rows: Sequence[ChunkRow] | Sequence[MemoryRow]) -> NDArray[np.float32]:
    if not rows:
        return np.zeros((0, 0), np.float32)
    return np.stack([row.vector for row in rows]).astype(np.float32, copy=False)


def _joined(rows: Sequence[ChunkRow] | Sequence[MemoryRow]) -> NDArray[np.uint32]:
    if not rows:
        return np.zeros(0, np.uint32)
    return np.concatenate([row.terms for row in rows]).astype(np.uint32, copy=False)


def _offsets(lengths: Sequence[int]) -> NDArray[np.int64]:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
