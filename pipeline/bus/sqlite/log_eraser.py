"""Erasure of single records of the embedded log, so that their bytes leave the disk."""

import asyncio
from bisect import bisect_right
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from typing import Protocol, TypeVar

from pipeline.bus.port import TopicPartition
from pipeline.bus.records import RawRecord
from pipeline.bus.sqlite.consumers import ConsumerPositions
from pipeline.bus.sqlite.group_commit import GroupCommitWriter
from pipeline.bus.sqlite.log_cleaner import RECORDS_PER_BATCH, VACUUM_PAGES
from pipeline.bus.sqlite.log_database import LogDatabase
from pipeline.bus.sqlite.log_reader import LogReader

KEYS_PER_READ = 4096
_BUSY_SECONDS = 0.05
RECORDS_PER_READ = 512
T = TypeVar("T")


class RunQuery(Protocol):
    def __call__(self, query: Callable[[LogReader], T]) -> Awaitable[T]: ...


class LogEraser:
    """The part of `ErasableLog` that a SQLite log adds to its bus."""

    def __init__(
        self, database: LogDatabase, writer: GroupCommitWriter, positions: ConsumerPositions, query: RunQuery
    ) -> None:
        self._database = database
        self._writer = writer
        self._positions = positions
        self._query = query

    async def read_keys(
        self, topic: str, containing: bytes | None
    ) -> AsyncGenerator[tuple[TopicPartition, int, bytes], None]:
        for partition in range(self._database.partitions):
            start = 0
            while found := await self._query(_keys_query(topic, partition, start, containing)):
                for offset, key, is_wanted in found:
                    if is_wanted:
                        yield (topic, partition), offset, key
                start = found[-1][0] + 1

    async def read_records(
        self, topic_partition: TopicPartition, offsets: Sequence[int]
    ) -> AsyncGenerator[RawRecord, None]:
        left = sorted(offsets)
        while left:
            part = left[:RECORDS_PER_READ]
            found = await self._query(_records_query(topic_partition, part))
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
                read = await self._query(_range_query(place, position))
                records = [record for record in read if record.offset < end]
                position = records[-1].offset + 1 if records else end
                yield place, records, position

    async def erase(self, topic_partition: TopicPartition, offsets: Collection[int]) -> set[int]:
        consumed = sorted(offset for offset in offsets if offset < self._positions.min_position(topic_partition))
        for start in range(0, len(consumed), RECORDS_PER_BATCH):
            await self._remove(topic_partition, consumed[start : start + RECORDS_PER_BATCH])
        return set(offsets) - set(consumed)

    async def shrink(self) -> None:
        """Shrink as `ErasableLog.shrink`, in small steps between transactions."""
        while True:
            if await self._shrink_step():
                return
            await asyncio.sleep(_BUSY_SECONDS)  # a reader holds the write-ahead log, or pages are left

    async def _remove(self, topic_partition: TopicPartition, offsets: Sequence[int]) -> None:
        await self._writer.submit(lambda log: log.remove(*topic_partition, offsets))

    async def _shrink_step(self) -> bool:
        done: list[bool] = []
        await self._writer.run_between_transactions(lambda: done.append(self._database.shrink(VACUUM_PAGES)))
        return done[0]


def _keys_query(
    topic: str, partition: int, start: int, containing: bytes | None
) -> Callable[[LogReader], list[tuple[int, bytes, bool]]]:
    return lambda reader: reader.read_keys(topic, partition, start, KEYS_PER_READ, containing)


def _records_query(topic_partition: TopicPartition, offsets: Sequence[int]) -> Callable[[LogReader], list[RawRecord]]:
    return lambda reader: reader.read_offsets(*topic_partition, offsets)


def _range_query(place: TopicPartition, start: int) -> Callable[[LogReader], list[RawRecord]]:
    return lambda reader: reader.read(*place, start, RECORDS_PER_READ)
