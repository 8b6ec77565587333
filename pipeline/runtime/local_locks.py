"""Locks among the tasks of one process, sufficient where no other process shares the tables."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import blake2b
from urllib.parse import quote
from weakref import WeakValueDictionary

from pipeline.ports import Lease

_MAX_NAME_CHARS = 150


def encode_lock_name(name: str) -> str:
    """Encode a lock's name so that it can name a file or an object; long names are hashed."""
    plain = quote(name, safe="")
    return plain if len(plain) <= _MAX_NAME_CHARS else blake2b(name.encode(), digest_size=32).hexdigest()


class LocalLease:
    """`ports.Lease` of a lock that can't expire."""

    def ensure_valid(self) -> None:
        """Do nothing: the lease is valid until it is released."""


class LocalLocks:
    """`ports.Locks` on asyncio, first come, first served."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def acquire(self, name: str) -> AsyncIterator[Lease]:
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        async with lock:
            yield LocalLease()
