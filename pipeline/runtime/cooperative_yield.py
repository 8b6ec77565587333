"""Cooperative checkpoints for long work on the event loop."""

import asyncio
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import TypeVar

T = TypeVar("T")

YIELD_INTERVAL_SECONDS = 0.0005
"""Time between two yields. A search takes several times as long; a yield costs a fiftieth of it."""
MAX_INLINE_CHARS = 16 * 1024
"""Text length above which the work runs in a thread, which contends for the GIL with searches."""


class CooperativeYield:
    """Cooperative checkpoint for long work on the event loop."""

    def __init__(self, seconds: float = YIELD_INTERVAL_SECONDS) -> None:
        self._seconds = seconds
        self._next_yield = perf_counter() + seconds

    async def checkpoint(self) -> None:
        """Yield to the event loop if the interval since the last yield has passed."""
        if perf_counter() >= self._next_yield:
            await asyncio.sleep(0)
            self._next_yield = perf_counter() + self._seconds


async def run_cooperatively(characters: int, work: Callable[[], Iterable[T]]) -> list[T]:
    """Collect the results of `work` with a checkpoint after each; in a thread if the text is long."""
    if characters > MAX_INLINE_CHARS:
        return await asyncio.to_thread(lambda: list(work()))
    cooperative_yield, results = CooperativeYield(), list[T]()
    for result in work():
        results.append(result)
        await cooperative_yield.checkpoint()
    return results
