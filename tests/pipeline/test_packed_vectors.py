"""Vectors with a byte for each number."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipeline.packed_vectors import pack, packed_dimensions, round_vector, unpack


def normal_rows(seed: int, scale: float = 1.0) -> np.ndarray:
    return (scale * np.random.default_rng(seed).normal(size=(20, 37))).astype(np.float32)


@given(st.integers(0, 2**32 - 1), st.floats(1e-4, 1e4))
def test_packing_again_changes_nothing(seed: int, scale: float) -> None:
    packed = pack(normal_rows(seed, scale))
    assert np.array_equal(pack(unpack(packed)), packed)


@given(st.integers(0, 2**32 - 1), st.floats(1e-4, 1e4))
def test_a_number_changes_by_half_a_level_at_most(seed: int, scale: float) -> None:
    vectors = normal_rows(seed, scale)
    most = np.abs(vectors).max(axis=1) / 253
    assert (np.abs(unpack(pack(vectors)) - vectors).max(axis=1) <= most).all()


def test_a_vector_does_not_depend_on_those_beside_it() -> None:
    vectors = normal_rows(1)
    assert np.array_equal(round_vector(vectors[3]), unpack(pack(vectors))[3])


def test_zeros_stay_zeros() -> None:
    assert not round_vector(np.zeros(5, np.float32)).any()
    assert packed_dimensions(pack(np.zeros((0, 5), np.float32))) == 5
