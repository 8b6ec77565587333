"""Which documents this process has deleted, so that nothing of before brings one back.

The interface deletes at once; a slower request, or a stage that reads the log up to there, comes later.
"""

from collections import OrderedDict


class Tombstones:
    """The log positions of the newest deletions; bounded, because only writes under way matter."""

    def __init__(self, limit: int = 10_000) -> None:
        self._limit = limit
        self._deleted: OrderedDict[str, int] = OrderedDict()

    def note(self, key: str, seq: int) -> None:
        """The document with this key was deleted at `seq`."""
        self._deleted[key] = max(seq, self._deleted.pop(key, seq))
        while len(self._deleted) > self._limit:
            self._deleted.popitem(last=False)

    def covers(self, key: str, seq: int) -> bool:
        """Whether a write at `seq` came before the deletion."""
        return seq < self._deleted.get(key, -1)
