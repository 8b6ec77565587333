"""The part that all vectors of a model have in common, taken out of both sides before they are compared.

Whatever e5 compares, its cosines lie between 0.7 and 0.9: they share a large part, statements another one than
questions, and each language its own. Without the means of statements and questions and without the directions in
which the means of 22 languages differ, the cosine tells what is meant (decision record 0043). Stored vectors
stay as they are, so the means may change with the ranking.
"""

from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from pipeline.packed_vectors import unpack
from pipeline.rows import PackedVectors, Vector

E5_FILE = Path(__file__).parent / "e5_common_part.npy"
E5_WITH_ENCODER_FILE = Path(__file__).parent / "e5_with_encoder_common_part.npy"
"""Rows: the mean of statements, that of questions, everyday statements, then the directions.

Made by `python -m bench.common_part`."""


@dataclass(frozen=True, eq=False)
class CommonPart:
    """Means of a model's vectors, and the directions in which only the language differs."""

    document_mean: Vector
    query_mean: Vector
    everyday: Vector
    """The mean direction of everyday statements: a question that is like it is like any of them."""
    directions: NDArray[np.float32]
    """Orthonormal rows."""

    @cached_property
    def fingerprint(self) -> int:
        """Number that tells common parts apart, the same in every process."""
        return crc32(self.directions.tobytes(), crc32(self.document_mean.tobytes()))

    def query_direction(self, vector: Vector) -> Vector:
        """The rest of a query's vector, of unit length."""
        rest = vector - self.query_mean
        rest = rest - np.vecdot(self.directions, rest) @ self.directions
        direction: Vector = (rest / np.sqrt(rest @ rest)).astype(np.float32)
        return direction

    def cosine(self, left: Vector, right: Vector) -> float:
        """The cosine of two documents' vectors without the common part."""
        first, second = self.directions_of(np.stack([left, right]))
        return float(first @ second)

    def directions_of(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """The rest of each document's vector, of unit length; zero for a row without a vector."""
        rest: NDArray[np.float32] = vectors - self.document_mean
        rest -= (rest @ self.directions.T) @ self.directions
        rest /= self.lengths(vectors)[:, None]
        return rest

    def lengths(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """The length of the rest of each row; infinite for a row of zeros, which has no vector yet."""
        mean = self.document_mean
        squares: NDArray[np.float32] = np.vecdot(vectors, vectors)
        rest: NDArray[np.float32] = squares + np.float32(mean @ mean)
        rest -= np.float32(2.0) * np.vecdot(vectors, mean)
        for direction in self.directions:
            rest -= (np.vecdot(vectors, direction) - np.float32(mean @ direction)) ** 2
        np.sqrt(np.maximum(rest, _MIN_SQUARE), out=rest)
        rest[squares == 0.0] = np.inf
        return rest


_MIN_SQUARE = np.float32(1e-6)
"""Keeps the mean itself from a division by zero."""


@dataclass(eq=False)
class LengthCache:
    """Lengths of the rows of a segment for the common part that was last used; computed on first use."""

    common_part: int | None = None
    """The fingerprint of the common part that these are the lengths for."""
    stored: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))

    def lengths(self, common: CommonPart, vectors: PackedVectors) -> NDArray[np.float32]:
        """The lengths of these vectors, which are always the same ones."""
        if self.common_part != common.fingerprint:
            self.stored, self.common_part = common.lengths(unpack(vectors)), common.fingerprint
        return self.stored


@cache
def read_common_part(path: Path) -> CommonPart:
    means: NDArray[np.float32] = np.load(path)
    return CommonPart(means[0], means[1], means[2], means[3:])
