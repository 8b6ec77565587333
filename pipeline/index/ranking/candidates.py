"""Candidate rows of several segments as arrays: scores, documents, kinds, and score contributions."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.index.ranking.analyzed_query import AnalyzedQuery
from pipeline.index.ranking.array_operations import concatenate, kth_largest
from pipeline.index.ranking.search_request_and_hits import ScoreExplanation, ScoreFactor
from pipeline.index.segments.segment_list import SegmentView
from pipeline.rows import ChunkColumns, MemoryColumns, RowKind

AnySegmentView = SegmentView[ChunkColumns] | SegmentView[MemoryColumns]
Positions = NDArray[np.intp]
RowContributions = Mapping[ScoreFactor, NDArray[Any]]
"""Amounts that each factor adds to the scores of rows, one array entry per row."""
SCORE_DECIMALS = 4
"""Decimals of a score that decide the order; smaller differences are rounding errors."""
SCORE_TOLERANCE = 10.0**-SCORE_DECIMALS


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """Rows of a segment and their scores. `eligible`: whether they may be results."""

    view: AnySegmentView
    rows: Positions
    scores: NDArray[np.float32]
    eligible: bool = True


@dataclass(frozen=True, slots=True)
class Candidates:
    """Rows of some segments one after another; arrays have one entry per row.

    `contributions`: what the scores consist of, where an explanation is wanted; NaN where a factor does not
    apply to a row.
    """

    scored_rows: Sequence[ScoredRows]
    scores: NDArray[np.float64]
    document_ordinals: NDArray[np.int32]
    """The document that each row is shown with."""
    is_chunk: NDArray[np.bool_]
    is_current: NDArray[np.bool_]
    """False for memories that were superseded or forgotten."""
    is_eligible: NDArray[np.bool_]
    """False for rows that affect the ranking but may not be results."""
    contributions: Mapping[ScoreFactor, NDArray[np.float64]] | None = None

    @classmethod
    def from_scored_rows(
        cls,
        scored_rows: Sequence[ScoredRows],
        contributions: Sequence[RowContributions] | None = None,
        *,
        include_forgotten: bool = False,
    ) -> "Candidates":
        """Concatenate scored rows; `include_forgotten`: forgotten memories may be results."""
        counts = [len(group.rows) for group in scored_rows]
        is_current = concatenate([_current_mask(group) for group in scored_rows], np.bool_)
        is_eligible = is_current
        if include_forgotten:
            masks = [_current_mask(group, include_forgotten=True) for group in scored_rows]
            is_eligible = concatenate(masks, np.bool_)
        is_chunk = np.array([row_kind(group.view) == "chunk" for group in scored_rows], np.bool_)
        return cls(
            scored_rows,
            concatenate([group.scores for group in scored_rows], np.float64),
            concatenate([group.view.document_ordinals[group.rows] for group in scored_rows], np.int32),
            np.repeat(is_chunk, counts),
            is_current,
            is_eligible,
            None if contributions is None else _concatenate_contributions(contributions, counts),
        )

    def __len__(self) -> int:
        return len(self.scores)

    def with_rows(self, query: AnalyzedQuery, view: AnySegmentView, rows: Positions) -> "Candidates":
        """Append rows of a segment, which may be results."""
        row_contributions = first_stage_contributions(query, view, rows)
        scores: NDArray[np.float32] = np.add.reduce([*row_contributions.values()])
        added = Candidates.from_scored_rows([ScoredRows(view, rows, scores)])
        return Candidates(
            [*self.scored_rows, *added.scored_rows],
            np.append(self.scores, added.scores),
            np.append(self.document_ordinals, added.document_ordinals),
            np.append(self.is_chunk, added.is_chunk),
            np.append(self.is_current, added.is_current),
            np.append(self.is_eligible, added.is_eligible),
            None
            if self.contributions is None
            else _concatenate_contributions([self.contributions, row_contributions], [len(self), len(rows)]),
        )

    def with_contribution(
        self, factor: ScoreFactor, amounts: NDArray[np.float64], rows: Positions | NDArray[np.bool_]
    ) -> "Candidates":
        """Add to the scores of some rows, one amount for each."""
        scores = self.scores.copy()
        scores[rows] += amounts
        contributions = self.contributions
        if contributions is not None:
            before = contributions.get(factor)
            after = np.full(len(self), np.nan) if before is None else before.copy()
            after[rows] = np.nan_to_num(after[rows]) + amounts
            contributions = {**contributions, factor: after}
        return replace(self, scores=scores, contributions=contributions)

    def with_scores(self, factor: ScoreFactor, scores: Mapping[int, float]) -> "Candidates":
        """Give the rows at these positions these scores; the difference is the factor's contribution."""
        rows = np.array(list(scores), np.intp)
        return self.with_contribution(factor, np.array(list(scores.values())) - self.scores[rows], rows)

    def only_memories(self) -> "Candidates":
        """Leave the chunks out."""
        kept, contributions = ~self.is_chunk, self.contributions
        return Candidates(
            [group for group in self.scored_rows if row_kind(group.view) == "memory"],
            self.scores[kept],
            self.document_ordinals[kept],
            self.is_chunk[kept],
            self.is_current[kept],
            self.is_eligible[kept],
            None if contributions is None else {factor: amounts[kept] for factor, amounts in contributions.items()},
        )

    def text(self, position: int) -> str:
        view, row = self.locate(position)
        return view.segment.columns.texts[row]

    def best_positions(self, limit: int) -> Positions:
        """Positions of the best eligible rows, best first; of equal ones the earlier row."""
        positions = np.argsort(-self.scores, kind="stable")
        best: Positions = positions[self.is_eligible[positions]][:limit]
        return best

    def top_positions(self, min_score: float, kinds: Collection[RowKind], limit: int) -> Positions:
        """Positions of the best eligible rows of these kinds, and of all that tie with the last of them."""
        kind_fits = np.array([kind in kinds for kind in ("memory", "chunk")])[self.is_chunk.astype(np.intp)]
        positions = np.flatnonzero((self.scores >= min_score) & kind_fits & self.is_eligible)
        if len(positions) <= limit:
            return positions
        scores = self.scores[positions]
        best: Positions = positions[scores >= kth_largest(scores, limit) - SCORE_TOLERANCE]
        return best

    def memory_positions(self) -> dict[tuple[AnySegmentView, int], int]:
        """The position of each memory, by its segment and its row there."""
        starts = accumulate((len(group.rows) for group in self.scored_rows), initial=0)
        return {
            (group.view, row): position
            for start, group in zip(starts, self.scored_rows, strict=False)
            if row_kind(group.view) == "memory"
            for position, row in enumerate(group.rows.tolist(), start)
        }

    def locate(self, position: int) -> tuple[AnySegmentView, int]:
        """The segment of a candidate, and its row there."""
        for group in self.scored_rows:
            if position < len(group.rows):
                return group.view, int(group.rows[position])
            position -= len(group.rows)
        raise IndexError(position)

    def explain(self, position: int) -> ScoreExplanation | None:
        """The contributions to a row's score."""
        if self.contributions is None:
            return None
        return {
            factor: float(amounts[position])
            for factor, amounts in self.contributions.items()
            if not np.isnan(amounts[position])
        }


