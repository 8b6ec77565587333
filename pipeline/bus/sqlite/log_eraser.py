"""Erasure, retention and compaction of the embedded log, in small transactions."""

import asyncio
from bisect import bisect_right
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from pipeline.bus.port import TopicPartition
from pipeline.bus.records import RawRecord
from pipeline.bus.sealing.sealed_records import key_labels
from pipeline.bus.sealing.sealer import Sealer
from pipeline.bus.sqlite.consumers import ConsumerPositions
from pipeline.bus.sqlite.log_database import LogDatabase
from pipeline.bus.sqlite.log_reader import LogReader
from pipeline.bus.sqlite.log_writer import LogWriter
from schemas.topics import Topic

KEYS_PER_READ = 4096
RECORDS_PER_READ = 512
RECORDS_PER_BATCH = 512
"""Records per transaction."""
VACUUM_PAGES = 1024
"""Maximum number of pages returned to the file system at a time."""
_BUSY_SECONDS = 0.05
T = TypeVar("T")


class RunQuery(Protocol):
    def __call__(self, query: Callable[[LogReader], T]) -> Awaitable[T]: ...


@dataclass(frozen=True, slots=True)
class LogEraser:
    """`ErasableLog` in SQLite: records are removed, but for those that a known group has yet to read."""

    database: LogDatabase
    writer: LogWriter
    positions: ConsumerPositions
    query: RunQuery
    sealer: Sealer | None
    removes_plain_records = True

    async def read_keys(
        self, topic: str, containing: bytes | None = None
    ) -> AsyncGenerator[tuple[TopicPartition, int, bytes], None]:
        for partition in range(self.database.partitions):
            start = 0
            read = partial(LogReader.read_keys, topic=topic, partition=partition, containing=containing)
            while found := await self.query(partial(read, start=start, limit=KEYS_PER_READ)):
                for offset, key, is_wanted in found:
                    if is_wanted:
                        yield (topic, partition), offset, key
                start = found[-1][0] + 1

    async def read_records(
        self, topic_partition: TopicPartition, offsets: Sequence[int]
    ) -> AsyncGenerator[RawRecord, None]:
        (topic, partition), left = topic_partition, sorted(offsets)
        while left:
            part = left[:RECORDS_PER_READ]
            found = await self.query(partial(LogReader.read_offsets, topic=topic, partition=partition, offsets=part))
            for record in found:
                yield record
            # A part of large records ends early.
            ended_at = part[-1] if len(found) in {0, len(part)} else found[-1].offset
            left = left[bisect_right(left, ended_at) :]

    async def read_ranges(
        self, ranges: Mapping[TopicPartition, tuple[int, int]]
    ) -> AsyncGenerator[tuple[TopicPartition, Sequence[RawRecord], int], None]:
        for place, (start, end) in ranges.items():
            position = start
            while position < end:
                query = partial(
                    LogReader.read, topic=place[0], partition=place[1], start=position, limit=RECORDS_PER_READ
                )
                read = await self.query(query)
                records = [record for record in read if record.offset < end]
                position = records[-1].offset + 1 if records else end
                yield place, records, position

    async def erase(self, topic_partition: TopicPartition, offsets: Collection[int]) -> set[int]:
        consumed = sorted(offset for offset in offsets if offset < self.positions.min_position(topic_partition))
        for start in range(0, len(consumed), RECORDS_PER_BATCH):
            await self._remove(topic_partition, consumed[start : start + RECORDS_PER_BATCH])
        return set(offsets) - set(consumed)

    async def ends(self, topics: Collection[str]) -> dict[TopicPartition, int]:
        places = [(topic, partition) for topic in topics for partition in range(self.database.partitions)]
        return {place: self.positions.end_offset(place) for place in places}

    async def count_keys(self, records: Sequence[Mapping[str, str]]) -> int:
        return 0 if self.sealer is None else await self.sealer.count(key_labels(records))

    async def destroy_keys(self, records: Sequence[Mapping[str, str]]) -> int:
        return 0 if self.sealer is None else await self.sealer.destroy(key_labels(records))

    async def shrink(self) -> None:
        """Shrink as `ErasableLog.shrink`, in small steps between transactions."""
        while True:
            if await self.writer.run_between_transactions(lambda: self.database.shrink(VACUUM_PAGES)):
                return
            await asyncio.sleep(_BUSY_SECONDS)  # a reader holds the write-ahead log, or pages are left

    async def clean(self, topics: Sequence[Topic[Any]], now_ms: int) -> int:
        """Remove expired and superseded records; `now_ms` in milliseconds since 1970. Return how many."""
        removed = 0
        for topic in topics:
            for partition in range(self.database.partitions):
                removed += await self._expire(topic, partition, now_ms)
                removed += await self._compact(topic, partition)
        if removed:
            await self.writer.run_between_transactions(lambda: self.database.vacuum(VACUUM_PAGES))
        return removed

    async def _expire(self, topic: Topic[Any], partition: int, now_ms: int) -> int:
        if topic.retention is None:
            return 0
        before = now_ms - round(topic.retention.total_seconds() * 1000)
        until = self.positions.min_position((topic.name, partition))
        removed = 0
        while offsets := await self.query(
            lambda reader: reader.expired_offsets(topic.name, partition, before, until, RECORDS_PER_BATCH)
        ):
            await self._remove_with_keys((topic.name, partition), offsets)
            removed += len(offsets)
        return removed

    async def _compact(self, topic: Topic[Any], partition: int) -> int:
        if not topic.compacted:
            return 0
        offsets = await self.query(lambda reader: reader.superseded_offsets(topic.name, partition))
        for start in range(0, len(offsets), RECORDS_PER_BATCH):
            await self._remove_with_keys((topic.name, partition), offsets[start : start + RECORDS_PER_BATCH])
        return len(offsets)

    async def _remove_with_keys(self, topic_partition: TopicPartition, offsets: Sequence[int]) -> None:
        if self.sealer is not None:
            await self.destroy_keys([record.headers async for record in self.read_records(topic_partition, offsets)])
        await self._remove(topic_partition, offsets)

    async def _remove(self, topic_partition: TopicPartition, offsets: Sequence[int]) -> None:
        await self.writer.submit(lambda log: log.remove(*topic_partition, offsets))
