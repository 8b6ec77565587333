"""Scores: bounded, on one scale, and BM25 as it is written in books."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.index.ranking import collection_statistics
from pipeline.index.ranking.array_operations import top_k
from pipeline.index.ranking.bm25_scorer import Bm25Scorer, TermWeights
from pipeline.index.ranking.calibration import (
    BM25_ONLY_CALIBRATION,
    SENTENCE_MODEL_CALIBRATION,
    WORDLLAMA_CALIBRATION,
    Calibration,
    calibration_for,
)
from pipeline.index.ranking.collection_statistics import CollectionStatistics
from pipeline.index.ranking.ranking_parameters import K1, B
from pipeline.index.segments.document_lengths import DocumentLengths
from pipeline.index.segments.postings import build_postings

SCALES = st.sampled_from([WORDLLAMA_CALIBRATION, BM25_ONLY_CALIBRATION, SENTENCE_MODEL_CALIBRATION])


@given(SCALES, st.floats(0, 1))
def test_the_cut_of_a_threshold_has_that_similarity(scale: Calibration, threshold: float) -> None:
    cut = scale.raw_score_at(threshold)
    if math.isfinite(cut):
        assert scale.similarity(cut) == pytest.approx(threshold, abs=1e-9)


@given(SCALES, st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_similarity_grows_with_the_score_within_0_and_1(scale: Calibration, left: float, right: float) -> None:
    low, high = sorted((left, right))
    assert 0.0 <= scale.similarity(low) <= scale.similarity(high) <= 1.0


def test_threshold_0_lets_everything_through_and_1_nothing() -> None:
    assert (WORDLLAMA_CALIBRATION.raw_score_at(0.0), WORDLLAMA_CALIBRATION.raw_score_at(1.0)) == (
        -math.inf,
        math.inf,
    )


def test_each_kind_of_embedder_has_its_scale() -> None:
    assert [calibration_for(name) for name in ("wordllama-256", "none", "text-embedding-3-small")] == [
        WORDLLAMA_CALIBRATION,
        BM25_ONLY_CALIBRATION,
        SENTENCE_MODEL_CALIBRATION,
    ]


@given(st.lists(st.lists(st.integers(0, 5), max_size=6), min_size=1, max_size=6))
def test_bm25_is_the_formula_divided_by_its_bound(rows: list[list[int]]) -> None:
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    postings = build_postings(np.array([term for row in rows for term in row], np.uint32), offsets)
    weights = TermWeights({1: 2.0, 3: 0.5, 9: 1.0})
    average = 3.0
    for row, score in zip(
        rows, Bm25Scorer(weights, postings, average, K1).score(weights.weights).tolist(), strict=True
    ):
        wanted = sum(
            weight * row.count(term) * (K1 + 1) / (row.count(term) + K1 * (1 - B + B * len(row) / average))
            for term, weight in weights.weights.items()
        ) / (weights.total_weight * (K1 + 1))
        assert score == pytest.approx(wanted, abs=1e-5)
        assert 0 <= score < 1


@given(st.lists(st.lists(st.integers(0, 5), max_size=6), min_size=1, max_size=6))
def test_what_is_passed_over_adds_up_to_the_same_scores(rows: list[list[int]]) -> None:
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    postings = build_postings(np.array([term for row in rows for term in row], np.uint32), offsets)
    words = Bm25Scorer(TermWeights({1: 2.0, 3: 0.5, 9: 1.0}, deferred_terms={3}), postings, 3.0, K1)
    everywhere = np.arange(len(rows))
    added = words.add_terms(words.score(words.term_weights.discriminative_terms), everywhere, {3})
    assert added == pytest.approx(words.score(words.term_weights.weights), abs=1e-6)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(1, 6), st.lists(st.integers(0, 3), max_size=6)), min_size=1))
def test_documents_score_the_same_however_their_passages_are_counted(
    passages: list[tuple[int, list[int]]],
) -> None:
    rows = [terms for _, terms in passages]
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    postings = build_postings(np.array([term for row in rows for term in row], np.uint32), offsets)
    documents = np.array([document for document, _ in passages], np.int32)
    statistics = CollectionStatistics({1: 0, 2: 0})
    statistics.add_segment("chunk", postings, None, documents, DocumentLengths.from_rows(postings.lengths, documents))
    few = statistics.document_scores()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(collection_statistics, "_SPARSE_COUNT_MIN_DOCUMENTS", 0)
        many = statistics.document_scores()
    assert np.array_equal(many, few)


def test_rare_words_weigh_more_and_absent_ones_most() -> None:
    offsets = np.array([0, 1, 2, 4], np.int64)
    statistics = CollectionStatistics({1: 0, 2: 0, 3: 0})
    postings, documents = (
        build_postings(np.array([1, 1, 1, 2], np.uint32), offsets),
        np.array([1, 1, 2], np.int32),
    )
    statistics.add_segment("chunk", postings, None, documents, DocumentLengths.from_rows(postings.lengths, documents))
    weights = statistics.term_weights().weights
    assert weights[1] < weights[2] < weights[3]
    assert statistics.average_length("chunk") == pytest.approx(4 / 3)


@given(st.lists(st.floats(-5, 5, width=32), max_size=30), st.integers(1, 10))
def test_the_best_are_the_first_of_a_full_sort(scores: list[float], limit: int) -> None:
    array = np.array(scores, np.float32)
    rows = np.arange(len(scores))
    assert top_k(array, rows, limit).tolist() == np.argsort(-array, kind="stable")[:limit].tolist()
