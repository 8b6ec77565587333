"""Hits from scored rows, and the lists of memories that need no query: nearest to a vector, newest."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pipeline.index.ranking.analyzed_query import AnalyzedQuery
from pipeline.index.ranking.array_operations import concatenate, cosines, kth_largest, top_k
from pipeline.index.ranking.candidates import SCORE_DECIMALS, Candidates, eligible_mask
from pipeline.index.ranking.search_request_and_hits import CurrentMemory, Hit, SearchRequest
from pipeline.index.segments.document_store import EMPTY_DOCUMENT, DocumentStore
from pipeline.index.segments.segment_list import SegmentView
from pipeline.packed_vectors import packed_dimensions, unpack
from pipeline.rows import ChunkColumns, MemoryColumns, Vector


def collect_top_hits(
    query: AnalyzedQuery, request: SearchRequest, documents: DocumentStore, ranked: Candidates
) -> list[Hit]:
    """The best of ranked candidates, best first."""
    min_score = query.calibration.raw_score_at(request.threshold)
    positions = ranked.top_positions(min_score, request.kinds, request.limit)
    hits = [_build_hit(query, documents, ranked, position) for position in positions.tolist()]
    return sort_hits(hits, request.limit)


def nearest_memories(
    views: Iterable[SegmentView[MemoryColumns]], vector: Vector, limit: int
) -> list[tuple[str, float]]:
    """Ids of the nearest current memories with their cosines, best first."""
    neighbors: list[tuple[str, float]] = []
    for view in views:
        columns = view.segment.columns
        if packed_dimensions(columns.vectors) == len(vector):
            similarities = cosines(columns.vectors, vector)
            eligible = np.flatnonzero(eligible_mask(view, include_forgotten=False))
            rows = top_k(similarities, eligible, limit).tolist()
            neighbors += [(columns.ids[row], float(similarities[row])) for row in rows]
    return sorted(neighbors, key=lambda neighbor: (-neighbor[1], neighbor[0]))[:limit]


def newest_memories(views: Iterable[SegmentView[MemoryColumns]], limit: int) -> list[CurrentMemory]:
    """The newest current memories of profiles, at most `limit` static and `limit` dynamic ones, newest first."""
    masks = [
        (view.segment.columns, eligible_mask(view, include_forgotten=False) & view.segment.columns.in_profile)
        for view in views
    ]
    return order_by_recency(
        [*_newest_of_kind(masks, limit, is_static=True), *_newest_of_kind(masks, limit, is_static=False)], limit
    )


def _newest_of_kind(
    columns_and_masks: Sequence[tuple[MemoryColumns, NDArray[np.bool_]]], limit: int, *, is_static: bool
) -> Iterator[CurrentMemory]:
    """The newest `limit` of one kind, with all that tie with the last: ids decide between them."""
    segments = [
        (columns, np.flatnonzero(current & (columns.is_static == is_static))) for columns, current in columns_and_masks
    ]
    all_times = concatenate([columns.updated_at[rows] for columns, rows in segments], np.int64)
    oldest = kth_largest(all_times, limit) if len(all_times) > limit else None
    for columns, all_rows in segments:
        rows = all_rows if oldest is None else all_rows[columns.updated_at[all_rows] >= oldest]
        strings = (columns.ids.take(rows), columns.texts.take(rows), columns.dates.take(rows))
        times = columns.updated_at[rows].tolist()
        for row, updated_at, id_, text, date in zip(rows.tolist(), times, *strings, strict=True):
            vector = unpack(columns.vectors[row])
            yield CurrentMemory(updated_at, id_, text, is_static, vector, date, float(columns.worths[row]))


def order_by_recency(memories: Iterable[CurrentMemory], limit: int) -> list[CurrentMemory]:
    """Up to `limit` static and `limit` dynamic memories, newest first; ids decide between equal times."""
    ordered = sorted(memories, key=lambda memory: (-memory.updated_at, memory.id))
    static = [memory for memory in ordered if memory.is_static][:limit]
    return [*static, *[memory for memory in ordered if not memory.is_static][:limit]]


def sort_hits(hits: Iterable[Hit], limit: int) -> list[Hit]:
    """Best first; kind and id decide between equal scores, so that every code path gives one order."""
    return sorted(hits, key=lambda hit: (-round(hit.raw_score, SCORE_DECIMALS), hit.kind, hit.id))[:limit]


def _build_hit(query: AnalyzedQuery, documents: DocumentStore, candidates: Candidates, position: int) -> Hit:
    view, row = candidates.locate(position)
    columns, raw_score = view.segment.columns, float(candidates.scores[position])
    created_at = int(columns.created_at[row])
    hit = partial(
        Hit,
        id=columns.ids[row],
        text=columns.texts[row],
        raw_score=raw_score,
        similarity=round(query.calibration.similarity(raw_score), 4),
        document=documents.get(int(candidates.document_ordinals[position])) or EMPTY_DOCUMENT,
        vector=unpack(columns.vectors[row]),
        created_at=created_at,
        explanation=candidates.explain(position),
    )
    if isinstance(columns, ChunkColumns):
        return hit(
            kind="chunk",
            updated_at=created_at,
            position=int(columns.positions[row]),
            start=int(columns.starts[row]),
            end=int(columns.ends[row]),
            page=columns.pages[row],
        )
    return hit(
        kind="memory",
        updated_at=int(columns.updated_at[row]),
        is_latest=bool(columns.is_latest[row] and not columns.forgotten[row]),
        is_inference=bool(columns.is_inference[row]),
        in_profile=bool(columns.in_profile[row]),
    )
