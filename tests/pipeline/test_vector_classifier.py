"""Classifiers by vectors: what was learned, written and read, and vectors without any."""

from pathlib import Path

import numpy as np

from pipeline.vector_classifier import NOTHING_LEARNED, VectorClassifier, center_vectors, read_classifier

LEARNED = VectorClassifier(np.array([4, 0], np.float32), 0.5, np.array([0.5, 0.5], np.float32))


def test_texts_on_the_side_of_the_weights_are_of_the_kind() -> None:
    log_odds = LEARNED.log_odds(np.array([[1, 0.5], [0, 0.5]], np.float32))
    assert log_odds.tolist() == [4.5, -3.5]
    assert LEARNED.log_odds_of([np.array([1, 0.5], np.float32)]) == [4.5]


def test_a_text_without_a_vector_is_told_nothing_of() -> None:
    assert LEARNED.log_odds(np.zeros((2, 2), np.float32)).tolist() == [0, 0]
    assert LEARNED.log_odds_of([]) == []


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    LEARNED.save(tmp_path / "learned.npy")
    read = read_classifier(tmp_path / "learned.npy")
    assert (read.weights.tolist(), read.constant, read.mean.tolist()) == ([4, 0], 0.5, [0.5, 0.5])


def test_without_a_file_nothing_is_learned(tmp_path: Path) -> None:
    assert read_classifier(tmp_path / "missing.npy") is NOTHING_LEARNED
    assert NOTHING_LEARNED.log_odds(np.ones((2, 8), np.float32)).tolist() == [0, 0]


def test_centered_vectors_have_unit_length_and_zero_stays_zero() -> None:
    centered = center_vectors(np.array([[3, 4], [0, 0]], np.float32), np.zeros(2, np.float32))
    assert np.allclose(centered, np.array([[0.6, 0.8], [0, 0]]))
