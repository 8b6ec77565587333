"""Changes of settings: each sees every change published before, and those of one setting follow one another."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from zlib import crc32

from pipeline.errors import OutageError
from pipeline.ports import Locks, Publisher
from pipeline.runtime.local_locks import LocalLocks
from pipeline.runtime.read_barrier import CatchUp, Coalescer, ReadBarrier
from schemas.events import SettingsChanged
from schemas.topics import SETTINGS_CHANGED

WaitForSettings = Callable[[Mapping[int, int]], Awaitable[None]]
"""Waits until every setting before these offsets (by partition) has been applied."""

ACQUIRE_TIMEOUT_SECONDS = 20.0
"""Limit of the wait for a lock, and for a change to be applied. Longer than the bus takes to report an outage."""
_LOCKS = 256
"""Settings share so many locks: in a folder a lock is a file, and at an object store an object."""


class SettingsLock:
    """Locks around changes of settings, one for each, and barrier for reads.

    `catch_up` and `wait_for` None: changes are applied as they are published. `refresh` catches up before reads, and
    may give up earlier; None: no other process writes to the log, and this one has shown what it acknowledged.
    """

    def __init__(
        self,
        locks: Locks | None = None,
        catch_up: CatchUp | None = None,
        refresh: CatchUp | None = None,
        *,
        wait_for: WaitForSettings | None = None,
        timeout_seconds: float = ACQUIRE_TIMEOUT_SECONDS,
    ) -> None:
        self._locks = locks if locks is not None else LocalLocks()
        self._catch_up = None if catch_up is None else Coalescer(catch_up)
        self._timeout_seconds = timeout_seconds
        self._wait_for = wait_for
        self._barrier = None if refresh is None else ReadBarrier(refresh, "Settings")

    @asynccontextmanager
    async def acquire(self, *settings: str) -> AsyncIterator[None]:
        """Hold the locks of settings, by record key, while they are read, changed and published. Not reentrant.

        OutageError after the timeout.
        """
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(self._timeout_seconds):
                    # In order, so that two that need the same ones never wait for each other.
                    for number in sorted({crc32(setting.encode()) % _LOCKS for setting in settings}):
                        await held.enter_async_context(self._locks.acquire(f"settings/{number}"))
                    await self.catch_up()
            except TimeoutError as error:
                raise OutageError("Settings can't be changed now: other changes are waiting. Try again.") from error
            yield

    async def publish(self, publisher: Publisher, entries: Sequence[tuple[str, SettingsChanged]]) -> None:
        """Write changes to the log, under their locks; applied here on return. OutageError."""
        positions = await publisher.publish(SETTINGS_CHANGED, entries)
        if self._wait_for is None:
            return
        ends: defaultdict[int, int] = defaultdict(int)
        for position in positions:
            ends[position.partition] = max(ends[position.partition], position.offset + 1)
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await self._wait_for(ends)
        except TimeoutError as error:
            raise OutageError("The change is in the log, and this process can't show it yet.") from error

    async def catch_up(self) -> None:
        """Wait until every setting published before this call has been applied here. OutageError."""
        if self._catch_up is not None:
            await self._catch_up()

    async def refresh_if_available(self) -> bool:
        """Catch up before a read; return False in an outage of the bus, which keeps what was applied. OutageError."""
        return self._barrier is None or await self._barrier.refresh_if_available()
