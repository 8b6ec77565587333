"""Mapping of document keys to dense ordinals, without a Python object for each key."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pipeline.rows import StringColumn

_BYTES_PER_ADDED_KEY = 200


class DocumentOrdinalMap:
    """Ordinals from 1 in order of appearance; a key keeps its ordinal.

    Initial keys are found by sorted 64-bit hashes and compared with the key column; keys that are added later
    are in a dictionary.
    """

    def __init__(self, keys: StringColumn) -> None:
        hashes = np.fromiter(map(hash, keys), np.int64, len(keys))
        order = np.argsort(hashes, kind="stable")
        self._keys = keys
        self._key_hashes = hashes[order]
        self._ordinals = (order + 1).astype(np.int32)
        self._added: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._ordinals) + len(self._added)

    def __contains__(self, key: str) -> bool:
        return self._lookup(key, int(np.searchsorted(self._key_hashes, hash(key)))) is not None

    @property
    def nbytes(self) -> int:
        """Bytes held, roughly, without the keys, which are a column of the documents."""
        return self._key_hashes.nbytes + self._ordinals.nbytes + len(self._added) * _BYTES_PER_ADDED_KEY

    def get_or_assign(self, keys: Sequence[str]) -> NDArray[np.int32]:
        """The ordinals of keys; new ones for new keys."""
        places = np.searchsorted(self._key_hashes, np.fromiter(map(hash, keys), np.int64, len(keys)))
        ordinals: list[int] = []
        previous_key, ordinal = None, 0
        for key, place in zip(keys, places.tolist(), strict=True):
            # Chunks of one document are adjacent.
            if key != previous_key:
                previous_key, ordinal = key, self._lookup(key, place) or self._assign(key)
            ordinals.append(ordinal)
        return np.array(ordinals, np.int32)

    def _lookup(self, key: str, start: int) -> int | None:
        key_hash = hash(key)
        while start < len(self._key_hashes) and self._key_hashes[start] == key_hash:
            if self._keys[int(self._ordinals[start]) - 1] == key:
                return int(self._ordinals[start])
            start += 1
        return self._added.get(key)

    def _assign(self, key: str) -> int:
        self._added[key] = ordinal = len(self) + 1
        return ordinal
