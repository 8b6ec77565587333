"""Past records of a feed, read from the log in the order in which they were written."""

from collections import deque
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from api.feed.feed_cursor import FeedPosition
from api.feed.feed_sources import EXTRACTED, FEED_SOURCES, PROCESSED, FeedSource
from pipeline.bus.port import Bus
from pipeline.bus.records import decode
from pipeline.stage import Record

PAGE_RECORDS = 256
"""Records of a partition that are read at once; those of other namespaces are not kept."""
MIN_BUFFERED_RECORDS = 128
"""Records ahead of the next one: more than the stage `extract` handles at once, and may reorder."""
Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class PastRecord:
    """Record of a source and the place of its partition in a position."""

    source: FeedSource
    record: Record[Any]
    place: Place


@dataclass(slots=True)
class _PartitionReader:
    """Buffered reader of one source's partition, in [next_offset, end)."""

    bus: Bus
    source: FeedSource
    partition: int
    next_offset: int
    end: int
    incarnations: tuple[str, ...]
    buffered: deque[Record[Any]] = field(default_factory=deque)

    async def fill(self) -> bool:
        """Read until enough records are buffered; False at the end."""
        prefixes = tuple(incarnation.encode() for incarnation in self.incarnations)
        while len(self.buffered) < MIN_BUFFERED_RECORDS and self.next_offset < self.end:
            until = min(self.next_offset + PAGE_RECORDS, self.end)
            records = self.bus.read(self.source.topic.name, self.partition, self.next_offset, until)
            async with aclosing(records):
                async for raw in records:
                    if raw.key.startswith(prefixes):
                        # Undecodable: the stage that reads the topic sent it to the dead letter queue.
                        with suppress(ValueError):
                            self._keep(decode(self.source.topic, raw))
            self.next_offset = until
        return bool(self.buffered)

    def _keep(self, record: Record[Any]) -> None:
        if record.event.incarnation in self.incarnations:
            self.buffered.append(record)


async def read_past_records(
    bus: Bus, incarnations: tuple[str, ...], start: FeedPosition, end: FeedPosition
) -> AsyncGenerator[PastRecord, None]:
    """Read the records of these incarnations between two positions, oldest first."""
    readers = [
        _PartitionReader(bus, source, partition, start[source.name, partition], last, incarnations)
        for source in FEED_SOURCES
        for (name, partition), last in end.items()
        if name == source.name and start[source.name, partition] < last
    ]
    while readers := [reader for reader in readers if await reader.fill()]:
        texts = {reader.partition: reader.buffered for reader in readers if reader.source is EXTRACTED}
        oldest = min(readers, key=lambda reader: _order(reader, texts))
        yield PastRecord(oldest.source, oldest.buffered.popleft(), (oldest.source.name, oldest.partition))


def _order(reader: _PartitionReader, texts: Mapping[int, Iterable[Record[Any]]]) -> tuple[datetime, int]:
    """Order by time; what came of a submission is sent after its text."""
    record = reader.buffered[0]
    moments = [record.timestamp]
    if reader.source is PROCESSED:
        event = record.event
        moments += [
            text.timestamp
            for text in texts.get(reader.partition, ())
            if text.event.document == event.document and text.event.seq <= record.offset
        ]
    return max(moments), FEED_SOURCES.index(reader.source)


def count_between(start: FeedPosition, end: FeedPosition) -> int:
    """Count the records between two positions, of all namespaces."""
    return sum(max(0, last - start[place]) for place, last in end.items())
