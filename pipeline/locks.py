"""Locks among the tasks of one process: all that a process which has its tables to itself needs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import blake2b
from urllib.parse import quote
from weakref import WeakValueDictionary

from pipeline.ports import Hold

_LONGEST_NAME = 150


def plain_name(name: str) -> str:
    """A lock's name as a file or an object may be called."""
    plain = quote(name, safe="")
    return plain if len(plain) <= _LONGEST_NAME else blake2b(name.encode(), digest_size=32).hexdigest()


class Unlosable:
    """`ports.Hold` of a lock that only its holder can give up."""

    def check(self) -> None:
        """Nothing to find out."""


class LocalLocks:
    """`ports.Locks` with asyncio; first come, first served."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[Hold]:
        """Wait for the lock of this name, then hold it."""
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        async with lock:
            yield Unlosable()
