"""Throttle of the requests of one account: concurrency, rate, and pauses that the provider asks for."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic

SleepFunction = Callable[[float], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class RateLimit:
    requests_per_second: float = 10.0
    max_concurrent: int = 8
    burst: int = 10


class Throttle:
    """Rate limiter with bursts; `pause` delays all requests."""

    def __init__(
        self, rate_limit: RateLimit, *, clock: Callable[[], float] = monotonic, sleep: SleepFunction = asyncio.sleep
    ) -> None:
        self._interval = 1 / rate_limit.requests_per_second
        self._burst_seconds = (rate_limit.burst - 1) * self._interval
        self._slots = asyncio.Semaphore(rate_limit.max_concurrent)
        self._clock = clock
        self._sleep = sleep
        self._next_start = 0.0
        self._paused_until = 0.0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Hold a concurrency slot, entered when the rate permits."""
        async with self._slots:
            await self._wait_for_start()
            yield

    def pause(self, seconds: float) -> None:
        """Start no request for this many seconds."""
        self._paused_until = max(self._paused_until, self._clock() + seconds)

    async def _wait_for_start(self) -> None:
        now = self._clock()
        self._next_start = max(self._next_start, now - self._burst_seconds) + self._interval
        begin = self._next_start - self._interval
        while (wait := max(begin, self._paused_until) - self._clock()) > 0:
            await self._sleep(wait)
