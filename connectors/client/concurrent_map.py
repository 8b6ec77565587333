"""Concurrent mapping with results in order."""

import asyncio
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


async def map_concurrently(
    values: Iterable[T] | AsyncIterable[T], function: Callable[[T], Awaitable[R]], max_concurrency: int
) -> AsyncIterator[R]:
    """Yield `function(value)` in order, with at most `max_concurrency` running or unconsumed.

    The first error ends the iteration.
    """
    running: deque[asyncio.Future[R]] = deque()
    try:
        async for value in _as_async_iterator(values):
            if len(running) >= max_concurrency:
                yield await running.popleft()
            running.append(asyncio.ensure_future(function(value)))
        while running:
            yield await running.popleft()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _as_async_iterator(values: Iterable[T] | AsyncIterable[T]) -> AsyncIterator[T]:
    if isinstance(values, AsyncIterable):
        async for value in values:
            yield value
    else:
        for value in values:
            yield value
