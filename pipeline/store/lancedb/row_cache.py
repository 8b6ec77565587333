"""Rows that were just written or read, in memory."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic

from pipeline.ports import Row


class RowCache(Generic[Row]):
    """LRU cache of recently flushed or read rows, bounded in bytes: the next stage asks for them at once."""

    def __init__(self, size_bytes: Callable[[Row], int], limit: int) -> None:
        self._size_bytes = size_bytes
        self._limit = limit
        self._rows_by_key: OrderedDict[str, tuple[Row, ...]] = OrderedDict()
        self._bytes = 0

    def get(self, entity_key: str) -> tuple[Row, ...] | None:
        """Return the rows of the key, or None if they are not known."""
        return self._rows_by_key.get(entity_key)

    def keys(self) -> list[str]:
        return list(self._rows_by_key)

    def put(self, entity_key: str, rows: tuple[Row, ...]) -> None:
        """Keep these rows, and drop the oldest beyond the limit."""
        self.remove(entity_key)
        self._rows_by_key[entity_key] = rows
        self._bytes += self._size(rows)
        while self._bytes > self._limit:
            _, oldest = self._rows_by_key.popitem(last=False)
            self._bytes -= self._size(oldest)

    def remove(self, entity_key: str) -> None:
        """Forget the rows of the key, if they are known."""
        if (rows := self._rows_by_key.pop(entity_key, None)) is not None:
            self._bytes -= self._size(rows)

    def clear(self) -> None:
        self._rows_by_key.clear()
        self._bytes = 0

    def _size(self, rows: tuple[Row, ...]) -> int:
        return 256 + sum(self._size_bytes(row) for row in rows)
