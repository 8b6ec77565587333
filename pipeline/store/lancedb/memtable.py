"""Memtable: the newest rows of entity keys that are not in LanceDB yet, and a cache of recently flushed
ones.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic

from pipeline.ports import Row
from pipeline.store.lancedb.row_cache import RowCache


@dataclass(frozen=True, slots=True, eq=False)
class PendingChange(Generic[Row]):
    """The rows of an entity key as of change `sequence`; no rows: the key was deleted."""

    rows: tuple[Row, ...]
    incarnation: str
    shard: int
    sequence: int


class MemTable(Generic[Row]):
    """Unflushed changes by entity key, each kept until LanceDB has it or a newer one replaces it.

    Every method is synchronous, so that a caller sees one state between two awaits.
    """

    def __init__(self, shards: int, size_bytes: Callable[[Row], int], row_cache_bytes: int) -> None:
        self.sequence = 0
        self._changes: dict[str, PendingChange[Row]] = {}
        self._unflushed: list[dict[str, PendingChange[Row]]] = [{} for _ in range(shards)]
        self._unlogged: list[dict[str, PendingChange[Row]]] = [{} for _ in range(shards)]
        self._size_bytes = size_bytes
        self._pending_bytes = [0] * shards
        self._row_cache = RowCache(size_bytes, row_cache_bytes)
        self._watches: list[set[str]] = []

    def get(self, entity_key: str) -> tuple[Row, ...] | None:
        """Return the newest rows of a key; None if only LanceDB can tell."""
        change = self._changes.get(entity_key)
        return change.rows if change is not None else self._row_cache.get(entity_key)

    def snapshot(self) -> Mapping[str, PendingChange[Row]]:
        """Return all unflushed changes. Take it before reading LanceDB, so that no change is missed."""
        return dict(self._changes)

    def put(self, entity_key: str, rows: tuple[Row, ...], incarnation: str, shard: int) -> None:
        """Replace the rows of a key, which belongs to an incarnation."""
        self.sequence += 1
        change = PendingChange(rows, incarnation, shard, self.sequence)
        self._changes[entity_key] = change
        self._unflushed[shard][entity_key] = change
        self._unlogged[shard][entity_key] = change
        self._pending_bytes[shard] += sum(map(self._size_bytes, rows))
        self._row_cache.remove(entity_key)

    def pending_count(self, shard: int) -> int:
        """Number of keys that the next flush of the shard writes."""
        return len(self._unflushed[shard])

    def pending_bytes(self, shard: int) -> int:
        """Approximate number of bytes put into the shard since its last flush."""
        return self._pending_bytes[shard]

    def is_fully_logged(self, shard: int) -> bool:
        """True if every change of the shard is in the write-ahead log or being appended to it."""
        return not self._unlogged[shard]

    def drain_unlogged(self, shard: int) -> dict[str, PendingChange[Row]]:
        """Take all changes that are not on disk, to append them to the write-ahead log."""
        drained, self._unlogged[shard] = self._unlogged[shard], {}
        return drained

    def requeue_unlogged(self, shard: int, changes: Mapping[str, PendingChange[Row]]) -> None:
        """Put back changes that could not be logged, except those flushed or replaced meanwhile."""
        for key, change in changes.items():
            if self._changes.get(key) is change:
                self._unlogged[shard].setdefault(key, change)

    def drain(self, shard: int) -> dict[str, PendingChange[Row]]:
        """Take all changes to flush; they stay visible to readers until `drop_flushed`."""
        drained, self._unflushed[shard] = self._unflushed[shard], {}
        self._pending_bytes[shard] = 0
        return drained

    def drop_flushed(self, changes: Mapping[str, PendingChange[Row]]) -> None:
        """Drop changes that LanceDB has now, except those replaced by newer ones."""
        for key, change in changes.items():
            if self._changes.get(key) is change:
                del self._changes[key]
                self._unlogged[change.shard].pop(key, None)
                self._row_cache.put(key, change.rows)
                for watch in self._watches:
                    watch.add(key)

    def requeue(self, shard: int, changes: Mapping[str, PendingChange[Row]]) -> None:
        """Put back changes that could not be flushed, except those replaced by newer ones."""
        for key, change in changes.items():
            if self._changes.get(key) is change:
                self._unflushed[shard].setdefault(key, change)

    def cache_read(self, entity_key: str, rows: tuple[Row, ...]) -> None:
        """Cache rows read from LanceDB: a reader often updates them next."""
        if rows and self.get(entity_key) is None:
            self._row_cache.put(entity_key, rows)

    def clear_row_cache(self) -> None:
        """Forget all cached rows; readers in progress read them again."""
        for watch in self._watches:
            watch.update(self._row_cache.keys())
        self._row_cache.clear()

    @contextmanager
    def watch_flushed(self) -> Iterator[set[str]]:
        """Yield a set that collects the keys flushed meanwhile: rows of them read before are stale."""
        flushed_keys: set[str] = set()
        self._watches.append(flushed_keys)
        try:
            yield flushed_keys
        finally:
            # Compared by identity: two watches may have equal contents.
            self._watches = [watch for watch in self._watches if watch is not flushed_keys]
