"""Progress of the stages behind a feed's sources, so that a search finds what the feed tells."""

import asyncio
from collections.abc import Callable
from typing import Any

from api.feed.feed_sources import FeedSource
from pipeline.bus.port import Bus
from pipeline.stage import Record, consumer_group

GENERATION_CHECK_SECONDS = 5.0
"""Wait for a stage before it is looked whether other tables, filled by other groups, are active by now."""


class StageProgress:
    """Waits for stages, and remembers how far each source has been handled. `generation`: of the active tables."""

    def __init__(self, bus: Bus, generation: Callable[[], int]) -> None:
        self._bus = bus
        self._generation = generation
        self._handled: dict[tuple[int, str, int], int] = {}

    async def wait_until_handled(self, source: FeedSource, record: Record[Any]) -> None:
        """Wait until the stages of the source have handled this record and all that came of it. OutageError."""
        while source.stages:
            generation = self._generation()
            place = (generation, source.name, record.partition)
            if record.log_offset < self._handled.get(place, 0):
                return
            try:
                async with asyncio.timeout(GENERATION_CHECK_SECONDS):
                    handled = await self._wait(source, record, generation)
            except TimeoutError:
                continue
            self._handled[place] = max(handled, self._handled.get(place, 0))

    async def _wait(self, source: FeedSource, record: Record[Any], generation: int) -> int:
        """Return the first offset of the record's partition that may not have been handled.

        A document has one partition in every topic: what a stage published is before the end of the next topic.
        """
        (first, _), *later = source.stages
        group, topic, partition = consumer_group(first, generation), source.topic.name, record.partition
        await self._bus.wait_until_consumed(group, topic, partition, record.log_offset)
        handled = (await self._bus.positions(group, topic)).get(partition, record.log_offset + 1)
        for name, made in later:
            last = (await self._bus.end_offsets(made.name)).get(partition, 0) - 1
            if last >= 0:
                await self._bus.wait_until_consumed(consumer_group(name, generation), made.name, partition, last)
        return max(handled, record.log_offset + 1)
