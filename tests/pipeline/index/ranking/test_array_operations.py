"""Cosines of packed rows."""

import numpy as np
import pytest

from pipeline.index.ranking import array_operations
from pipeline.index.ranking.array_operations import cosines
from pipeline.packed_vectors import pack, unpack

STORED = pack(np.random.default_rng(3).normal(size=(300, 24)).astype(np.float32))
QUERY = np.random.default_rng(4).normal(size=24).astype(np.float32)
ROWS = np.array([0, 7, 8, 150, 299])


@pytest.mark.parametrize("numbers_at_once", [1, 24 * 7, 1_000_000])
def test_a_row_has_the_same_cosine_whatever_is_computed_with_it(
    monkeypatch: pytest.MonkeyPatch, numbers_at_once: int
) -> None:
    expected = cosines(STORED, QUERY)
    assert np.allclose(expected, unpack(STORED) @ QUERY, atol=1e-5)
    monkeypatch.setattr(array_operations, "_UNPACKED_NUMBERS", numbers_at_once)
    assert np.array_equal(cosines(STORED, QUERY), expected)
    assert np.array_equal(cosines(STORED, QUERY, ROWS), expected[ROWS])


def test_no_rows_have_no_cosines() -> None:
    assert cosines(STORED[:0], QUERY).shape == cosines(STORED, QUERY, ROWS[:0]).shape == (0,)
