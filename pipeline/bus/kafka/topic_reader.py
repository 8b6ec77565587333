"""Readers of Kafka outside any group: a range of a partition, or a whole topic with new records."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from pipeline.bus.kafka.cluster import Cluster, poll_records
from pipeline.bus.kafka.offsets import Offsets
from pipeline.bus.kafka.record_conversion import to_raw_records
from pipeline.bus.records import RawRecord, WithOpeners
from pipeline.bus.topic_follower import FollowedBatch
from pipeline.errors import OutageError

log = logging.getLogger(__name__)

MAX_POLL_RECORDS = 512
"""Maximum records of one poll."""
POLL_TIMEOUT_SECONDS = 1.0
RETRY_SECONDS = 1.0


async def read_partition(
    cluster: Cluster, topic_partition: TopicPartition, start: int, end: int, with_openers: WithOpeners
) -> AsyncGenerator[RawRecord, None]:
    """Read the records of a partition with offsets in [start, end)."""
    if start >= end:
        return
    with cluster.errors_as_outages(f"return records of {topic_partition.topic}/{topic_partition.partition}"):
        async with cluster.assigned_consumer({topic_partition: start}) as consumer:
            while await consumer.position(topic_partition) < end:
                for record in (await _poll(consumer, with_openers)).get(topic_partition, []):
                    if record.offset < end:
                        yield record


async def read_ranges(
    cluster: Cluster, ranges: Mapping[TopicPartition, tuple[int, int]], with_openers: WithOpeners
) -> AsyncGenerator[tuple[TopicPartition, Sequence[RawRecord], int], None]:
    """Read partitions from an offset to another in batches, each with the offset up to which it reads."""
    left = {partition: end for partition, (start, end) in ranges.items() if start < end}
    with cluster.errors_as_outages("return records"):
        async with cluster.assigned_consumer({partition: ranges[partition][0] for partition in left}) as consumer:
            while left:
                polled = await _poll(consumer, with_openers)
                for partition, end in list(left.items()):
                    position = await consumer.position(partition)
                    yield partition, [record for record in polled.get(partition, ()) if record.offset < end], position
                    if position >= end:
                        del left[partition]


@dataclass(frozen=True, slots=True)
class KafkaTopicFeed:
    """`TopicFeed` of a Kafka topic. `batches` may be iterated once."""

    cluster: Cluster
    offsets: Offsets
    topic: str
    start: Mapping[int, int]
    with_openers: WithOpeners

    async def end_offsets(self) -> dict[int, int]:
        ends = await self.offsets.end_offsets([self.topic])
        return {partition.partition: end for partition, end in ends.items()}

    async def batches(self) -> AsyncGenerator[FollowedBatch, None]:
        """Yield batches; after an outage, continue at the same offsets with a new connection."""
        positions: dict[TopicPartition, int] = {}
        while True:
            try:
                positions = positions or await self._start_offsets()
                async with self.cluster.assigned_consumer(positions) as consumer:
                    while True:
                        records = await _poll(consumer, self.with_openers)
                        for partition in positions:
                            positions[partition] = await consumer.position(partition)
                            yield FollowedBatch(partition.partition, records.get(partition, []), positions[partition])
            except (KafkaError, OutageError) as error:
                log.warning("Following topic %s failed and will be retried: %s", self.topic, error)
                await asyncio.sleep(RETRY_SECONDS)

    async def _start_offsets(self) -> dict[TopicPartition, int]:
        beginnings = await self.offsets.beginning_offsets([self.topic])
        return {
            partition: max(beginning, self.start.get(partition.partition, 0))
            for partition, beginning in beginnings.items()
        }


async def _poll(consumer: AIOKafkaConsumer, with_openers: WithOpeners) -> dict[TopicPartition, Sequence[RawRecord]]:
    """Return the next records of each partition that has any."""
    polled = await poll_records(consumer, POLL_TIMEOUT_SECONDS, MAX_POLL_RECORDS)
    return {partition: await with_openers(to_raw_records(records)) for partition, records in polled.items()}
