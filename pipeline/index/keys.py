"""Which rows of a segment have a key: six bytes for each key of each row."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Keys:
    """Prints of keys (`columns.prints`), ascending, and the row that has each."""

    prints: NDArray[np.uint32]
    rows: NDArray[np.uint16]

    @classmethod
    def of(cls, prints: NDArray[np.uint32], offsets: NDArray[np.int64]) -> "Keys":
        """Of rows whose keys lie end to end."""
        lengths = np.diff(offsets)
        return cls._sorted(prints, np.repeat(np.arange(len(lengths)), lengths))

    @classmethod
    def merged(cls, parts: Sequence[tuple["Keys", NDArray[np.bool_]]]) -> "Keys":
        """Of the kept rows of several segments, numbered one after another."""
        prints, rows, start = [], [], 0
        for part, keep in parts:
            kept = keep[part.rows]
            number = np.cumsum(keep) - 1 + start
            prints.append(part.prints[kept])
            rows.append(number[part.rows[kept]])
            start += int(keep.sum())
        return cls._sorted(np.concatenate(prints), np.concatenate(rows))

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.prints.nbytes + self.rows.nbytes

    def find(self, prints: NDArray[np.uint32]) -> list[int]:
        """The rows that may have one of these keys, and surely all that have."""
        first = self.prints.searchsorted(prints)
        last = self.prints.searchsorted(prints, "right")
        there = [self.rows[start:end] for start, end in np.stack([first, last], 1)[first < last].tolist()]
        found: list[int] = np.unique(np.concatenate(there)).tolist() if there else []
        return found

    @classmethod
    def _sorted(cls, prints: NDArray[np.uint32], rows: NDArray[np.intp]) -> "Keys":
        order = np.argsort(prints, kind="stable")
        return cls(prints[order], rows[order].astype(np.uint16))
