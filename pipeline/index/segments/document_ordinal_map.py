"""Mapping of document keys to dense ordinals, without a Python object for each key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.columns import fingerprint, fingerprints, string_column
from pipeline.rows import StringColumn

_BYTES_PER_ADDED_KEY = 200


@dataclass(frozen=True, slots=True)
class SortedKeys:
    """Document keys in the order of their ordinals, from 1, and their fingerprints in ascending order."""

    keys: StringColumn
    fingerprints: NDArray[np.uint32]
    ordinals: NDArray[np.int32]
    """The ordinal of each fingerprint."""

    @classmethod
    def sort(cls, keys: StringColumn) -> "SortedKeys":
        prints = fingerprints(keys)
        order = np.argsort(prints, kind="stable")
        return cls(keys, prints[order], (order + 1).astype(np.int32))


class DocumentOrdinalMap:
    """Ordinals from 1 in order of appearance; a key keeps its ordinal.

    Initial keys are found by sorted fingerprints and compared with the key column; keys that are added later
    are in a dictionary.
    """

    def __init__(self, initial: SortedKeys, added: Mapping[str, int] | None = None) -> None:
        self._initial = initial
        self._added = dict(added or {})

    def __len__(self) -> int:
        return len(self._initial.ordinals) + len(self._added)

    def __contains__(self, key: str) -> bool:
        return self._lookup(key, int(self._places([key])[0])) is not None

    @property
    def nbytes(self) -> int:
        """Bytes held, roughly, without the keys, which are a column of the documents."""
        held = self._initial.fingerprints.nbytes + self._initial.ordinals.nbytes
        return held + len(self._added) * _BYTES_PER_ADDED_KEY

    def copy(self) -> "DocumentOrdinalMap":
        """The ordinals so far; keys added later are not in it."""
        return DocumentOrdinalMap(self._initial, self._added)

    def sorted_keys(self) -> SortedKeys:
        """Every key, added ones among them."""
        if not self._added:
            return self._initial
        first, added = self._initial.keys, string_column(self._added)
        data = first.data[int(first.offsets[0]) : int(first.offsets[-1])]
        offsets = np.concatenate([first.offsets - first.offsets[0], len(data) + added.offsets[1:]])
        return SortedKeys.sort(StringColumn(memoryview(b"".join([data, added.data])), offsets))

    def get_or_assign(self, keys: Sequence[str]) -> NDArray[np.int32]:
        """The ordinals of keys; new ones for new keys."""
        ordinals: list[int] = []
        previous_key, ordinal = None, 0
        for key, place in zip(keys, self._places(keys).tolist(), strict=True):
            # Chunks of one document are adjacent.
            if key != previous_key:
                previous_key, ordinal = key, self._lookup(key, place) or self._assign(key)
            ordinals.append(ordinal)
        return np.array(ordinals, np.int32)

    def _places(self, keys: Sequence[str]) -> NDArray[np.intp]:
        return np.searchsorted(self._initial.fingerprints, np.array([fingerprint(key) for key in keys], np.uint32))

    def _lookup(self, key: str, place: int) -> int | None:
        initial, key_fingerprint = self._initial, fingerprint(key)
        while place < len(initial.fingerprints) and initial.fingerprints[place] == key_fingerprint:
            if initial.keys[int(initial.ordinals[place]) - 1] == key:
                return int(initial.ordinals[place])
            place += 1
        return self._added.get(key)

    def _assign(self, key: str) -> int:
        self._added[key] = ordinal = len(self) + 1
        return ordinal
