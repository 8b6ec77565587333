"""First-stage retrieval: the best rows of each segment, exact in small namespaces, preselected in large ones.

A large segment is first scored by the discriminative terms and the sign-bit codes of its vectors; only the
preselected rows get all terms and exact cosines.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pipeline.index.ranking.analyzed_query import AnalyzedQuery
from pipeline.index.ranking.array_operations import kth_largest, top_k
from pipeline.index.ranking.candidates import (
    SCORE_TOLERANCE,
    AnySegmentView,
    Candidates,
    ScoredRows,
    eligible_mask,
    first_stage_contributions,
    row_kind,
)
from pipeline.index.ranking.ranking_parameters import (
    MAX_EXACT_SCORING_ROWS,
    RESCORE_CANDIDATES,
    SECOND_STAGE_CANDIDATES,
)
from pipeline.index.ranking.search_request_and_hits import SearchRequest
from pipeline.index.segments.document_store import DocumentStore
from pipeline.index.segments.segment import C
from pipeline.index.segments.segment_list import SegmentView, segment_view
from pipeline.rows import ChunkColumns, RowKind


@dataclass(frozen=True, slots=True)
class SegmentScan:
    """The scan of segments for one query; segments are independent of each other, so any thread may scan."""

    query: AnalyzedQuery
    request: SearchRequest
    documents: DocumentStore
    passing_documents: NDArray[np.bool_] | None
    """The documents that pass the filter, by ordinal; None without a filter."""
    exact_vectors: bool
    """True to compute the exact cosine of every row."""

    def candidate_limit(self, kind: RowKind) -> int:
        return max(self.request.limit, SECOND_STAGE_CANDIDATES[kind])

    def scan(self, views: Iterable[AnySegmentView]) -> list[ScoredRows]:
        """The best rows of each segment, and the best outdated memories, which point at passages."""
        filtered: Iterable[AnySegmentView] = filter_views(views, self.documents, self.passing_documents)  # type: ignore[misc]  # either kind
        return [
            group
            for view in filtered
            for group in _score_segment(
                self.query,
                view,
                _row_sets(view, include_forgotten=self.request.include_forgotten),
                self.candidate_limit(row_kind(view)),
                exact=self.exact_vectors,
            )
        ]

    def select_candidates(self, scored_rows: Iterable[ScoredRows]) -> Candidates:
        """Keep the best rows of all segments, in no order.

        The limit applies to each kind, and separately to eligible and outdated memories, so that neither
        displaces the other.
        """
        groups: dict[tuple[RowKind, bool], list[ScoredRows]] = {}
        for rows in scored_rows:
            groups.setdefault((row_kind(rows.view), rows.eligible), []).append(rows)
        best = [rows for (kind, _), group in groups.items() for rows in _keep_top(group, self.candidate_limit(kind))]
        contributions = (
            [first_stage_contributions(self.query, rows.view, rows.rows) for rows in best]
            if self.request.explain
            else None
        )
        return Candidates.from_scored_rows(best, contributions, include_forgotten=self.request.include_forgotten)


def fits_exact_scoring(views: Sequence[AnySegmentView]) -> bool:
    """Tell whether there are few enough rows to compute every cosine exactly."""
    return sum(len(view.segment) for view in views) <= MAX_EXACT_SCORING_ROWS


def split_work(views: Sequence[AnySegmentView], workers: int) -> list[list[AnySegmentView]]:
    """Distribute segments over workers by about equal numbers of rows; workers without any are left out."""
    groups: list[list[AnySegmentView]] = [[] for _ in range(workers)]
    for view in sorted(views, key=lambda view: -len(view.segment)):
        min(groups, key=lambda group: sum(len(view.segment) for view in group)).append(view)
    return [group for group in groups if group]


def filter_views(
    views: Iterable[SegmentView[C]], documents: DocumentStore, passing_documents: NDArray[np.bool_] | None
) -> Iterable[SegmentView[C]]:
    """The segments with only the rows whose documents pass a filter."""
    return (
        views
        if passing_documents is None
        else [segment_view(view.segment, documents, passing_documents) for view in views]
    )


@dataclass(frozen=True, slots=True)
class _RowSet:
    """Rows of a segment, ascending; None for all. `eligible`: whether they may be results."""

    rows: NDArray[np.intp] | None
    eligible: bool = True


def _row_sets(view: AnySegmentView, *, include_forgotten: bool) -> list[_RowSet]:
    """The visible rows of a segment: those that may be results, and outdated memories."""
    if isinstance(view.segment.columns, ChunkColumns):
        return [_RowSet(None if view.mask is None else np.flatnonzero(view.mask))]
    eligible = eligible_mask(view, include_forgotten=include_forgotten)
    if eligible.all():
        return [_RowSet(None)]
    outdated = ~eligible if view.mask is None else view.mask & ~eligible
    return [_RowSet(np.flatnonzero(eligible)), _RowSet(np.flatnonzero(outdated), eligible=False)]


def _keep_top(scored_rows: Sequence[ScoredRows], limit: int) -> list[ScoredRows]:
    """The best `limit` rows of all groups, and all that tie with the last of them."""
    scores = np.concatenate([group.scores for group in scored_rows])
    if len(scores) <= limit:
        return list(scored_rows)
    cutoff = kth_largest(scores, limit) - SCORE_TOLERANCE
    kept = [(group, group.scores >= cutoff) for group in scored_rows]
    return [replace(group, rows=group.rows[mask], scores=group.scores[mask]) for group, mask in kept]


def _score_segment(
    query: AnalyzedQuery, view: AnySegmentView, row_sets: Sequence[_RowSet], limit: int, *, exact: bool
) -> list[ScoredRows]:
    """The `limit` best rows of a segment in each row set."""
    bm25, documents = query.bm25(row_kind(view), view.segment.postings), view.document_ordinals
    vectors, codes = view.segment.columns.vectors, view.segment.vector_codes
    preselected = max(limit, RESCORE_CANDIDATES)
    row_count = sum(len(documents) if row_set.rows is None else len(row_set.rows) for row_set in row_sets)
    if not exact and codes is not None and query.vectors_comparable(vectors) and row_count > preselected:
        bm25_scores = bm25.score(query.term_weights.discriminative_terms)
        scores = query.approximate_vector_contribution(view.segment, codes)
        scores += query.bm25_contribution(bm25_scores)
        scores += query.document_contribution(documents)
        return [
            _rescore(
                query, view, preselect(scores, row_set.rows, preselected), bm25_scores, limit, eligible=row_set.eligible
            )
            for row_set in row_sets
        ]
    scores = query.bm25_contribution(bm25.score(query.term_weights.weights)) + query.document_contribution(documents)
    if query.vectors_comparable(vectors):
        scores += query.vector_contribution(view.segment)
    all_rows = np.arange(len(documents))
    best = [top_k(scores, all_rows if row_set.rows is None else row_set.rows, limit) for row_set in row_sets]
    return [
        ScoredRows(view, rows, scores[rows], row_set.eligible) for row_set, rows in zip(row_sets, best, strict=True)
    ]


def _rescore(
    query: AnalyzedQuery,
    view: AnySegmentView,
    rows: NDArray[np.intp],
    bm25_scores: NDArray[np.float32],
    limit: int,
    *,
    eligible: bool,
) -> ScoredRows:
    """The best of preselected rows, by all terms and their exact cosines."""
    bm25 = query.bm25(row_kind(view), view.segment.postings)
    scores = query.bm25_contribution(bm25.add_terms(bm25_scores[rows], rows, query.term_weights.deferred_terms))
    scores += query.document_contribution(view.document_ordinals[rows])
    scores += query.vector_contribution(view.segment, rows)
    best = top_k(scores, np.arange(len(rows)), limit)
    return ScoredRows(view, rows[best], scores[best], eligible)


def preselect(scores: NDArray[np.float32], rows: NDArray[np.intp] | None, limit: int) -> NDArray[np.intp]:
    """The `limit` best of these rows (None: all), ascending, so that neighbors are read together."""
    row_scores = scores if rows is None else scores[rows]
    if len(row_scores) <= limit:
        return np.arange(len(scores)) if rows is None else rows
    best = np.argpartition(row_scores, -limit)[-limit:]
    return np.sort(best if rows is None else rows[best])
