"""Array operations that several ranking steps share; the same for arrays in memory and mapped from disk."""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pipeline.half_precision import as_float32
from pipeline.rows import Vector

Number = TypeVar("Number", bound=np.generic)
_CONVERTED_NUMBERS = 28_672
"""Numbers of half precision that are converted at once: their copies fit into the processor's first cache, and into the
allocator's heap, where larger ones cost a page fault for each 4 KB."""


def cosines(
    vectors: NDArray[np.float16] | NDArray[np.float32], vector: Vector, rows: NDArray[np.intp] | None = None
) -> NDArray[np.float32]:
    """Cosine of every row, or of these rows, with a vector, all of unit length.

    Computed row by row, not as a matrix product: the result does not depend on which rows lie together, and
    no BLAS thread has to wake, which on a busy machine takes longer than the work.
    """
    products = np.empty(len(vectors) if rows is None else len(rows), np.float32)
    step = _CONVERTED_NUMBERS // max(1, vectors.shape[1]) if vectors.dtype == np.float16 else len(products)
    step = max(1, step)
    for start in range(0, len(products), step):
        block = slice(start, start + step)
        np.vecdot(as_float32(vectors[block if rows is None else rows[block]]), vector, out=products[block])
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
