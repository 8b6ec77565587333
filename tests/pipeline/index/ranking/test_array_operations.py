"""Cosines of rows in either precision."""

import numpy as np
import pytest

from pipeline.index.ranking import array_operations
from pipeline.index.ranking.array_operations import cosines

STORED = np.random.default_rng(3).normal(size=(300, 24)).astype(np.float16)
QUERY = np.random.default_rng(4).normal(size=24).astype(np.float32)
ROWS = np.array([0, 7, 8, 150, 299])


@pytest.mark.parametrize("numbers_at_once", [1, 24 * 7, 1_000_000])
def test_half_and_single_precision_have_the_same_cosines(monkeypatch: pytest.MonkeyPatch, numbers_at_once: int) -> None:
    monkeypatch.setattr(array_operations, "_CONVERTED_NUMBERS", numbers_at_once)
    single = STORED.astype(np.float32)
    assert np.array_equal(cosines(STORED, QUERY), cosines(single, QUERY))
    assert np.array_equal(cosines(STORED, QUERY, ROWS), cosines(single, QUERY)[ROWS])
    assert np.array_equal(cosines(single, QUERY, ROWS), cosines(single, QUERY)[ROWS])


def test_no_rows_have_no_cosines() -> None:
    assert cosines(STORED[:0], QUERY).shape == cosines(STORED, QUERY, ROWS[:0]).shape == (0,)
