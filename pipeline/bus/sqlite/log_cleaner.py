"""Retention and compaction of the embedded log, in small transactions."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pipeline.bus.port import TopicPartition
from pipeline.bus.sqlite.consumers import ConsumerPositions
from pipeline.bus.sqlite.group_commit import GroupCommitWriter
from pipeline.bus.sqlite.log_database import LogDatabase
from pipeline.bus.sqlite.log_reader import LogReader
from schemas.topics import Topic

RECORDS_PER_BATCH = 512
"""Records per transaction or read."""
VACUUM_PAGES = 1024
"""Maximum number of pages returned to the file system at a time."""


DestroyKeys = Callable[[TopicPartition, Sequence[int]], Awaitable[None]]
"""Destroys the keys of the records at these offsets, if they are sealed."""
RunOffsetQuery = Callable[[Callable[[LogReader], list[int]]], Awaitable[list[int]]]
"""Runs a query in the reader's thread."""


@dataclass(frozen=True, slots=True)
class LogCleaner:
    """Removes expired and superseded records, except those that a known group has yet to read."""

    database: LogDatabase
    writer: GroupCommitWriter
    positions: ConsumerPositions
    query: RunOffsetQuery
    destroy_keys: DestroyKeys

    async def run(self, topics: Sequence[Topic[Any]], now_ms: int) -> int:
        """Clean the topics; `now_ms` in milliseconds since 1970. Return the number of removed records."""
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
        removed = 0
        while True:
            until = self.positions.min_position((topic.name, partition))
            found = partial(
                LogReader.expired_offsets, topic=topic.name, partition=partition, before=before, until=until
            )
            offsets = await self.query(partial(found, limit=RECORDS_PER_BATCH))
            if not offsets:
                return removed
            removed += await self._remove(topic.name, partition, offsets)

    async def _compact(self, topic: Topic[Any], partition: int) -> int:
        if not topic.compacted:
            return 0
        offsets = await self.query(lambda reader: reader.superseded_offsets(topic.name, partition))
        removed = 0
        for start in range(0, len(offsets), RECORDS_PER_BATCH):
            removed += await self._remove(topic.name, partition, offsets[start : start + RECORDS_PER_BATCH])
        return removed

    async def _remove(self, topic: str, partition: int, offsets: Sequence[int]) -> int:
        await self.destroy_keys((topic, partition), offsets)
        await self.writer.submit(lambda log: log.remove(topic, partition, offsets))
        return len(offsets)
