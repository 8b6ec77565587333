"""Barrier before reads: what was published before a read is shown by it, while the bus and the tables answer."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from pipeline.errors import OutageError

CatchUp = Callable[[], Awaitable[None]]
"""Waits until everything published before the call has been applied. OutageError if the bus does not answer."""
LOG_ANSWER_SECONDS = 5.0
"""Time after which a log that does not answer a read counts as away."""
APPLY_TIMEOUT_SECONDS = 20.0
"""Maximum wait of a read for records that the log has and this process has not applied yet."""
OUTAGE_WAIT_SECONDS = 0.25
"""Maximum wait of a read in an outage: one that is over is noticed by the first read after it."""
log = logging.getLogger(__name__)


class Coalescer:
    """Coalesces concurrent calls of an operation: calls during a run share the run after it."""

    def __init__(self, operation: CatchUp) -> None:
        self._operation = operation
        self._running: asyncio.Task[None] | None = None
        self._next: asyncio.Task[None] | None = None

    async def __call__(self) -> None:
        if self._next is None:
            self._next = asyncio.create_task(self._run_after(self._running))
            self._next.add_done_callback(_mark_retrieved)
        # A cancelled caller must not cancel the run that others wait for.
        await asyncio.shield(self._next)

    async def _run_after(self, running: asyncio.Task[None] | None) -> None:
        if running is not None:
            await asyncio.wait([running])
        self._running, self._next = self._next, None
        await self._operation()


def _mark_retrieved(run: asyncio.Task[None]) -> None:
    """Mark the error of a run as retrieved: it is for the callers, and all of them may have stopped waiting."""
    if not run.cancelled():
        run.exception()


class ReadBarrier:
    """Catches up before a read; in an outage, reads go on after a moment with what was applied so far.

    A process that is merely slow lets reads wait, since they could show less than an earlier read through
    another process; only an outage makes them go on.
    """

    def __init__(self, catch_up: CatchUp, name: str) -> None:
        self._catch_up = catch_up
        self._attempt = Coalescer(self._catch_up_or_suspend)
        self._name = name
        self._is_suspended = False
        self._waiting: set[asyncio.Timeout] = set()

    async def refresh_if_available(self) -> bool:
        """Catch up; return False in an outage, which keeps what was applied so far.

        OutageError if this process stays behind.
        """
        try:
            async with asyncio.timeout(OUTAGE_WAIT_SECONDS if self._is_suspended else APPLY_TIMEOUT_SECONDS) as limit:
                self._waiting.add(limit)
                try:
                    await self._attempt()
                finally:
                    self._waiting.discard(limit)
        except OutageError:
            return False
        except TimeoutError as error:
            if not self._is_suspended:
                raise OutageError(f"{self._name} are not up to date in this process yet.") from error
            return False
        return True

    async def _catch_up_or_suspend(self) -> None:
        try:
            await self._catch_up()
        except OutageError as error:
            if not self._is_suspended:
                log.warning("%s may be out of date, the bus does not answer: %s", self._name, error)
            self.suspend()
            raise
        self.resume()

    def suspend(self) -> None:
        """Let reads go on with what was applied so far, those that wait too."""
        self._is_suspended = True
        now = asyncio.get_running_loop().time()
        for limit in self._waiting:
            if not limit.expired():
                limit.reschedule(now)

    def resume(self) -> None:
        """Let reads wait until they have caught up again."""
        self._is_suspended = False
