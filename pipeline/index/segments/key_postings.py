"""Inverted index from comparison keys to rows of a segment: six bytes for each key of each row."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class KeyPostings:
    """Fingerprints of keys (`columns.fingerprints`), ascending, and the row that has each."""

    fingerprints: NDArray[np.uint32]
    rows: NDArray[np.uint16]

    @classmethod
    def build(cls, fingerprints: NDArray[np.uint32], offsets: NDArray[np.int64]) -> "KeyPostings":
        """Build from rows whose fingerprints are concatenated."""
        lengths = np.diff(offsets)
        return cls._sort(fingerprints, np.repeat(np.arange(len(lengths)), lengths))

    @classmethod
    def merge(cls, parts: Sequence[tuple["KeyPostings", NDArray[np.bool_]]]) -> "KeyPostings":
        """Merge the kept rows of several segments, numbered one after another."""
        prints, rows, start = [], [], 0
        for part, keep in parts:
            kept = keep[part.rows]
            number = np.cumsum(keep) - 1 + start
            prints.append(part.fingerprints[kept])
            rows.append(number[part.rows[kept]])
            start += int(keep.sum())
        return cls._sort(np.concatenate(prints), np.concatenate(rows))

    @property
    def nbytes(self) -> int:
        return self.fingerprints.nbytes + self.rows.nbytes

    def candidate_rows(self, fingerprints: NDArray[np.uint32]) -> list[int]:
        """The rows that have one of these keys, and possibly false positives."""
        first = self.fingerprints.searchsorted(fingerprints)
        last = self.fingerprints.searchsorted(fingerprints, "right")
        runs = [self.rows[start:end] for start, end in np.stack([first, last], 1)[first < last].tolist()]
        rows: list[int] = np.unique(np.concatenate(runs)).tolist() if runs else []
        return rows

    @classmethod
    def _sort(cls, fingerprints: NDArray[np.uint32], rows: NDArray[np.intp]) -> "KeyPostings":
        order = np.argsort(fingerprints, kind="stable")
        return cls(fingerprints[order], rows[order].astype(np.uint16))
