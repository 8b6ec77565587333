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
REFRESH_BACKOFF_SECONDS = 5.0
log = logging.getLogger(__name__)


class ReadBarrier:
    """Catches up before a read; after an outage, reads go on for a while without it.

    A process that is merely slow lets reads wait, since they could show less than an earlier read through
    another process; only an outage makes them go on.
    """

    def __init__(self, catch_up: CatchUp, name: str) -> None:
        self._catch_up = catch_up
        self._name = name
        self._suspended_until = 0.0
        self._waiting: set[asyncio.Timeout] = set()

    async def refresh_if_available(self) -> None:
        """Catch up; in an outage, keep what was applied so far. OutageError if this process stays behind."""
        now = asyncio.get_running_loop().time
        if now() < self._suspended_until:
            return
        try:
            await self._catch_up_in_time()
        except OutageError as error:
            self.suspend()
            log.warning("%s may be out of date, the bus does not answer: %s", self._name, error)
        except TimeoutError as error:
            if now() >= self._suspended_until:
                raise OutageError(f"{self._name} are not up to date in this process yet.") from error

    async def _catch_up_in_time(self) -> None:
        async with asyncio.timeout(APPLY_TIMEOUT_SECONDS) as limit:
            self._waiting.add(limit)
            try:
                await self._catch_up()
            finally:
                self._waiting.discard(limit)

    def suspend(self) -> None:
        """Let reads go on with what was applied so far, those that wait too."""
        now = asyncio.get_running_loop().time()
        self._suspended_until = now + REFRESH_BACKOFF_SECONDS
        for limit in self._waiting:
            if not limit.expired():
                limit.reschedule(now)

    def resume(self) -> None:
        """Let reads catch up again."""
        self._suspended_until = 0.0
