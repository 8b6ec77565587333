"""Tombstones of deleted documents."""

from collections import OrderedDict
from collections.abc import Collection, Mapping


class LocalTombstones:
    """`ports.Tombstones` in memory; bounded, because only writes in progress matter."""

    def __init__(self, limit: int = 10_000) -> None:
        self._limit = limit
        self._deleted: OrderedDict[str, int] = OrderedDict()

    async def record(self, deleted: Mapping[str, int]) -> None:
        for key, seq in deleted.items():
            self._deleted[key] = max(seq, self._deleted.pop(key, seq))
        while len(self._deleted) > self._limit:
            self._deleted.popitem(last=False)

    async def latest_deletions(self, keys: Collection[str]) -> Mapping[str, int]:
        """Return the log position of the latest deletion of each recently deleted document."""
        return {key: self._deleted[key] for key in keys if key in self._deleted}
