"""Long work on the event loop, in pieces between which others have their turn."""

import asyncio
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import TypeVar

T = TypeVar("T")

SECONDS = 0.0005
"""A search takes several times as long; to give way costs a fiftieth of it."""
FEW_CHARACTERS = 16 * 1024
"""Of longer texts the work takes so long that a thread does it, with which searches share the interpreter."""


class Breath:
    """Work that may take long asks for one wherever others may come in between."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._due = perf_counter() + seconds

    async def taken(self) -> None:
        """Whoever waits for the loop has a turn, where the work went on for so long since the last one."""
        if perf_counter() >= self._due:
            await asyncio.sleep(0)
            self._due = perf_counter() + self._seconds


async def steps(characters: int, work: Callable[[], Iterable[T]]) -> list[T]:
    """What work on texts of so many characters yields, step by step: others come in between."""
    if characters > FEW_CHARACTERS:
        return await asyncio.to_thread(lambda: list(work()))
    breath, done = Breath(), list[T]()
    for one in work():
        done.append(one)
        await breath.taken()
    return done
