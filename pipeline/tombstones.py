"""Tombstones of deleted documents, and undoing writes that were in progress when a document was deleted."""

from collections import OrderedDict
from collections.abc import Collection, Mapping

from pipeline.ports import DocumentTable, Tombstones
from pipeline.rows import DocumentRow


class LocalTombstones:
    """`ports.Tombstones` in memory; bounded, because only writes in progress matter."""

    def __init__(self, limit: int = 10_000) -> None:
        self._limit = limit
        self._deleted: OrderedDict[str, int] = OrderedDict()

    async def record(self, deleted: Mapping[str, int]) -> None:
        """Record deletions by document key and log position."""
        for key, seq in deleted.items():
            self._deleted[key] = max(seq, self._deleted.pop(key, seq))
        while len(self._deleted) > self._limit:
            self._deleted.popitem(last=False)

    async def latest_deletions(self, keys: Collection[str]) -> Mapping[str, int]:
        """Return the log position of the latest deletion of each recently deleted document."""
        return {key: self._deleted[key] for key in keys if key in self._deleted}


async def reapply_deletions(
    documents: DocumentTable,
    tombstones: Tombstones,
    written_keys: Collection[str],
    known_deletions: Mapping[str, int],
) -> dict[str, list[DocumentRow]]:
    """Undo writes to documents deleted while the writes were in progress; returns their remaining rows.

    `known_deletions`: the latest deletions when the writes were decided.
    """
    newest = await tombstones.latest_deletions(written_keys)
    late = {key: seq for key, seq in newest.items() if seq > known_deletions.get(key, -1)}
    if not late:
        return {}
    return await documents.update(list(late), lambda key, rows: [] if rows and rows[0].seq < late[key] else None)
