"""How fast one account is asked: so many at once, so many per second, and nobody while it rests."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from time import monotonic

from connectors.ports import Pace

Sleep = Callable[[float], Awaitable[object]]


class Pacer:
    """Turns for requests. A burst may go at once, the rest follow at the rate; `rest` holds everyone back."""

    def __init__(
        self, pace: Pace, *, clock: Callable[[], float] = monotonic, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._interval = 1 / pace.per_second
        self._ahead = (pace.burst - 1) * self._interval
        self._slots = asyncio.Semaphore(pace.concurrent)
        self._clock = clock
        self._sleep = sleep
        self._due = 0.0
        self._rested = 0.0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Hold one of the places, once the rate allows it."""
        async with self._slots:
            await self._wait()
            yield

    def rest(self, seconds: float) -> None:
        """Let nobody begin for so long: the provider asked for it."""
        self._rested = max(self._rested, self._clock() + seconds)

    async def _wait(self) -> None:
        now = self._clock()
        self._due = max(self._due, now - self._ahead) + self._interval
        begin = self._due - self._interval
        while (wait := max(begin, self._rested) - self._clock()) > 0:
            await self._sleep(wait)
