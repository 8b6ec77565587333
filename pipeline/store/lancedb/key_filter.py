"""Membership filter for the keys of a table: in memory, eight bytes a key, no false negatives."""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

import numpy as np

K = TypeVar("K", bound=Hashable)

_MAX_UNSORTED = 1024
"""Keys held in a Python set (250 bytes each) before they are merged into the sorted array."""


class KeyFilter(Generic[K]):
    """A set of key hashes. No false negatives; one false positive in 10^13 lookups."""

    def __init__(self, keys: Iterable[K] = ()) -> None:
        self._sorted = np.unique(_hashes(keys))
        self._unsorted: set[int] = set()

    def add(self, keys: Iterable[K]) -> None:
        """Add keys. Keys cannot be removed: a stale key only costs a lookup in the table."""
        self._unsorted.update(map(hash, keys))
        if len(self._unsorted) > max(_MAX_UNSORTED, len(self._sorted) // 16):
            fresh = np.fromiter(self._unsorted, np.int64, len(self._unsorted))
            self._sorted = np.union1d(self._sorted, fresh)
            self._unsorted = set()

    def may_contain(self, keys: Iterable[K]) -> list[K]:
        """Return the keys that may be in the table, in order."""
        candidates = list(keys)
        hashes = _hashes(candidates)
        positions = np.searchsorted(self._sorted, hashes)
        positions[positions == len(self._sorted)] = 0
        found = self._sorted[positions] == hashes if len(self._sorted) else np.zeros(len(candidates), np.bool_)
        return [
            key
            for key, key_hash, in_sorted in zip(candidates, hashes.tolist(), found.tolist(), strict=True)
            if in_sorted or key_hash in self._unsorted
        ]


class NoKeyFilter(Generic[K]):
    """Filter for a table that other processes write too: any key may be there."""

    def add(self, keys: Iterable[K]) -> None:
        """Do nothing: every key is assumed to be there."""

    def may_contain(self, keys: Iterable[K]) -> list[K]:
        """Return all keys, in order."""
        return list(keys)


def _hashes(keys: Iterable[Hashable]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([hash(key) for key in keys], np.int64)
