"""Lengths of documents in terms, summed over the visible chunks of one segment."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class DocumentLengths:
    """Total number of terms by document; entry 0 belongs to the document with ordinal `first_ordinal`."""

    first_ordinal: int
    term_counts: NDArray[np.float64]

    @classmethod
    def from_rows(cls, row_lengths: NDArray[np.uint32], document_ordinals: NDArray[np.int32]) -> "DocumentLengths":
        """Sum the lengths of rows by the document each belongs to."""
        if not len(document_ordinals):
            return cls(0, np.zeros(0))
        first = int(document_ordinals.min())
        return cls(first, np.bincount(document_ordinals - first, row_lengths).astype(np.float64, copy=False))
