"""Long work on the event loop, in pieces between which others have their turn."""

import asyncio
from time import perf_counter

SECONDS = 0.002
"""A search takes a few times as long; to give way costs a hundredth of it."""


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
