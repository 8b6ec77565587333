"""Lengths of documents in terms, summed over the visible chunks of one segment."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class DocumentLengths:
    """Total number of terms by document; entry 0 belongs to the document with ordinal `first_ordinal`."""

    first_ordinal: int
    term_counts: NDArray[np.float64]

    @classmethod
    def from_rows(cls, row_lengths: NDArray[np.uint32], document_ordinals: NDArray[np.int32]) -> "DocumentLengths":
        if not len(document_ordinals):
            return cls(0, np.zeros(0))
        first = int(document_ordinals.min())
        return cls(first, np.bincount(document_ordinals - first, row_lengths).astype(np.float64, copy=False))

    @classmethod
    def sum(cls, parts: Iterable["DocumentLengths"]) -> "DocumentLengths":
        """The lengths over several segments, from ordinal 0 on."""
        total = np.zeros(1)
        for part in parts:
            last = part.first_ordinal + len(part.term_counts)
            if last > len(total):
                grown = np.zeros(max(last, 2 * len(total)))
                grown[: len(total)] = total
                total = grown
            total[part.first_ordinal : last] += part.term_counts
        return cls(0, total)

    @cached_property
    def term_count(self) -> int:
        return int(self.term_counts.sum())

    @cached_property
    def document_count(self) -> int:
        return int(np.count_nonzero(self.term_counts))
