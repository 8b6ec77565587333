"""Cues of texts and dates, which order what is of about the same merit: speakers, times, numbers, neighbors."""

from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from pipeline.index.ranking.analyzed_query import AnalyzedQuery
from pipeline.index.ranking.array_operations import kth_largest
from pipeline.index.ranking.candidates import AnySegmentView, Candidates
from pipeline.index.ranking.ranking_parameters import (
    CUE_DECAY_SCORE,
    CUE_LEAD_SHARE,
    FEATURE_RANKS_PER_RESULT,
    FULL_CUE_SIMILARITY,
    MIN_ANSWER_SIMILARITY,
    MIN_FEATURE_RANKS,
    NEWER_MAX_CHARS,
)
from pipeline.index.ranking.search_request_and_hits import ScoreFactor
from pipeline.index.segments.document_store import DocumentStore
from pipeline.index.segments.segment_list import SegmentView
from pipeline.rows import ChunkColumns


def add_neighbor_feature(query: AnalyzedQuery, candidates: Candidates) -> Candidates:
    """Add what the passages before and after a short passage mean of the query, but make no answer of it by that."""
    start, answering_score = 0, query.calibration.raw_score_at(MIN_ANSWER_SIMILARITY)
    for group in candidates.scored_rows:
        rows = start + np.arange(len(group.rows))
        start += len(group.rows)
        if _holds_chunks(group.view) and query.vectors_comparable(group.view.segment.columns.vectors):
            gains = query.neighbor_contribution(group.view, group.rows).astype(np.float64)
            missing = np.maximum(answering_score - candidates.scores[rows], 1e-6)
            below = candidates.scores[rows] < answering_score
            gains = np.where(below, missing * -np.expm1(-gains / missing), gains)
            gaining = np.flatnonzero(gains > 0.0)
            candidates = candidates.with_contribution("neighbor", gains[gaining], rows[gaining])
    return candidates


def _holds_chunks(view: AnySegmentView) -> TypeGuard[SegmentView[ChunkColumns]]:
    return isinstance(view.segment.columns, ChunkColumns)


def cue_gains(
    query: AnalyzedQuery, candidates: Candidates, documents: DocumentStore, limit: int
) -> dict[ScoreFactor, NDArray[np.float64]]:
    """Gains of speakers, times, numbers and dates: they order what is of about the same merit, and make no answer."""
    merits = _merits(query, candidates)
    cues = _text_cues(query, candidates, merits, limit) | _date_cue(query, candidates, documents)
    if not cues:
        return {}
    gains = {factor: amounts * merits for factor, amounts in cues.items()}
    total: NDArray[np.float64] = np.add.reduce(list(gains.values()))
    shares = _answerless_gains(query, candidates, total) / np.maximum(total, 1e-9)
    return {factor: amounts * shares for factor, amounts in gains.items()}


def _answerless_gains(query: AnalyzedQuery, candidates: Candidates, gains: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bound the gains of short statements that are no answers: they only come closer to the threshold."""
    missing = query.calibration.raw_score_at(MIN_ANSWER_SIMILARITY) - candidates.scores
    gaining = np.flatnonzero((gains > 0.0) & (missing > 0.0))
    short = gaining[[len(candidates.text(at)) <= NEWER_MAX_CHARS for at in gaining.tolist()]]
    bounded = gains.copy()
    bounded[short] = missing[short] * -np.expm1(-gains[short] / missing[short])
    return bounded


def limit_lead(candidates: Candidates, best: float) -> Candidates:
    """Lower what has come above the best score without cues by most of its lead, in the same order."""
    leads = np.flatnonzero(candidates.scores > best)
    return candidates.with_contribution("cueLimit", (CUE_LEAD_SHARE - 1.0) * (candidates.scores[leads] - best), leads)


def _text_cues(
    query: AnalyzedQuery, candidates: Candidates, merits: NDArray[np.float64], limit: int
) -> dict[ScoreFactor, NDArray[np.float64]]:
    """The features that depend on the query's intent and the texts, of those texts that they can lift high enough."""
    compared = min(max(FEATURE_RANKS_PER_RESULT * limit, MIN_FEATURE_RANKS), len(candidates) - 1)
    least = kth_largest(candidates.scores, compared) if compared > 0 else -np.inf
    within_reach = np.flatnonzero(candidates.scores + query.intent.max_feature_score * merits >= least)
    cues: dict[ScoreFactor, NDArray[np.float64]] = {}
    for position in within_reach.tolist():
        for factor, amount in query.intent.feature_scores(candidates.text(position)):
            cues.setdefault(factor, np.zeros(len(candidates)))[position] = amount
    return cues


def _date_cue(
    query: AnalyzedQuery, candidates: Candidates, documents: DocumentStore
) -> dict[ScoreFactor, NDArray[np.float64]]:
    """The boost for documents of the time that the query names."""
    intent = query.intent
    if not intent.date_ranges:
        return {}
    ordinals, inverse = np.unique(candidates.document_ordinals, return_inverse=True)
    stored = [documents.get(ordinal) for ordinal in ordinals.tolist()]
    boosts = [0.0 if document is None else intent.date_boost(document.effective_date) for document in stored]
    return {"date": np.array(boosts)[inverse]}


def _merits(query: AnalyzedQuery, candidates: Candidates) -> NDArray[np.float64]:
    """The share of a cue that each candidate is given, by its similarity so far and its distance to the best."""
    calibration, scores = query.calibration, candidates.scores
    best = scores.max(where=candidates.is_eligible, initial=-np.inf)
    exponents = np.minimum((calibration.midpoint - scores) / calibration.width, 50.0)
    merits = np.minimum(1.0 / (1.0 + np.exp(exponents)) / FULL_CUE_SIMILARITY, 1.0)
    distances: NDArray[np.float64] = np.maximum(best - scores, 0.0)
    return merits * np.exp(-distances / CUE_DECAY_SCORE)
