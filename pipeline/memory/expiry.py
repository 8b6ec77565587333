"""Memories whose own end has passed are forgotten, by an event like every other forgetting."""

import asyncio
from collections.abc import Sequence
from datetime import datetime

from pipeline.memory.dreamer import Sleep
from pipeline.memory.forgetting import sources_of
from pipeline.memory.statements import OVER
from pipeline.ports import Catalog, Clock, Locks, Memories, Publisher
from pipeline.rows import MemoryRow
from schemas.events import MemoriesForgotten
from schemas.topics import MEMORIES_FORGOTTEN

PAUSE = 30.0
"""Seconds between two looks, at most: ends are days, so nobody waits for the second."""
_LOCK = "expiry"


class Expiry:
    """One process at a time looks for memories that are over."""

    def __init__(
        self,
        *,
        memories: Memories,
        catalog: Catalog,
        publisher: Publisher,
        clock: Clock,
        locks: Locks,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._memories = memories
        self._catalog = catalog
        self._publisher = publisher
        self._clock = clock
        self._locks = locks
        self._sleep = sleep
        self._told: dict[str, datetime] = {}

    async def run(self) -> None:
        """For ever; waits until it is this process's turn."""
        async with self._locks.hold(_LOCK) as hold:
            while True:
                hold.check()
                await self.look()
                await self._sleep(PAUSE)

    async def look(self) -> int:
        """Forget what is over by now; how many memories. What was told already is on its way."""
        now = self._clock.now()
        due = [row for row in await self._memories.expiring() if row.expires_at and row.expires_at <= now]
        self._told = {row.id: self._told[row.id] for row in due if row.id in self._told}
        fresh = [
            row
            for row in due
            if self._told.get(row.id) != row.expires_at and self._catalog.owner(row.space) is not None
        ]
        await self._forget(fresh, now)
        self._told.update({row.id: row.expires_at for row in fresh if row.expires_at})
        return len(fresh)

    async def _forget(self, rows: Sequence[MemoryRow], now: datetime) -> None:
        by_space: dict[str, list[MemoryRow]] = {}
        for row in rows:
            by_space.setdefault(row.space, []).append(row)
        events = [
            (
                space,
                MemoriesForgotten(
                    space=space,
                    ids=tuple(row.id for row in members),
                    at=now,
                    reason=OVER,
                    sources={row.id: sources_of(row) for row in members},
                ),
            )
            for space, members in by_space.items()
        ]
        if events:
            await self._publisher.publish(MEMORIES_FORGOTTEN, events)
