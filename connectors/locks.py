"""Locks of one process: what the embedded default needs."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class LocalLocks:
    """`ports.Locks` within this process; a lock that nobody holds or wants costs nothing."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._wanted: Counter[str] = Counter()

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[None]:
        """Wait for the lock and hold it."""
        lock = self._locks.setdefault(name, asyncio.Lock())
        self._wanted[name] += 1
        try:
            async with lock:
                yield
        finally:
            self._wanted[name] -= 1
            if not self._wanted[name]:
                del self._wanted[name], self._locks[name]
