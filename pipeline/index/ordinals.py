"""Keys of documents to small numbers, without an object for each key."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pipeline.rows import Texts

_BYTES_PER_NEW = 200


class Ordinals:
    """1 for the first key, and so on; a key keeps its number for good.

    Known from the start: 64 bits of each key, sorted, with the keys themselves to be sure. What comes later
    stands in a dictionary.
    """

    def __init__(self, keys: Texts) -> None:
        prints = np.fromiter(map(hash, keys), np.int64, len(keys))
        order = np.argsort(prints, kind="stable")
        self._keys = keys
        self._prints = prints[order]
        self._order = (order + 1).astype(np.int32)
        self._new: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._order) + len(self._new)

    def __contains__(self, key: str) -> bool:
        return self._find(key, int(np.searchsorted(self._prints, hash(key)))) is not None

    @property
    def nbytes(self) -> int:
        """Bytes held, roughly; without the keys, which are a column of the documents."""
        return self._prints.nbytes + self._order.nbytes + len(self._new) * _BYTES_PER_NEW

    def of(self, keys: Sequence[str]) -> NDArray[np.int32]:
        """Their numbers, new ones for keys that were never seen."""
        places = np.searchsorted(self._prints, np.fromiter(map(hash, keys), np.int64, len(keys)))
        found: list[int] = []
        last, number = None, 0
        for key, place in zip(keys, places.tolist(), strict=True):
            # Passages of one document come one after another.
            if key != last:
                last, number = key, self._find(key, place) or self._add(key)
            found.append(number)
        return np.array(found, np.int32)

    def _find(self, key: str, place: int) -> int | None:
        wanted = hash(key)
        while place < len(self._prints) and self._prints[place] == wanted:
            if self._keys[int(self._order[place]) - 1] == key:
                return int(self._order[place])
            place += 1
        return self._new.get(key)

    def _add(self, key: str) -> int:
        self._new[key] = number = len(self) + 1
        return number
