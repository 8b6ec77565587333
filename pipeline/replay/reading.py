"""Reading topics of the log from recorded offsets up to a given end, in windows of decoded records."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TypeVar

from pipeline.bus.port import Bus
from pipeline.records import RawRecord, decode
from pipeline.stage import Record
from pipeline.store.generations import Offsets
from schemas.base import Event
from schemas.topics import Topic

E = TypeVar("E", bound=Event)
T = TypeVar("T")
log = logging.getLogger(__name__)

WINDOW = 1024
"""Records that are worked on together."""
WINDOW_BYTES = 8 * 1024 * 1024


@dataclass(slots=True)
class Reader:
    """Reads on where it stopped. `offsets` says, by topic and partition, where that is."""

    bus: Bus
    offsets: Offsets = field(default_factory=dict)
    bytes: int = 0
    """Of values, read so far."""

    async def ends(self, topics: Sequence[Topic[E]]) -> Offsets:
        """Where these topics end now; asked in this order, so name effects before their causes."""
        return {topic.name: dict(await self.bus.ends(topic.name)) for topic in topics}

    def left(self, ends: Offsets) -> int:
        """Offsets still to be read up to these ends."""
        return sum(
            max(0, end - self.offsets.get(topic, {}).get(partition, 0))
            for topic, partitions in ends.items()
            for partition, end in partitions.items()
        )

    async def windows(
        self, topic: Topic[E], ends: Mapping[int, int]
    ) -> AsyncIterator[tuple[list[Record[E]], int]]:
        """Records with how many offsets they stand for, partition by partition.

        While one window is worked on, the next is read and decoded.
        """
        read = self.offsets.setdefault(topic.name, {})
        for partition, end in sorted(ends.items()):
            start = read.get(partition, 0)
            if start >= end:
                continue
            async with aclosing(_ahead(self._records(topic, partition, start, end))) as windows:
                async for records, after in windows:
                    yield records, after - read.get(partition, 0)
                    read[partition] = after
            yield [], end - read.get(partition, 0)
            read[partition] = end

    async def _records(
        self, topic: Topic[E], partition: int, start: int, end: int
    ) -> AsyncGenerator[tuple[list[Record[E]], int], None]:
        async with aclosing(self._raw(topic, partition, start, end)) as windows:
            async for window in windows:
                yield await asyncio.to_thread(_decoded, topic, window), window[-1].offset + 1

    async def _raw(
        self, topic: Topic[E], partition: int, start: int, end: int
    ) -> AsyncGenerator[list[RawRecord], None]:
        window: list[RawRecord] = []
        size = 0
        async with aclosing(self.bus.read(topic.name, partition, start, end)) as records:
            async for record in records:
                window.append(record)
                size += len(record.value)
                self.bytes += len(record.value)
                if len(window) >= WINDOW or size >= WINDOW_BYTES:
                    yield window
                    window, size = [], 0
        if window:
            yield window


async def _ahead(source: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """The same, each item begun while its predecessor is used."""
    coming = asyncio.ensure_future(anext(source))
    try:
        while True:
            try:
                item = await coming
            except StopAsyncIteration:
                return
            coming = asyncio.ensure_future(anext(source))
            yield item
    finally:
        coming.cancel()
        await asyncio.wait([coming])
        await source.aclose()


def _decoded(topic: Topic[E], window: Sequence[RawRecord]) -> list[Record[E]]:
    records = []
    for raw in window:
        try:
            records.append(decode(topic, raw))
        except ValueError as error:
            # The stage that read it has parked it; it made no row.
            log.info("Left out %s/%d/%d: %s", raw.topic, raw.partition, raw.offset, error)
    return records
