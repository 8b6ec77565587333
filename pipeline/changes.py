"""Settings change one at a time, and whoever changes or asks for one knows all that was changed before."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from pipeline.errors import OutageError
from pipeline.locks import LocalLocks
from pipeline.ports import Locks

Current = Callable[[], Awaitable[None]]
"""Waits until every setting that was published before the call is known."""
Turn = Callable[[], AbstractAsyncContextManager[None]]

GLANCE_SECONDS = 0.25
REST_SECONDS = 5.0
TURN_SECONDS = 20.0
"""Longer than the bus takes to say that it is away. Without it a line would wait one after the other."""
_LOCK = "settings"
log = logging.getLogger(__name__)


class Changes:
    """`current` None: this process has the log to itself, so it has seen every change.

    `seconds`: how long a turn is waited for.
    """

    def __init__(
        self, locks: Locks | None = None, current: Current | None = None, *, seconds: float = TURN_SECONDS
    ) -> None:
        self._locks = locks if locks is not None else LocalLocks()
        self._current = None if current is None else Together(current)
        self._seconds = seconds
        self._blind_until = 0.0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Held while a setting is read, changed and published, so that no change is lost. OutageError."""
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(self._seconds):
                    await held.enter_async_context(self._locks.hold(_LOCK))
                    await self.current()
            except TimeoutError as error:
                raise OutageError("Settings can't be changed now: others wait to change theirs.") from error
            yield

    async def current(self) -> None:
        """Wait until every setting published before this call is known here. OutageError."""
        if self._current is not None:
            await self._current()

    async def glance(self) -> None:
        """As `current`, for who only reads: while the bus does not answer, what is known must do."""
        loop = asyncio.get_running_loop()
        if self._current is None or loop.time() < self._blind_until:
            return
        try:
            async with asyncio.timeout(GLANCE_SECONDS):
                await self._current()
        except (TimeoutError, OutageError) as error:
            self._blind_until = loop.time() + REST_SECONDS
            log.warning("Settings may be out of date, the bus does not answer: %r", error)


class Together:
    """Questions that come while one is being answered are answered together, by the next."""

    def __init__(self, current: Current) -> None:
        self._current = current
        self._running: asyncio.Task[None] | None = None
        self._next: asyncio.Task[None] | None = None

    async def __call__(self) -> None:
        if self._next is None:
            self._next = asyncio.create_task(self._after(self._running))
        # Whoever gives up waiting does not take the others' answer along.
        await asyncio.shield(self._next)

    async def _after(self, running: asyncio.Task[None] | None) -> None:
        if running is not None:
            await asyncio.wait([running])
        self._running, self._next = self._next, None
        await self._current()
