"""What was deleted ahead of the log, and what to do about writes that come late."""

from collections import OrderedDict
from collections.abc import Collection, Mapping

from pipeline.ports import Documents, Tombstones
from pipeline.rows import DocumentRow


class LocalTombstones:
    """`ports.Tombstones` in memory; bounded, because only writes under way matter."""

    def __init__(self, limit: int = 10_000) -> None:
        self._limit = limit
        self._deleted: OrderedDict[str, int] = OrderedDict()

    async def note(self, deleted: Mapping[str, int]) -> None:
        """These documents (by key) were deleted at these log positions."""
        for key, seq in deleted.items():
            self._deleted[key] = max(seq, self._deleted.pop(key, seq))
        while len(self._deleted) > self._limit:
            self._deleted.popitem(last=False)

    async def newest(self, keys: Collection[str]) -> Mapping[str, int]:
        """The position of the newest deletion of each of these documents that was deleted lately."""
        return {key: self._deleted[key] for key in keys if key in self._deleted}


async def bury_late(
    documents: Documents, tombstones: Tombstones, written: Collection[str], before: Mapping[str, int]
) -> dict[str, list[DocumentRow]]:
    """Undo writes to documents that were deleted while these were under way; the rows of those documents.

    `before`: the newest deletions when the writes were decided.
    """
    newest = await tombstones.newest(written)
    late = {key: seq for key, seq in newest.items() if seq > before.get(key, -1)}
    if not late:
        return {}
    return await documents.update(
        list(late), lambda key, rows: [] if rows and rows[0].seq < late[key] else None
    )
