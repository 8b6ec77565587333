"""Vectors as signs: 32 bytes say which rows of thousands are worth an exact cosine.

A row is the signs of its differences from the mean of its segment, a question the signs of the larger half
of its numbers: how many of these differ is counted with xor and bit counts.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.rows import Vector

Planes = NDArray[np.uint64]
_WORD = 64


@dataclass(frozen=True, slots=True)
class Codes:
    """Of a segment: `planes` is (words, rows), `sizes` the mean difference of each row from `mean`."""

    mean: Vector
    planes: Planes
    sizes: NDArray[np.float32]

    @classmethod
    def of(cls, vectors: NDArray[np.float32]) -> "Codes":
        """The codes of the rows of a matrix."""
        mean = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
        apart = vectors - mean
        return cls(mean, np.ascontiguousarray(_packed(apart > 0).T), np.abs(apart).mean(axis=1))

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.mean.nbytes + self.planes.nbytes + self.sizes.nbytes

    def near(self, vector: Vector) -> NDArray[np.float32]:
        """About the cosine of every row: the order of the best thousands, not their scores."""
        size = np.abs(vector)
        large = size >= np.median(size)
        counted, mean = int(np.count_nonzero(large)), size[large].mean()
        signs, chosen = _packed(vector[None] > 0)[0], _packed(large[None])[0]
        apart = np.zeros(self.planes.shape[1], np.min_scalar_type(counted))
        differing, bits = np.empty_like(self.planes[0]), np.empty(len(apart), np.uint8)
        for plane, sign, here in zip(self.planes, signs, chosen, strict=True):
            np.bitwise_xor(plane, sign, out=differing)
            np.bitwise_and(differing, here, out=differing)
            apart += np.bitwise_count(differing, out=bits)
        near = np.multiply(apart, np.float32(-2 * mean), dtype=np.float32)
        near += np.float32(counted * mean)
        near *= self.sizes
        near += np.float32(self.mean @ vector)
        return near


def _packed(signs: NDArray[np.bool_]) -> Planes:
    """Bits by row as whole words; what is missing to the last one is zero in rows and questions alike."""
    bits = np.packbits(signs, axis=1)
    missing = -bits.shape[1] % (_WORD // 8)
    if missing:
        bits = np.pad(bits, ((0, 0), (0, missing)))
    return np.ascontiguousarray(bits).view(np.uint64)
