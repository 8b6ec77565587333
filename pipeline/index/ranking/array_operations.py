"""Array operations that several ranking steps share; the same for arrays in memory and mapped from disk."""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pipeline.packed_vectors import levels_and_scales
from pipeline.rows import PackedVectors, Vector

Number = TypeVar("Number", bound=np.generic)
_UNPACKED_NUMBERS = 28_672
"""Numbers that are unpacked at once. Their copy has less than 128 KB: malloc maps new pages for one that has more
(`app.process_tuning`), which takes several times as long as the cosines."""


def cosines(vectors: PackedVectors, vector: Vector, rows: NDArray[np.intp] | None = None) -> NDArray[np.float32]:
    """Cosine of every row, or of these rows, with a vector, all of unit length.

    Computed row by row, not as a matrix product: the result does not depend on which rows lie together, and
    no BLAS thread has to wake, which on a busy machine takes longer than the work.
    """
    products = np.empty(len(vectors) if rows is None else len(rows), np.float32)
    step = max(1, _UNPACKED_NUMBERS // vectors.shape[1])
    for start in range(0, len(products), step):
        block = slice(start, start + step)
        levels, scales = levels_and_scales(vectors[block if rows is None else rows[block]])
        np.vecdot(levels, vector, out=products[block])
        products[block] *= scales[:, 0]
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
