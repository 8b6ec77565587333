"""Barrier before reads: what was published before a read is shown by it, while the bus answers."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from pipeline.errors import OutageError

CatchUp = Callable[[], Awaitable[None]]
"""Waits until everything published before the call has been applied."""
REFRESH_BACKOFF_SECONDS = 5.0
log = logging.getLogger(__name__)


class ReadBarrier:
    """Catches up before a read; after a failure, reads go on for a while without it."""

    def __init__(self, catch_up: CatchUp, name: str, *, timeout_seconds: float) -> None:
        self._catch_up = catch_up
        self._name = name
        self._timeout_seconds = timeout_seconds
        self._suspended_until = 0.0

    async def refresh_if_available(self) -> None:
        """Catch up; while the bus does not answer, keep what was applied so far."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._suspended_until:
            return
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await self._catch_up()
        except (TimeoutError, OutageError) as error:
            self._suspended_until = loop.time() + REFRESH_BACKOFF_SECONDS
            log.warning("%s may be out of date, the bus does not answer: %r", self._name, error)
