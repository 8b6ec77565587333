"""Vectors with one byte for each number: rows of levels from -127 to 127, behind them the row's scale in four bytes.

A level changes a number by at most 1/254 of the vector's largest one. Packing a vector that was unpacked gives the same
bytes: the products of levels and scale are exact in single precision, and the largest level is always 127.
"""

import numpy as np
from numpy.typing import NDArray

from pipeline.rows import PackedVectors, Vector

_LEVELS = np.float32(127)
_SCALE_BYTES = 4
_DROPPED_BITS = np.uint32(0x7F)
"""The last bits of a scale, which are zero: 17 digits remain, so that the product with 127 is exact."""


def packed_bytes(dimensions: int) -> int:
    return dimensions + _SCALE_BYTES


def packed_dimensions(packed: PackedVectors) -> int:
    return int(packed.shape[-1]) - _SCALE_BYTES


def pack(vectors: NDArray[np.float32]) -> PackedVectors:
    rows, dimensions = vectors.shape
    packed = np.empty((rows, packed_bytes(dimensions)), np.int8)
    largest = np.abs(vectors).max(axis=1, initial=0.0) / _LEVELS
    # Rounded up, so that no level exceeds 127.
    scales = ((largest.view(np.uint32) + _DROPPED_BITS) & ~_DROPPED_BITS).view(np.float32)
    packed[:, :dimensions] = np.rint(vectors / np.where(scales > 0, scales, 1)[:, None])
    packed[:, dimensions:] = scales[:, None].view(np.int8)
    return packed


def unpack(packed: PackedVectors) -> NDArray[np.float32]:
    levels, scales = levels_and_scales(packed)
    levels *= scales
    return levels


def levels_and_scales(packed: PackedVectors) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the factors of each vector; the scales are a matrix of one column."""
    dimensions = packed_dimensions(packed)
    return packed[..., :dimensions].astype(np.float32), packed[..., dimensions:].copy().view(np.float32)


def round_vector(vector: Vector) -> Vector:
    """Return the vector as it is once it was packed."""
    return unpack(pack(vector[None])[0])
