"""Which keys a table may hold, in memory: eight bytes each, no false negatives."""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

import numpy as np

K = TypeVar("K", bound=Hashable)

_RECENT = 1024
"""Keys that may stand in the set: 250 bytes each there, and a store has some twenty of these."""


class KeySet(Generic[K]):
    """A set of key hashes. A key that was added is always found; a stranger is found once in 10^13 asks."""

    def __init__(self, keys: Iterable[K] = ()) -> None:
        self._sorted = np.unique(_hashes(keys))
        self._recent: set[int] = set()

    def add(self, keys: Iterable[K]) -> None:
        """Remember keys. There is no way to forget one: a key too many only costs a question."""
        self._recent.update(map(hash, keys))
        if len(self._recent) > max(_RECENT, len(self._sorted) // 16):
            fresh = np.fromiter(self._recent, np.int64, len(self._recent))
            self._sorted = np.union1d(self._sorted, fresh)
            self._recent = set()

    def known(self, keys: Iterable[K]) -> list[K]:
        """Those of the keys that may be in the table, in order."""
        wanted = list(keys)
        hashes = _hashes(wanted)
        places = np.searchsorted(self._sorted, hashes)
        places[places == len(self._sorted)] = 0
        found = self._sorted[places] == hashes if len(self._sorted) else np.zeros(len(wanted), np.bool_)
        return [
            key
            for key, number, old in zip(wanted, hashes.tolist(), found.tolist(), strict=True)
            if old or number in self._recent
        ]


class AnyKeys(Generic[K]):
    """Where others add keys too: each may be there."""

    def add(self, keys: Iterable[K]) -> None:
        """Nothing: all of them may be there already."""

    def known(self, keys: Iterable[K]) -> list[K]:
        """All of them, in order."""
        return list(keys)


def _hashes(keys: Iterable[Hashable]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([hash(key) for key in keys], np.int64)
