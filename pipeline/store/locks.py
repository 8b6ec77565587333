"""Locks among processes that share a folder: `flock`, which the kernel gives back when a process dies."""

import asyncio
import fcntl
import os
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

from pipeline.locks import LocalLocks, plain_name
from pipeline.ports import Hold

_FIRST_PAUSE = 0.0005
_PATIENT_SHARE = 0.05
_LONGEST_PAUSE = 0.1
"""Between two looks at most: a share of the time waited so far, for a lock may be held for days."""


class FolderLocks:
    """`ports.Locks` on files in a folder that every process sees. A file is never removed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._local = LocalLocks()

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[Hold]:
        """Wait for the lock of this name without blocking the event loop, then hold it."""
        path = self._folder / plain_name(name)
        async with self._local.hold(name) as hold:
            with ExitStack() as held:
                with ExitStack() as line:
                    # Who waits stands in line with a lock of its own: a process that takes and gives the
                    # lock all the time could not be overtaken by one that only looks now and then.
                    await _lock(line, path.with_name(f"{path.name}.next"))
                    await _lock(held, path)
                yield hold


async def _lock(held: ExitStack, path: Path) -> None:
    handle = _open(path)
    held.callback(os.close, handle)
    began = time.monotonic()
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waited = time.monotonic() - began
            await asyncio.sleep(min(max(_FIRST_PAUSE, waited * _PATIENT_SHARE), _LONGEST_PAUSE))
        else:
            return


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT
    try:
        return os.open(path, flags, 0o644)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, flags, 0o644)