@dataclass(frozen=True, slots=True)
class SuccessorPairs:
    """Candidate positions of superseded memories, and beside each the position of a current successor."""

    superseded: NDArray[np.intp]
    successors: NDArray[np.intp]


def first_stage_contributions(
    query: AnalyzedQuery, view: AnySegmentView, rows: Positions
) -> Mapping[ScoreFactor, NDArray[np.float32]]:
    segment = view.segment
    bm25 = query.bm25(row_kind(view), segment.postings).add_terms(
        np.zeros(len(rows), np.float32), rows, query.term_weights.weights
    )
    contributions: dict[ScoreFactor, NDArray[np.float32]] = {
        "bm25": query.bm25_contribution(bm25),
        "documentBm25": query.document_contribution(view.document_ordinals[rows]),
    }
    if query.vectors_comparable(segment.columns.vectors):
        contributions["vector"] = query.vector_contribution(segment, rows)
        if query.topic is not None:
            contributions["topic"] = query.topic_contribution(query.topic, segment, rows)
            contributions["vector"] = contributions["vector"] - contributions["topic"]
    return contributions


def row_kind(view: AnySegmentView) -> RowKind:
    return "chunk" if isinstance(view.segment.columns, ChunkColumns) else "memory"


def current_memories(columns: MemoryColumns, rows: Positions | slice, *, include_forgotten: bool) -> NDArray[np.bool_]:
    """Mask of the memories that are the newest version and not forgotten, or forgotten ones included."""
    forgotten = columns.forgotten[rows]
    current: NDArray[np.bool_] = columns.is_latest[rows] & ~forgotten
    return current | forgotten if include_forgotten else current


def eligible_mask(view: AnySegmentView, *, include_forgotten: bool) -> NDArray[np.bool_]:
    """Mask of the rows that may be results: visible ones and, of memories, the newest versions."""
    columns = view.segment.columns
    if isinstance(columns, MemoryColumns):
        eligible = current_memories(columns, slice(None), include_forgotten=include_forgotten)
    else:
        eligible = np.ones(len(view.segment), np.bool_)
    if view.mask is not None:
        eligible &= view.mask
    return eligible


def _current_mask(scored_rows: ScoredRows, *, include_forgotten: bool = False) -> NDArray[np.bool_]:
    columns = scored_rows.view.segment.columns
    if not isinstance(columns, MemoryColumns):
        return np.ones(len(scored_rows.rows), np.bool_)
    return current_memories(columns, scored_rows.rows, include_forgotten=include_forgotten)


def _concatenate_contributions(
    contributions: Sequence[RowContributions], row_counts: Sequence[int]
) -> Mapping[ScoreFactor, NDArray[np.float64]]:
    factors = dict.fromkeys(factor for group in contributions for factor in group)
    return {
        factor: concatenate(
            [group.get(factor, np.full(count, np.nan)) for group, count in zip(contributions, row_counts, strict=True)],
            np.float64,
        )
        for factor in factors
    }
