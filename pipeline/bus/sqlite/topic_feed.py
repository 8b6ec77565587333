"""Feed of a followed topic: records as they are committed, older ones from the log."""

from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence

from pipeline.bus.port import TopicPartition
from pipeline.bus.records import RawRecord
from pipeline.bus.sqlite.consumers import ConsumerPositions, FetchRecords
from pipeline.bus.topic_follower import FollowedBatch

FOLLOWER_BATCH_SIZE = 512
"""Maximum records of a follower's batch."""
MAX_BUFFERED_RECORDS = 1024
"""Committed records of a partition that wait in memory; a slower follower reads the log."""


class SqliteTopicFeed:
    """`TopicFeed` of the embedded log. `batches` may be iterated once.

    The writer of the log hands over what it has committed (`push`), so a follower that keeps up never reads.
    """

    def __init__(
        self, positions: ConsumerPositions, fetch: FetchRecords, topic: str, partitions: int, start: Mapping[int, int]
    ) -> None:
        self.topic = topic
        self._positions = positions
        self._fetch = fetch
        self._next_offsets: dict[TopicPartition, int] = {
            (topic, partition): start.get(partition, 0) for partition in range(partitions)
        }
        self._committed: dict[int, deque[RawRecord]] = {partition: deque() for partition in range(partitions)}

    def push(self, records: Sequence[RawRecord]) -> None:
        """Buffer records of the topic that were committed, in order."""
        for record in records:
            buffered = self._committed[record.partition]
            if len(buffered) == MAX_BUFFERED_RECORDS:
                buffered.clear()
            buffered.append(record)

    async def end_offsets(self) -> dict[int, int]:
        return {
            topic_partition[1]: self._positions.end_offset(topic_partition) for topic_partition in self._next_offsets
        }

    async def batches(self) -> AsyncGenerator[FollowedBatch, None]:
        while True:
            for topic_partition in self._next_offsets:
                while (end := self._positions.end_offset(topic_partition)) > self._next_offsets[topic_partition]:
                    records = await self._next_records(topic_partition)
                    self._next_offsets[topic_partition] = records[-1].offset + 1 if records else end
                    yield FollowedBatch(topic_partition[1], records, self._next_offsets[topic_partition])
            await self._positions.wait_for_append(self._next_offsets)

    async def _next_records(self, topic_partition: TopicPartition) -> list[RawRecord]:
        start = self._next_offsets[topic_partition]
        buffered = self._committed[topic_partition[1]]
        while buffered and buffered[0].offset < start:
            buffered.popleft()
        if buffered and buffered[0].offset == start:
            return [buffered.popleft() for _ in range(min(len(buffered), FOLLOWER_BATCH_SIZE))]
        return await self._fetch(topic_partition, start, FOLLOWER_BATCH_SIZE)
