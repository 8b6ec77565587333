"""Lookup of memories by comparison key in the index, without reading the memory table."""

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pipeline.columns import fingerprints, from_microseconds, incarnation_hash, parse_relations, string_column
from pipeline.index.segments.document_store import DocumentStore
from pipeline.index.segments.segment import NO_TERMS, Segment
from pipeline.index.segments.segment_list import SegmentView
from pipeline.rows import MemoryColumns, MemoryRow, Vector

_NO_VECTOR: Vector = np.zeros(0, np.float32)


def find_memories_by_keys(
    views: Sequence[SegmentView[MemoryColumns]],
    documents: DocumentStore,
    incarnations: Sequence[str],
    keys: Collection[str],
) -> list[MemoryRow]:
    """The memories of these incarnations that have one of these keys, and possibly false positives.

    Implements `ports.MemoryKeyIndex`.
    """
    key_fingerprints = fingerprints(string_column(keys))
    by_hash = {incarnation_hash(incarnation): incarnation for incarnation in incarnations}
    return [row for view in views for row in _rows_with_keys(view.segment, documents, key_fingerprints, by_hash)]


def _rows_with_keys(
    segment: Segment[MemoryColumns],
    documents: DocumentStore,
    fingerprints: NDArray[np.uint32],
    incarnation_by_hash: Mapping[int, str],
) -> Iterator[MemoryRow]:
    for row in segment.key_postings.candidate_rows(fingerprints) if segment.key_postings is not None else ():
        incarnation = incarnation_by_hash.get(int(segment.columns.incarnation_hashes[row]))
        if incarnation is not None and not segment.deleted[row]:
            yield _to_memory_row(segment, documents, row, incarnation)


def _to_memory_row(segment: Segment[MemoryColumns], documents: DocumentStore, row: int, incarnation: str) -> MemoryRow:
    columns = segment.columns
    updated_at = from_microseconds(columns.updated_at[row])
    return MemoryRow(
        id=columns.ids[row],
        incarnation=incarnation,
        text=columns.texts[row],
        sources=tuple(key for ordinal in segment.parents.of_row(row) if (key := documents.key(ordinal))),
        seq=0,
        created_at=from_microseconds(columns.created_at[row]),
        updated_at=updated_at,
        vector=_NO_VECTOR,
        terms=NO_TERMS,
        is_static=bool(columns.is_static[row]),
        is_inference=bool(columns.is_inference[row]),
        is_latest=bool(columns.is_latest[row]),
        forgotten_at=updated_at if columns.forgotten[row] else None,
        version=int(columns.versions[row]),
        date=columns.dates[row] or None,
        relations=parse_relations(columns.relations[row]),
    )
