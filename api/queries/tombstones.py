"""Which documents this process has deleted, so that a slower write of before can't bring one back."""

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
