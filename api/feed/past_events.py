"""Past records of a feed, read from the log in the order in which they were written."""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from api.feed.feed_cursor import FeedPosition, Place
from api.feed.feed_sources import EXTRACTED, FEED_SOURCES, PROCESSED, SUBMITTED, FeedSource
from api.feed.log_blocks import LogBlocks
from api.feed.repeated_records import RepeatedRecords, lookback_start
from pipeline.bus.records import RawRecord, decode
from pipeline.stage import Record

MIN_BUFFERED_RECORDS = 128
"""Records ahead of the next one: more than the stage `extract` handles at once, and may reorder."""


@dataclass(frozen=True, slots=True)
class PastRecord:
    """Record of a source and the place of its partition in a position."""

    source: FeedSource
    record: Record[Any]
    place: Place


@dataclass(slots=True)
class _PartitionReader:
    source: FeedSource
    partition: int
    start: int
    records: AsyncGenerator[RawRecord, None]
    """Records from `lookback_start` on."""
    incarnations: tuple[str, ...]
    buffered: deque[Record[Any]] = field(default_factory=deque)
    texts: defaultdict[str, deque[int]] = field(default_factory=lambda: defaultdict(deque))
    """Submissions of the buffered texts of each document, if the source is that of texts."""
    _is_at_end: bool = False
    _repeated: RepeatedRecords = field(init=False)

    def __post_init__(self) -> None:
        self._repeated = RepeatedRecords(self.source)

    async def fill(self) -> None:
        """Read until enough records of these incarnations are buffered, or none is left."""
        prefixes = tuple(incarnation.encode() for incarnation in self.incarnations)
        while not self._is_at_end and len(self.buffered) < MIN_BUFFERED_RECORDS:
            raw = await anext(self.records, None)
            if raw is None:
                self._is_at_end = True
            elif raw.key.startswith(prefixes):
                # Undecodable: the stage that reads the topic sent it to the dead letter queue.
                with suppress(ValueError):
                    self._keep(decode(self.source.topic, raw))

    def take(self) -> Record[Any]:
        record = self.buffered.popleft()
        if self.source is EXTRACTED:
            seqs = self.texts[record.event.document]
            seqs.popleft()
            if not seqs:
                del self.texts[record.event.document]
        return record

    def _keep(self, record: Record[Any]) -> None:
        if record.event.incarnation not in self.incarnations or self._repeated.is_repeated(record):
            return
        if record.log_offset >= self.start:
            self.buffered.append(record)
            if self.source is EXTRACTED:
                self.texts[record.event.document].append(record.event.seq)


async def read_past_records(
    log: LogBlocks, partitions: int, incarnations: tuple[str, ...], start: FeedPosition, end: FeedPosition
) -> AsyncGenerator[PastRecord, None]:
    """Read the records of these incarnations between two positions, oldest first, each after what it follows from."""
    readers: dict[Place, _PartitionReader] = {}
    async with AsyncExitStack() as stack:
        for source in FEED_SOURCES:
            for partition in range(partitions):
                place = (source.name, partition)
                if start[place] < end[place]:
                    first = lookback_start(source, start[place])
                    records = log.read(source.topic.name, partition, first, end[place])
                    stack.push_async_callback(records.aclose)
                    readers[place] = _PartitionReader(source, partition, start[place], records, incarnations)
        await asyncio.gather(*(reader.fill() for reader in readers.values()))
        while due := [reader for reader in readers.values() if _is_due(reader, readers)]:
            oldest = min(due, key=_order)
            yield PastRecord(oldest.source, oldest.take(), (oldest.source.name, oldest.partition))
            await oldest.fill()


def _is_due(reader: _PartitionReader, readers: Mapping[Place, _PartitionReader]) -> bool:
    """Return whether everything was read that the next record follows from, whatever the clocks of processes say.

    A document has one partition in every topic.
    """
    if not reader.buffered:
        return False
    record = reader.buffered[0]
    if reader.source is EXTRACTED:
        submitted = readers.get((SUBMITTED.name, reader.partition))
        return submitted is None or not submitted.buffered or submitted.buffered[0].log_offset > record.event.seq
    if reader.source is PROCESSED:
        extracted = readers.get((EXTRACTED.name, reader.partition))
        seqs = () if extracted is None else extracted.texts.get(record.event.document, ())
        return all(seq > record.log_offset for seq in seqs)
    return True


def _order(reader: _PartitionReader) -> tuple[datetime, int]:
    return reader.buffered[0].timestamp, FEED_SOURCES.index(reader.source)


def count_between(start: FeedPosition, end: FeedPosition) -> int:
    """Count the records between two positions, of all namespaces."""
    return sum(max(0, last - start[place]) for place, last in end.items())
