"""Vectors are compared without what they have in common."""

from pathlib import Path

import numpy as np
import pytest

from pipeline.index.segments.common_part import E5_FILE, E5_WITH_ENCODER_FILE, CommonPart, LengthCache, read_common_part
from pipeline.packed_vectors import pack, unpack

MEAN = np.array([0.9, 0.1, 0.0, 0.0], np.float32)
COMMON = CommonPart(MEAN, MEAN, np.zeros(4, np.float32), np.array([[0.0, 0.0, 0.0, 1.0]], np.float32))


def test_what_differs_only_in_language_is_alike() -> None:
    first = MEAN + np.array([0.0, 0.0, 0.2, 0.3], np.float32)
    second = MEAN + np.array([0.0, 0.0, 0.2, -0.3], np.float32)
    assert COMMON.cosine(first, second) == pytest.approx(1.0, abs=1e-3)


def test_the_direction_of_a_query_has_no_part_in_a_languages_direction() -> None:
    direction = COMMON.query_direction(np.array([0.5, 0.5, 0.5, 0.5], np.float32))
    assert direction[3] == pytest.approx(0.0, abs=1e-6)
    assert np.linalg.norm(direction) == pytest.approx(1.0, abs=1e-6)


def test_a_row_without_a_vector_is_like_nothing() -> None:
    assert np.isinf(COMMON.lengths(np.zeros((1, 4), np.float32)))[0]


def test_lengths_are_those_of_the_rest_and_are_kept() -> None:
    vectors = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)
    packed = pack(vectors)
    rest = unpack(packed) - MEAN
    rest[:, 3] = 0.0
    cache = LengthCache()
    assert np.allclose(cache.lengths(COMMON, packed), np.linalg.norm(rest, axis=1), atol=1e-4)
    assert cache.lengths(COMMON, packed) is cache.lengths(COMMON, packed)


@pytest.mark.parametrize("file", [E5_FILE, E5_WITH_ENCODER_FILE])
def test_the_shipped_directions_are_orthonormal(file: Path) -> None:
    directions = read_common_part(file).directions
    assert np.allclose(directions @ directions.T, np.eye(len(directions)), atol=1e-4)


def test_documents_are_compared_in_the_directions_of_what_is_left_of_them() -> None:
    vectors = np.random.default_rng(2).normal(size=(3, 4)).astype(np.float32)
    directions = COMMON.directions_of(vectors)
    assert np.allclose(np.linalg.norm(directions, axis=1), 1.0, atol=1e-3)
    assert float(directions[0] @ directions[1]) == pytest.approx(COMMON.cosine(vectors[0], vectors[1]), abs=1e-5)
    assert not COMMON.directions_of(np.zeros((1, 4), np.float32)).any()
