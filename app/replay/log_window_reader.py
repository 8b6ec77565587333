"""Reader of topics from recorded offsets to given ends, in windows of decoded records."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TypeVar

from pipeline.bus.port import Bus
from pipeline.bus.records import ErasedRecordError, RawRecord, decode
from pipeline.stage import Record
from pipeline.store.generations.generation_registry import TopicOffsets
from schemas.base import Event
from schemas.topics import Topic

E = TypeVar("E", bound=Event)
T = TypeVar("T")
log = logging.getLogger(__name__)

WINDOW_RECORDS = 1024
"""Maximum records of a window."""
WINDOW_BYTES = 8 * 1024 * 1024


@dataclass(slots=True)
class LogWindowReader:
    """Resumable reader; `offsets` holds the next offset by topic and partition."""

    bus: Bus
    offsets: TopicOffsets = field(default_factory=dict)
    bytes_read: int = 0
    """Total bytes of the values read."""

    async def ends(self, topics: Sequence[Topic[E]]) -> TopicOffsets:
        """Return the current ends of topics, queried in the given order: name effects before their causes."""
        return {topic.name: dict(await self.bus.end_offsets(topic.name)) for topic in topics}

    def remaining(self, ends: TopicOffsets) -> int:
        return sum(
            max(0, end - self.offsets.get(topic, {}).get(partition, 0))
            for topic, partitions in ends.items()
            for partition, end in partitions.items()
        )

    async def windows(self, topic: Topic[E], ends: Mapping[int, int]) -> AsyncIterator[tuple[list[Record[E]], int]]:
        """Yield windows of records with the number of offsets they cover, partition by partition.

        The next window is read and decoded while the caller handles the current one.
        """
        read = self.offsets.setdefault(topic.name, {})
        for partition, end in sorted(ends.items()):
            start = read.get(partition, 0)
            if start >= end:
                continue
            async with aclosing(_prefetch(self._decoded_windows(topic, partition, start, end))) as windows:
                async for records, after in windows:
                    yield records, after - read.get(partition, 0)
                    read[partition] = after
            yield [], end - read.get(partition, 0)
            read[partition] = end

    async def _decoded_windows(
        self, topic: Topic[E], partition: int, start: int, end: int
    ) -> AsyncGenerator[tuple[list[Record[E]], int], None]:
        async with aclosing(self._raw_windows(topic, partition, start, end)) as windows:
            async for window in windows:
                yield await asyncio.to_thread(_decode_window, topic, window), window[-1].offset + 1

    async def _raw_windows(
        self, topic: Topic[E], partition: int, start: int, end: int
    ) -> AsyncGenerator[list[RawRecord], None]:
        window: list[RawRecord] = []
        size = 0
        async with aclosing(self.bus.read(topic.name, partition, start, end)) as records:
            async for record in records:
                window.append(record)
                size += len(record.value)
                self.bytes_read += len(record.value)
                if len(window) >= WINDOW_RECORDS or size >= WINDOW_BYTES:
                    yield window
                    window, size = [], 0
        if window:
            yield window


async def _prefetch(source: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """Yield the items of a source, fetching the next while the caller handles the current one."""
    upcoming = asyncio.ensure_future(anext(source))
    try:
        while True:
            try:
                item = await upcoming
            except StopAsyncIteration:
                return
            upcoming = asyncio.ensure_future(anext(source))
            yield item
    finally:
        upcoming.cancel()
        await asyncio.wait([upcoming])
        await source.aclose()


def _decode_window(topic: Topic[E], window: Sequence[RawRecord]) -> list[Record[E]]:
    records = []
    for raw in window:
        try:
            records.append(decode(topic, raw))
        except ErasedRecordError:
            continue
        except ValueError as error:
            # The stage that read the record dead-lettered it, so it has no rows.
            log.info("Skipped undecodable record %s/%d/%d: %s", raw.topic, raw.partition, raw.offset, error)
    return records
