"""Serialized changes of settings: reads and changes see every change published before."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from pipeline.errors import OutageError
from pipeline.ports import Locks
from pipeline.runtime.local_locks import LocalLocks
from pipeline.runtime.read_barrier import CatchUp, ReadBarrier

AcquireSettingsLock = Callable[[], AbstractAsyncContextManager[None]]

ACQUIRE_TIMEOUT_SECONDS = 20.0
"""Limit of the wait for the lock. Longer than the bus takes to report an outage."""
_LOCK_NAME = "settings"


class SettingsLock:
    """Lock around changes of settings, and barrier for reads.

    `catch_up` None: no other process writes to the log, so every change has been applied already. `refresh`
    does the same before reads, and may give up earlier.
    """

    def __init__(
        self,
        locks: Locks | None = None,
        catch_up: CatchUp | None = None,
        refresh: CatchUp | None = None,
        *,
        timeout_seconds: float = ACQUIRE_TIMEOUT_SECONDS,
    ) -> None:
        self._locks = locks if locks is not None else LocalLocks()
        self._catch_up = None if catch_up is None else Coalescer(catch_up)
        self._timeout_seconds = timeout_seconds
        refresh = refresh or catch_up
        self._barrier = None if refresh is None else ReadBarrier(Coalescer(refresh), "Settings")

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[None]:
        """Hold the lock while a setting is read, changed and published. OutageError after the timeout."""
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(self._timeout_seconds):
                    await held.enter_async_context(self._locks.acquire(_LOCK_NAME))
                    await self.catch_up()
            except TimeoutError as error:
                raise OutageError("Settings can't be changed now: other changes are waiting. Try again.") from error
            yield

    async def catch_up(self) -> None:
        """Wait until every setting published before this call has been applied here. OutageError."""
        if self._catch_up is not None:
            await self._catch_up()

    async def refresh_if_available(self) -> None:
        """Catch up before a read; in an outage of the bus, keep the settings applied so far. OutageError."""
        if self._barrier is not None:
            await self._barrier.refresh_if_available()


class Coalescer:
    """Coalesces concurrent calls of an operation: calls during a run share the run after it."""

    def __init__(self, operation: CatchUp) -> None:
        self._operation = operation
        self._running: asyncio.Task[None] | None = None
        self._next: asyncio.Task[None] | None = None

    async def __call__(self) -> None:
        if self._next is None:
            self._next = asyncio.create_task(self._run_after(self._running))
        # A cancelled caller must not cancel the run that others wait for.
        await asyncio.shield(self._next)

    async def _run_after(self, running: asyncio.Task[None] | None) -> None:
        if running is not None:
            await asyncio.wait([running])
        self._running, self._next = self._next, None
        await self._operation()
