"""Which rows of a segment hold a term, and how often: the inverted half of BM25, in three flat arrays."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.rows import Terms

MAXIMUM_ROWS = 1 << 16
"""Rows are 16-bit numbers within their segment."""
_MOST_OFTEN = 255


@dataclass(frozen=True, slots=True)
class Postings:
    """Rows by term. `terms` is sorted; term i has rows and counts `[offsets[i]:offsets[i + 1]]`.

    `lengths` is the number of terms of each row, with repetition.
    """

    terms: Terms
    offsets: NDArray[np.int64]
    rows: NDArray[np.uint16]
    counts: NDArray[np.uint8]
    lengths: NDArray[np.uint32]

    def find_all(self, terms: Iterable[int]) -> Iterator[tuple[int, NDArray[np.uint16], NDArray[np.uint8]]]:
        """Each term that any row holds, as ordered; its rows, ascending, and how often each has it."""
        wanted = list(terms)
        if not wanted or not len(self.terms):
            return
        places = self.terms.searchsorted(np.array(wanted, np.uint32)).clip(max=len(self.terms) - 1)
        found = zip(
            wanted,
            self.terms[places].tolist(),
            self.offsets[places].tolist(),
            self.offsets[places + 1].tolist(),
            strict=True,
        )
        for term, here, start, end in found:
            if here == term:
                yield term, self.rows[start:end], self.counts[start:end]

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        arrays = (self.terms, self.offsets, self.rows, self.counts, self.lengths)
        return sum(array.nbytes for array in arrays)


def invert(terms: Terms, term_offsets: NDArray[np.int64]) -> Postings:
    """Postings of rows whose terms lie end to end."""
    lengths = np.diff(term_offsets)
    keys = terms[term_offsets[0] : term_offsets[-1]].astype(np.uint64)
    keys <<= np.uint64(16)
    keys |= np.repeat(np.arange(len(lengths), dtype=np.uint64), lengths)
    # Values in place take a quarter of what their order takes: numpy sorts several at once.
    keys.sort()
    first = _starts(keys)
    counts = np.diff(np.append(first, len(keys)))
    return _assemble(keys[first], np.minimum(counts, _MOST_OFTEN).astype(np.uint8), lengths.astype(np.uint32))


def merge(parts: Sequence[tuple[Postings, NDArray[np.bool_]]]) -> Postings:
    """Postings of the kept rows of several segments, numbered one after another."""
    found: list[NDArray[np.uint64]] = []
    lengths: list[NDArray[np.uint32]] = []
    start = 0
    for part, keep in parts:
        number = np.cumsum(keep, dtype=np.int64) - 1 + start
        kept = keep[part.rows]
        terms = np.repeat(part.terms, np.diff(part.offsets))[kept].astype(np.uint64)
        keys = (terms << np.uint64(16)) | number[part.rows[kept]].astype(np.uint64)
        found.append((keys << np.uint64(8)) | part.counts[kept])
        lengths.append(part.lengths[keep])
        start += int(keep.sum())
    joined = np.concatenate(found)
    # Each part is sorted already: to merge those takes a twentieth of what numpy's usual order takes.
    joined.sort(kind="stable")
    counts = (joined & np.uint64(_MOST_OFTEN)).astype(np.uint8)
    return _assemble(joined >> np.uint64(8), counts, np.concatenate(lengths))


def _assemble(keys: NDArray[np.uint64], counts: NDArray[np.uint8], lengths: NDArray[np.uint32]) -> Postings:
    terms = (keys >> np.uint64(16)).astype(np.uint32)
    first = _starts(terms)
    return Postings(
        terms=terms[first],
        offsets=np.append(first, len(terms)),
        rows=(keys & np.uint64(0xFFFF)).astype(np.uint16),
        counts=counts,
        lengths=lengths,
    )


def _starts(values: NDArray[np.uint64] | NDArray[np.uint32]) -> NDArray[np.int64]:
    """Where runs of equal values begin, in a sorted array."""
    if not len(values):
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
