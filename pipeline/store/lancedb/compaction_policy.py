"""Compaction policy: which fragments of a LanceDB table to merge, and when. A pure function of their sizes.

Size-tiered, as in an LSM tree: the newest fragments are merged with those that are not much larger, so that
each row is rewritten only a few times however large the table is. Once enough rows are new, all fragments
are merged and the indices rebuilt.
"""

from collections.abc import Iterable, Sequence
from math import isqrt

MIN_MERGE_FRAGMENTS = 16
_MAX_MERGE_FRAGMENTS = 64
_MERGE_BASE_SECONDS = 0.02
_MERGE_SECONDS_PER_ROW = 3e-5
"""CPU cost of a merge: a constant part, and a part for each rewritten row."""
_READ_SECONDS_PER_FRAGMENT = 0.0004
"""Cost of one more fragment for the reads between two commits: about four reads of 0.1 ms of CPU each."""

_MERGE_SIZE_RATIO = 4
"""Fragments more than this many times larger than the merged rows are left alone."""
_UNINDEXED_ROWS_DIVISOR = 32
"""One row in this many may be unindexed: reading 31,000 such rows beside a million takes 3 ms."""
_DELETED_ROWS_DIVISOR = 16
"""One row in this many may be deleted and still be stored."""
_IDLE_DELETED_ROWS_DIVISOR = 4
_MIN_IDLE_DELETED_ROWS = 1024
"""Deleted rows, at least this many and one in four of the stored, that an idle table gives back: embedding replaces
every chunk once, so without it each is stored nearly twice. It costs the rewriting of four rows for a deleted one."""
_SMALL_TABLE_ROWS = 4096
"""Tables up to this size are always merged whole: that is as quick as merging their newest fragments."""
_MAX_UNMERGED_FRAGMENTS = 1024
_MIN_VERSIONS_BEFORE_FULL = 600
_ROWS_PER_VERSION = 200
"""Rows per version that a table may keep: dropping versions rewrites the indices of a large table."""


def merge_threshold(rows: int) -> int:
    """Number of fragments whose cost for reads equals the cost of merging this many rows.

    >>> merge_threshold(100), merge_threshold(5_000), merge_threshold(100_000)
    (16, 29, 64)
    """
    merge = _MERGE_BASE_SECONDS + _MERGE_SECONDS_PER_ROW * rows
    return min(max(isqrt(round(2 * merge / _READ_SECONDS_PER_FRAGMENT)), MIN_MERGE_FRAGMENTS), _MAX_MERGE_FRAGMENTS)


def fragments_to_merge(sizes: Sequence[int], unmerged: int) -> int:
    """Number of the newest fragments to merge; `unmerged` (at least one) of them were never merged.

    >>> fragments_to_merge([1_000_000, 5_000, 60, *[2] * 16], 16)
    17
    >>> fragments_to_merge([1_000_000, 5_000, 900, *[2] * 16], 16)
    16
    """
    first = len(sizes) - unmerged
    rows = sum(sizes[first:])
    while first > 0 and sizes[first - 1] <= _MERGE_SIZE_RATIO * rows:
        first -= 1
        rows += sizes[first]
    return len(sizes) - first


class CompactionPolicy:
    """Row counts of the fragments, oldest first, and what happened since the last full compaction.

    Deleted rows still count in their fragment: a size is never too small.
    """

    def __init__(self, fragment_rows: Iterable[int] = (), versions: int = 0, deleted_rows: int = 0) -> None:
        """Start from the fragments, the number of versions and the deleted rows that an earlier process left."""
        self._fragment_rows = list(fragment_rows)
        self._unmerged = max(len(self._fragment_rows) - 1, 0)
        self._versions = versions
        self._deleted_rows = deleted_rows

    @property
    def total_rows(self) -> int:
        """Upper bound of the rows in all fragments."""
        return sum(self._fragment_rows)

    @property
    def is_compacted(self) -> bool:
        """True if there is nothing to merge."""
        return len(self._fragment_rows) <= 1

    def record_commit(self, added: int, deleted: int = 0) -> None:
        """Record a commit: `added` rows make a new fragment (0: none), `deleted` rows left older ones."""
        if added:
            self._fragment_rows.append(added)
            self._unmerged += 1
        # Another process may have compacted the table without this one knowing.
        if self._unmerged > _MAX_UNMERGED_FRAGMENTS:
            self._fragment_rows[-2:] = [sum(self._fragment_rows[-2:])]
            self._unmerged -= 1
        self._deleted_rows += deleted
        self._versions += 1

    def is_due(self, *, idle: bool) -> bool:
        """True if fragments should be merged now: early while idle, late under load."""
        if self._versions >= self._max_versions or (idle and (self._has_many_deleted_rows or self._has_many_files)):
            return True
        if self._unmerged < MIN_MERGE_FRAGMENTS:
            return False
        return idle or self._unmerged >= merge_threshold(self.rows_to_rewrite)

    @property
    def needs_full_compaction(self) -> bool:
        """True if it is time to merge all fragments, refresh the indices and drop old versions."""
        rows = self.total_rows
        new_rows = rows - (self._fragment_rows[0] if self._fragment_rows else 0)
        many_changes = new_rows * _UNINDEXED_ROWS_DIVISOR >= rows or self._deleted_rows * _DELETED_ROWS_DIVISOR >= rows
        return rows <= _SMALL_TABLE_ROWS or many_changes or self._versions >= self._max_versions

    @property
    def rows_in_partial_merge(self) -> int:
        """Rows of the newest fragments, which a partial merge rewrites."""
        return sum(
            self._fragment_rows[len(self._fragment_rows) - fragments_to_merge(self._fragment_rows, self._unmerged) :]
        )

    @property
    def rows_to_rewrite(self) -> int:
        """Number of rows that the next merge rewrites."""
        return self.total_rows if self.needs_full_compaction else self.rows_in_partial_merge

    def record_partial_merge(self, rows: int) -> None:
        """Record that the newest fragments were merged into one of this many rows."""
        kept = len(self._fragment_rows) - fragments_to_merge(self._fragment_rows, self._unmerged)
        self._fragment_rows[kept:] = [rows] if rows else []
        self._unmerged = 0
        self._versions += 1

    def record_full_compaction(self, rows: int) -> None:
        """Record that all fragments were merged into one of this many rows."""
        self._fragment_rows = [rows] if rows else []
        self._unmerged = self._versions = self._deleted_rows = 0

    @property
    def _has_many_deleted_rows(self) -> bool:
        return self._deleted_rows >= max(_MIN_IDLE_DELETED_ROWS, self.total_rows // _IDLE_DELETED_ROWS_DIVISOR)

    @property
    def _has_many_files(self) -> bool:
        """Return whether deletions left a small table with many files: each makes some, and no fragment to merge."""
        is_small = self.total_rows <= _SMALL_TABLE_ROWS
        return is_small and self._deleted_rows > 0 and self._versions >= MIN_MERGE_FRAGMENTS

    @property
    def _max_versions(self) -> int:
        return max(_MIN_VERSIONS_BEFORE_FULL, self.total_rows // _ROWS_PER_VERSION)
