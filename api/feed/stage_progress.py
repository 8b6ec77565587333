"""Progress of the stages behind a feed's sources, so that a search finds what the feed sends."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from api.feed.feed_sources import FeedSource
from pipeline.bus.port import Bus
from pipeline.stage import Record, consumer_group

GENERATION_CHECK_SECONDS = 5.0
"""Wait for a stage before it is looked whether other tables, filled by other groups, are active by now."""


@dataclass(frozen=True, slots=True)
class _Handled:
    """Progress in a partition: the first offset not known as handled, and the end of what those before led to."""

    next_offset: int
    made_until: int


class StageProgress:
    """Waits for stages, and remembers how far each source has been handled. `generation`: of the active tables."""

    def __init__(self, bus: Bus, generation: Callable[[], int]) -> None:
        self._bus = bus
        self._generation = generation
        self._handled: dict[tuple[int, str, int], _Handled] = {}

    def made_until(self, source: FeedSource, partition: int) -> int:
        """Return the end of the first topic that the stages of a source publish to, as of what they have handled."""
        handled = self._handled.get((self._generation(), source.name, partition))
        return 0 if handled is None else handled.made_until

    def is_handled(self, source: FeedSource, record: Record[Any]) -> bool:
        known = self._handled.get((self._generation(), source.name, record.partition))
        return not source.stages or (known is not None and record.log_offset < known.next_offset)

    async def wait_until_handled(self, source: FeedSource, record: Record[Any]) -> None:
        """Wait until the stages of the source have handled this record and all that came of it. OutageError."""
        while source.stages:
            generation = self._generation()
            place = (generation, source.name, record.partition)
            known = self._handled.get(place)
            if known is not None and record.log_offset < known.next_offset:
                return
            try:
                async with asyncio.timeout(GENERATION_CHECK_SECONDS):
                    handled = await self._wait(source, record, generation)
            except TimeoutError:
                continue
            if known is None or handled.next_offset > known.next_offset:
                self._handled[place] = handled

    async def _wait(self, source: FeedSource, record: Record[Any], generation: int) -> _Handled:
        """Return how far the record's partition has been handled.

        A document has one partition in every topic: what a stage published is before the end of the next topic.
        """
        (first, _), *later = source.stages
        group, topic, partition = consumer_group(first, generation), source.topic.name, record.partition
        await self._bus.wait_until_consumed(group, topic, partition, record.log_offset)
        handled = (await self._bus.positions(group, topic)).get(partition, record.log_offset + 1)
        made_until = 0
        for name, made in later:
            end = (await self._bus.end_offsets(made.name)).get(partition, 0)
            made_until = made_until or end
            if end > 0:
                await self._bus.wait_until_consumed(consumer_group(name, generation), made.name, partition, end - 1)
        return _Handled(max(handled, record.log_offset + 1), made_until)
