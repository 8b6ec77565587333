"""Locks among processes that share a folder; the operating system releases them when a process dies."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

from filelock import lock_descriptor

from pipeline.ports import Lease
from pipeline.runtime.local_locks import LocalLocks, encode_lock_name

_MIN_POLL_SECONDS = 0.0005
_POLL_BACKOFF_FRACTION = 0.05
_MAX_POLL_SECONDS = 0.1
"""Longest pause between two tries; it grows with the time waited, as locks may be held for days."""


class FolderLocks:
    """`ports.Locks` on files in a folder that every process sees. A file is never removed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._local = LocalLocks()

    @asynccontextmanager
    async def acquire(self, name: str) -> AsyncIterator[Lease]:
        """Wait for the lock of this name without blocking the event loop, then hold it."""
        path = self._folder / encode_lock_name(name)
        async with self._local.acquire(name) as lease:
            with ExitStack() as held:
                with ExitStack() as line:
                    # Waiters queue on a lock of their own. Otherwise a process that takes the lock again and
                    # again could never be overtaken by one that polls.
                    await _acquire_file_lock(line, path.with_name(f"{path.name}.next"))
                    await _acquire_file_lock(held, path)
                yield lease


async def _acquire_file_lock(exit_stack: ExitStack, path: Path) -> None:
    handle = _open_lock_file(path)
    exit_stack.callback(os.close, handle)
    began = time.monotonic()
    while not lock_descriptor(handle, blocking=False):
        waited = time.monotonic() - began
        await asyncio.sleep(min(max(_MIN_POLL_SECONDS, waited * _POLL_BACKOFF_FRACTION), _MAX_POLL_SECONDS))


def _open_lock_file(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT
    try:
        return os.open(path, flags, 0o644)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, flags, 0o644)
