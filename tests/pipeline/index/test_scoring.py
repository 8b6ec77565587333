"""Scores: bounded, on one scale, and BM25 as it is written in books."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.index import scoring
from pipeline.index.parameters import K1, NONE, SENTENCES, WORDLLAMA, B, Calibration, calibration
from pipeline.index.postings import invert
from pipeline.index.scoring import Bm25, Lengths, Statistics, Weights, best

SCALES = st.sampled_from([WORDLLAMA, NONE, SENTENCES])


@given(SCALES, st.floats(0, 1))
def test_the_cut_of_a_threshold_has_that_similarity(scale: Calibration, threshold: float) -> None:
    cut = scale.cut(threshold)
    if math.isfinite(cut):
        assert scale.similarity(cut) == pytest.approx(threshold, abs=1e-9)


@given(SCALES, st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_similarity_grows_with_the_score_within_0_and_1(scale: Calibration, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert 0.0 <= scale.similarity(low) <= scale.similarity(high) <= 1.0


def test_threshold_0_lets_everything_through_and_1_nothing() -> None:
    assert (WORDLLAMA.cut(0.0), WORDLLAMA.cut(1.0)) == (-math.inf, math.inf)


def test_each_kind_of_embedder_has_its_scale() -> None:
    assert [calibration(name) for name in ("wordllama-256", "none", "text-embedding-3-small")] == [
        WORDLLAMA,
        NONE,
        SENTENCES,
    ]


@given(st.lists(st.lists(st.integers(0, 5), max_size=6), min_size=1, max_size=6))
def test_bm25_is_the_formula_divided_by_its_bound(rows: list[list[int]]) -> None:
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    postings = invert(np.array([term for row in rows for term in row], np.uint32), offsets)
    weights = Weights({1: 2.0, 3: 0.5, 9: 1.0})
    average = 3.0
    for row, score in zip(rows, Bm25(weights, postings, average, K1).every().tolist(), strict=True):
        wanted = sum(
            weight * row.count(term) * (K1 + 1) / (row.count(term) + K1 * (1 - B + B * len(row) / average))
            for term, weight in weights.terms.items()
        ) / (weights.total * (K1 + 1))
        assert score == pytest.approx(wanted, abs=1e-5)
        assert 0 <= score < 1


@given(st.lists(st.lists(st.integers(0, 5), max_size=6), min_size=1, max_size=6))
def test_what_is_passed_over_adds_up_to_the_same_scores(rows: list[list[int]]) -> None:
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    postings = invert(np.array([term for row in rows for term in row], np.uint32), offsets)
    words = Bm25(Weights({1: 2.0, 3: 0.5, 9: 1.0}, passed_over={3}), postings, 3.0, K1)
    everywhere = np.arange(len(rows))
    added = words.more(words.telling(), everywhere, {3})
    assert added == pytest.approx(words.every(), abs=1e-6)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(1, 6), st.lists(st.integers(0, 3), max_size=6)), min_size=1))
def test_documents_score_the_same_however_their_passages_are_counted(
    passages: list[tuple[int, list[int]]],
) -> None:
    rows = [terms for _, terms in passages]
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    postings = invert(np.array([term for row in rows for term in row], np.uint32), offsets)
    documents = np.array([document for document, _ in passages], np.int32)
    statistics = Statistics({1: 0, 2: 0})
    statistics.add("chunk", postings, None, documents, Lengths.of(postings.lengths, documents))
    few = statistics.documents()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(scoring, "_MANY_DOCUMENTS", 0)
        many = statistics.documents()
    assert np.array_equal(many, few)


def test_rare_words_weigh_more_and_absent_ones_most() -> None:
    offsets = np.array([0, 1, 2, 4], np.int64)
    statistics = Statistics({1: 0, 2: 0, 3: 0})
    postings, documents = invert(np.array([1, 1, 1, 2], np.uint32), offsets), np.array([1, 1, 2], np.int32)
    statistics.add("chunk", postings, None, documents, Lengths.of(postings.lengths, documents))
    weights = statistics.weights().terms
    assert weights[1] < weights[2] < weights[3]
    assert statistics.average("chunk") == pytest.approx(4 / 3)


@given(st.lists(st.floats(-5, 5, width=32), max_size=30), st.integers(1, 10))
def test_the_best_are_the_first_of_a_full_sort(scores: list[float], limit: int) -> None:
    array = np.array(scores, np.float32)
    rows = np.arange(len(scores))
    assert best(array, rows, limit).tolist() == np.argsort(-array, kind="stable")[:limit].tolist()
