"""Forgets memories whose stated end has passed, by an event like any other forgetting."""

import asyncio
from collections.abc import Sequence
from datetime import datetime

from pipeline.memory.scheduling.deferred_extraction_worker import Sleep
from pipeline.memory.versioning.forget_command import source_positions_of
from pipeline.memory.versioning.provenance import EXPIRED_REASON
from pipeline.ports import Catalog, Clock, Locks, MemoryTable, Publisher
from pipeline.rows import MemoryRow
from schemas.events import MemoriesForgotten
from schemas.topics import MEMORIES_FORGOTTEN

SCAN_INTERVAL_SECONDS = 30.0
"""Seconds between two scans; ends are days, so seconds do not matter."""
_LOCK_NAME = "expiry"


class ExpirationWorker:
    """Scans for expired memories in one process at a time."""

    def __init__(
        self,
        *,
        memories: MemoryTable,
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
        self._published: dict[str, datetime] = {}

    async def run(self) -> None:
        """Scan forever, once this process holds the lock."""
        async with self._locks.acquire(_LOCK_NAME) as lease:
            while True:
                lease.ensure_valid()
                await self.forget_expired()
                await self._sleep(SCAN_INTERVAL_SECONDS)

    async def forget_expired(self) -> int:
        """Publish the forgetting of memories that expired by now; return how many.

        Memories already published are on their way and left out.
        """
        now = self._clock.now()
        due = [row for row in await self._memories.expiring() if row.expires_at and row.expires_at <= now]
        self._published = {row.id: self._published[row.id] for row in due if row.id in self._published}
        unpublished = [
            row
            for row in due
            if self._published.get(row.id) != row.expires_at and self._catalog.namespace_of(row.incarnation) is not None
        ]
        await self._publish_forgotten(unpublished, now)
        self._published.update({row.id: row.expires_at for row in unpublished if row.expires_at})
        return len(unpublished)

    async def _publish_forgotten(self, rows: Sequence[MemoryRow], now: datetime) -> None:
        by_incarnation: dict[str, list[MemoryRow]] = {}
        for row in rows:
            by_incarnation.setdefault(row.incarnation, []).append(row)
        events = [
            (
                incarnation,
                MemoriesForgotten(
                    incarnation=incarnation,
                    ids=tuple(row.id for row in members),
                    at=now,
                    reason=EXPIRED_REASON,
                    sources={row.id: source_positions_of(row) for row in members},
                ),
            )
            for incarnation, members in by_incarnation.items()
        ]
        if events:
            await self._publisher.publish(MEMORIES_FORGOTTEN, events)
