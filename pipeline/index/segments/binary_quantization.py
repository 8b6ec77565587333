"""Binary quantization of vectors: 32 bytes per row select the rows that deserve an exact cosine.

A row is encoded as the signs of its differences from the segment's mean, a query as the signs of its components
and two magnitudes: that of its largest quarter and that of its middle half. Differing bits of either are counted
with XOR and population count.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.rows import Vector

BitPlanes = NDArray[np.uint64]
_WORD_BITS = 64


@dataclass(frozen=True, slots=True)
class SignBitCodes:
    """Codes of a segment. `bit_planes`: (words, rows); `mean_deviations`: mean |row - mean| of each row."""

    mean: Vector
    bit_planes: BitPlanes
    mean_deviations: NDArray[np.float32]

    @classmethod
    def quantize(cls, vectors: NDArray[np.float32]) -> "SignBitCodes":
        """Encode the rows of a matrix."""
        mean = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
        differences = vectors - mean
        bit_planes = np.ascontiguousarray(_pack_bits(differences > 0).T)
        return cls(mean, bit_planes, np.abs(differences).mean(axis=1))

    @property
    def nbytes(self) -> int:
        return self.mean.nbytes + self.bit_planes.nbytes + self.mean_deviations.nbytes

    def approximate_cosines(self, vector: Vector) -> NDArray[np.float32]:
        """Estimate the cosine of every row: good for preselecting thousands, not as a score."""
        estimates = np.full(self.bit_planes.shape[1], self.mean @ vector, np.float32)
        signs = _pack_bits(vector[None] > 0)[0]
        magnitudes = np.abs(vector)
        groups = _magnitude_groups(magnitudes)
        for group, distances in zip(groups, self._count_differing_bits(signs, groups), strict=True):
            bit_count, mean = len(group), magnitudes[group].mean()
            terms = np.multiply(distances, np.float32(-2 * mean), dtype=np.float32)
            terms += np.float32(bit_count * mean)
            terms *= self.mean_deviations
            estimates += terms
        return estimates

    def _count_differing_bits(
        self, signs: BitPlanes, groups: Sequence[NDArray[np.intp]]
    ) -> list[NDArray[np.unsignedinteger]]:
        """Count, for every row, the components of each group whose signs differ from the query's."""
        rows = self.bit_planes.shape[1]
        distances = [np.zeros(rows, np.min_scalar_type(len(group))) for group in groups]
        masks = [self._mask_of(group) for group in groups]
        differing, chosen, counts = (np.empty(rows, kind) for kind in (np.uint64, np.uint64, np.uint8))
        for word, (plane, sign) in enumerate(zip(self.bit_planes, signs, strict=True)):
            np.bitwise_xor(plane, sign, out=differing)
            for mask, total in zip(masks, distances, strict=True):
                if mask[word]:
                    np.bitwise_and(differing, mask[word], out=chosen)
                    np.add(total, np.bitwise_count(chosen, out=counts), out=total)
        return distances

    def _mask_of(self, components: NDArray[np.intp]) -> BitPlanes:
        chosen = np.zeros((1, len(self.mean)), np.bool_)
        chosen[0, components] = True
        mask: BitPlanes = _pack_bits(chosen)[0]
        return mask


def _magnitude_groups(magnitudes: Vector) -> list[NDArray[np.intp]]:
    """Return the largest quarter of the components and the middle half; the smallest quarter says too little."""
    order, quarter = np.argsort(magnitudes), len(magnitudes) // 4
    groups = np.split(order, [quarter, len(order) - quarter])[1:]
    return [group for group in groups if len(group)]


def _pack_bits(signs: NDArray[np.bool_]) -> BitPlanes:
    """Pack rows of bits into 64-bit words; the last word is padded with zeros, in rows and queries alike."""
    bits = np.packbits(signs, axis=1)
    missing = -bits.shape[1] % (_WORD_BITS // 8)
    if missing:
        bits = np.pad(bits, ((0, 0), (0, missing)))
    return np.ascontiguousarray(bits).view(np.uint64)
