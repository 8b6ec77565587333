"""Several requests at once, their results in order."""

import asyncio
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


async def mapped(
    values: Iterable[T] | AsyncIterable[T], change: Callable[[T], Awaitable[R]], width: int
) -> AsyncIterator[R]:
    """`change` of each value, at most `width` at once or waiting to be taken; the first error ends it."""
    running: deque[asyncio.Future[R]] = deque()
    try:
        async for value in _each(values):
            if len(running) >= width:
                yield await running.popleft()
            running.append(asyncio.ensure_future(change(value)))
        while running:
            yield await running.popleft()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _each(values: Iterable[T] | AsyncIterable[T]) -> AsyncIterator[T]:
    if isinstance(values, AsyncIterable):
        async for value in values:
            yield value
    else:
        for value in values:
            yield value
