"""Repeated records: texts and memories that a stage published again, for their memories or after an interruption."""

from collections.abc import Hashable
from contextlib import aclosing, suppress
from typing import Any

from api.feed.feed_sources import EXTRACTED, FORMED, FeedSource
from pipeline.bus.port import Bus
from pipeline.bus.records import decode
from pipeline.stage import Record

LOOKBACK_RECORDS = 512
"""Records of a partition among which a repetition is recognized: four batches of the stage `extract`."""


class RepeatedRecords:
    """Recognizes the repetitions of a partition of a source, if it is asked about each record in turn.

    The result depends on the `LOOKBACK_RECORDS` before a record alone, so every process comes to the same.
    """

    def __init__(self, source: FeedSource) -> None:
        self._source = source
        self._offsets: dict[Hashable, int] = {}

    def is_repeated(self, record: Record[Any]) -> bool:
        """Return whether an earlier record says the same, and remember this one."""
        if self._source is EXTRACTED and record.event.is_repeated:
            return True
        identity = _identity(self._source, record)
        if identity is None:
            return False
        earliest = record.log_offset - LOOKBACK_RECORDS
        before = self._offsets.pop(identity, -1)
        self._offsets[identity] = record.log_offset
        while self._offsets[oldest := next(iter(self._offsets))] < earliest:
            del self._offsets[oldest]
        return before >= max(0, earliest)


def lookback_start(source: FeedSource, offset: int) -> int:
    """Return the offset from which records must be seen before the one at an offset is judged."""
    return max(0, offset - LOOKBACK_RECORDS) if source in (EXTRACTED, FORMED) else offset


async def read_lookback(bus: Bus, source: FeedSource, partition: int, offset: int) -> RepeatedRecords:
    repeated = RepeatedRecords(source)
    start = lookback_start(source, offset)
    if start < offset:
        async with aclosing(bus.read(source.topic.name, partition, start, offset)) as records:
            async for raw in records:
                with suppress(ValueError):
                    repeated.is_repeated(decode(source.topic, raw))
    return repeated


def _identity(source: FeedSource, record: Record[Any]) -> Hashable:
    event = record.event
    if source is EXTRACTED:
        return event.document, event.seq, event.error is None
    if source is FORMED:
        return event.document, event.seq, event.is_provisional, tuple(memory.id for memory in event.memories)
    return None
