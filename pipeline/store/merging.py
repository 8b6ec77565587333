"""Which fragments of a LanceDB table are merged, and when: a pure rule over their sizes.

As in an LSM tree the newest are merged with what is not much larger than they are, so that each row is
written anew a few times only, however large the table is. All of it is, with its indices, when enough is new.
"""

from collections.abc import Iterable, Sequence
from math import isqrt

FEW_FRAGMENTS = 16
_MANY_FRAGMENTS = 64
_MERGE_SECONDS = 0.02
_ROW_SECONDS = 3e-5
"""What a merge costs in CPU, and more for each row that is written anew."""
_READ_SECONDS = 0.0004
"""What a fragment more costs the reads between two commits: 0.1 ms of CPU each, about four of them."""

_STEP = 4
"""A fragment that is more times as large as what is merged stays as it is."""
_NEW_SHARE = 32
"""One row in so many may be outside the indices: reading 31,000 beside a million takes 3 ms."""
_GONE_SHARE = 16
"""One row in so many may be gone and still be stored."""
_FEW_ROWS = 4096
"""So many are written anew as quickly as the newest of them."""
_MOST_LOOSE = 1024
_FEW_CHANGES = 600
_ROWS_PER_CHANGE = 200
"""Each leaves a version behind; a large table keeps more, for dropping them writes indices anew."""


def worth_merging(rows: int) -> int:
    """How many fragments cost the reads beside writes as much as merging so many rows does.

    >>> worth_merging(100), worth_merging(5_000), worth_merging(100_000)
    (16, 29, 64)
    """
    merge = _MERGE_SECONDS + _ROW_SECONDS * rows
    return min(max(isqrt(round(2 * merge / _READ_SECONDS)), FEW_FRAGMENTS), _MANY_FRAGMENTS)


def newest(sizes: Sequence[int], loose: int) -> int:
    """How many of the newest fragments are merged, of which so many (at least one) were never merged.

    >>> newest([1_000_000, 5_000, 60, *[2] * 16], 16), newest([1_000_000, 5_000, 900, *[2] * 16], 16)
    (17, 16)
    """
    begin = len(sizes) - loose
    rows = sum(sizes[begin:])
    while begin > 0 and sizes[begin - 1] <= _STEP * rows:
        begin -= 1
        rows += sizes[begin]
    return len(sizes) - begin


class Fragments:
    """The rows that each fragment got, oldest first, and what happened since all were merged.

    Rows that went since count in the fragment that had them: a size is never too small.
    """

    def __init__(self, sizes: Iterable[int] = (), changes: int = 0) -> None:
        """As an earlier process left them, with versions of so many changes."""
        self._sizes = list(sizes)
        self._loose = max(len(self._sizes) - 1, 0)
        self._changes = changes
        self._gone = 0

    @property
    def rows(self) -> int:
        """Of all of them, at most."""
        return sum(self._sizes)

    @property
    def one(self) -> bool:
        """Whether there is nothing to merge."""
        return len(self._sizes) <= 1

    def came(self, rows: int, gone: int = 0) -> None:
        """A commit brought a fragment of so many rows (none: no fragment), and took so many from others."""
        if rows:
            self._sizes.append(rows)
            self._loose += 1
        if self._loose > _MOST_LOOSE:  # where others do the upkeep, nobody says that they are merged
            self._sizes[-2:] = [sum(self._sizes[-2:])]
            self._loose -= 1
        self._gone += gone
        self._changes += 1

    def due(self, *, idle: bool) -> bool:
        """Whether some should be merged now: soon when idle, late under load."""
        if self._changes >= self._most_changes:
            return True
        if self._loose < FEW_FRAGMENTS:
            return False
        return idle or self._loose >= worth_merging(self.to_write)

    @property
    def whole(self) -> bool:
        """Whether it is time to merge all of them, to bring indices up to date and to drop old versions."""
        rows = self.rows
        new = rows - (self._sizes[0] if self._sizes else 0)
        much = new * _NEW_SHARE >= rows or self._gone * _GONE_SHARE >= rows
        return rows <= _FEW_ROWS or much or self._changes >= self._most_changes

    @property
    def newest_rows(self) -> int:
        """Of the newest fragments that are merged where not all are."""
        return sum(self._sizes[len(self._sizes) - newest(self._sizes, self._loose) :])

    @property
    def to_write(self) -> int:
        """How many rows the next merge writes anew."""
        return self.rows if self.whole else self.newest_rows

    def merged(self, rows: int) -> None:
        """The newest are one fragment of so many rows now."""
        kept = len(self._sizes) - newest(self._sizes, self._loose)
        self._sizes[kept:] = [rows] if rows else []
        self._loose = 0
        self._changes += 1

    def renewed(self, rows: int) -> None:
        """All were looked after; so many rows are there."""
        self._sizes = [rows] if rows else []
        self._loose = self._changes = self._gone = 0

    @property
    def _most_changes(self) -> int:
        return max(_FEW_CHANGES, self.rows // _ROWS_PER_CHANGE)
