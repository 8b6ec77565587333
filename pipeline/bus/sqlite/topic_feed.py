"""Feed of a followed topic: records as they are committed, older ones from the log."""

from collections.abc import AsyncGenerator, Mapping

from pipeline.bus.port import TopicPartition
from pipeline.bus.sqlite.consumers import ConsumerPositions, FetchRecords
from pipeline.bus.topic_follower import FollowedBatch

FOLLOWER_BATCH_SIZE = 512
"""Maximum records of a follower's batch."""


class SqliteTopicFeed:
    """`TopicFeed` of the embedded log. `batches` may be iterated once."""

    def __init__(
        self, positions: ConsumerPositions, fetch: FetchRecords, topic: str, partitions: int, start: Mapping[int, int]
    ) -> None:
        self._positions = positions
        self._fetch = fetch
        self._next_offsets: dict[TopicPartition, int] = {
            (topic, partition): start.get(partition, 0) for partition in range(partitions)
        }

    async def end_offsets(self) -> dict[int, int]:
        return {
            topic_partition[1]: self._positions.end_offset(topic_partition) for topic_partition in self._next_offsets
        }

    async def batches(self) -> AsyncGenerator[FollowedBatch, None]:
        while True:
            for topic_partition in self._next_offsets:
                while (end := self._positions.end_offset(topic_partition)) > self._next_offsets[topic_partition]:
                    start = self._next_offsets[topic_partition]
                    records = await self._fetch(topic_partition, start, FOLLOWER_BATCH_SIZE)
                    self._next_offsets[topic_partition] = records[-1].offset + 1 if records else end
                    yield FollowedBatch(topic_partition[1], records, self._next_offsets[topic_partition])
            await self._positions.wait_for_append(self._next_offsets)
