"""Array operations that several ranking steps share; the same for arrays in memory and mapped from disk."""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pipeline.rows import Vector

Number = TypeVar("Number", bound=np.generic)


def cosines(vectors: NDArray[np.float32], vector: Vector) -> NDArray[np.float32]:
    """Cosine of every row with a vector, all of unit length.

    Computed row by row, not as a matrix product: the result does not depend on which rows lie together, and
    no BLAS thread has to wake, which on a busy machine takes longer than the work.
    """
    products: NDArray[np.float32] = np.vecdot(vectors, vector)
    return products


def top_k(scores: NDArray[np.float32], rows: NDArray[np.intp], limit: int) -> NDArray[np.intp]:
    """The `limit` rows of highest score among `rows` (ascending), best first; equal scores in row order."""
    if len(rows) > limit:
        row_scores = scores if len(rows) == len(scores) else scores[rows]
        rows = rows[row_scores >= kth_largest(row_scores, limit)]
    return rows[np.argsort(-scores[rows], kind="stable")][:limit]


def kth_largest(values: NDArray[Number], k: int) -> Number:
    """The k-th largest of more than k values."""
    position = len(values) - k
    value: Number = np.partition(values, position)[position]
    return value


def concatenate(arrays: Sequence[NDArray[Any]], dtype: type[Number]) -> NDArray[Number]:
    """Concatenation that also works for no arrays at all."""
    return np.concatenate([np.zeros(0, dtype), *arrays], dtype=dtype, casting="same_kind")
