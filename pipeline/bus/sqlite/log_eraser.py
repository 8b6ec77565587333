"""Erasure of single records of the embedded log, so that their bytes leave the disk."""

import asyncio
from bisect import bisect_right
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from pipeline.bus.port import TopicPartition
from pipeline.bus.records import RawRecord
from pipeline.bus.sealing.sealed_records import key_labels
from pipeline.bus.sqlite.consumers import ConsumerPositions
from pipeline.bus.sqlite.group_commit import GroupCommitWriter
from pipeline.bus.sqlite.log_cleaner import RECORDS_PER_BATCH, VACUUM_PAGES
from pipeline.bus.sqlite.log_database import LogDatabase
from pipeline.bus.sqlite.log_reader import LogReader

if TYPE_CHECKING:
    from pipeline.bus.sealing.sealer import Sealer

KEYS_PER_READ = 4096
_BUSY_SECONDS = 0.05
RECORDS_PER_READ = 512
T = TypeVar("T")


class RunQuery(Protocol):
    def __call__(self, query: Callable[[LogReader], T]) -> Awaitable[T]: ...


@dataclass(frozen=True, slots=True)
class LogEraser:
    """`ErasableLog` in SQLite: records are removed."""

    database: LogDatabase
    writer: GroupCommitWriter
    positions: ConsumerPositions
    query: RunQuery
    sealer: "Sealer | None"
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

    async def destroy_keys_at(self, topic_partition: TopicPartition, offsets: Sequence[int]) -> None:
        """Destroy the keys of the records at these offsets."""
        if self.sealer is not None:
            await self.destroy_keys([record.headers async for record in self.read_records(topic_partition, offsets)])

    async def shrink(self) -> None:
        """Shrink as `ErasableLog.shrink`, in small steps between transactions."""
        while True:
            if await self._shrink_step():
                return
            await asyncio.sleep(_BUSY_SECONDS)  # a reader holds the write-ahead log, or pages are left

    async def _remove(self, topic_partition: TopicPartition, offsets: Sequence[int]) -> None:
        await self.writer.submit(lambda log: log.remove(*topic_partition, offsets))

    async def _shrink_step(self) -> bool:
        done: list[bool] = []
        await self.writer.run_between_transactions(lambda: done.append(self.database.shrink(VACUUM_PAGES)))
        return done[0]
