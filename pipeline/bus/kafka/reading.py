"""Reading Kafka outside of any group: a stretch of a partition, or a whole topic and what comes."""

import asyncio
import logging
from collections.abc import AsyncGenerator

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from pipeline.bus.following import Batch
from pipeline.bus.kafka.cluster import Cluster
from pipeline.bus.kafka.offsets import Offsets
from pipeline.bus.kafka.records import raw
from pipeline.errors import OutageError
from pipeline.records import RawRecord

log = logging.getLogger(__name__)

BATCH = 512
"""Records taken at a time, at most."""
WAIT_MILLISECONDS = 1000
RETRY_SECONDS = 1.0


async def read(
    cluster: Cluster, place: TopicPartition, start: int, end: int
) -> AsyncGenerator[RawRecord, None]:
    """The records of a partition from one offset to before another."""
    if start >= end:
        return
    with cluster.outages(f"be read: {place.topic}/{place.partition}"):
        async with cluster.reading({place: start}) as consumer:
            while await consumer.position(place) < end:
                for record in (await _take(consumer)).get(place, []):
                    if record.offset < end:
                        yield record


class TopicFeed:
    """A topic of Kafka for a follower. `batches` may be iterated once."""

    def __init__(self, cluster: Cluster, offsets: Offsets, topic: str) -> None:
        self._cluster = cluster
        self._offsets = offsets
        self._topic = topic

    async def ends(self) -> dict[int, int]:
        return {place.partition: end for place, end in (await self._offsets.ends([self._topic])).items()}

    async def batches(self) -> AsyncGenerator[Batch, None]:
        """Goes on through outages: from where it was, with a new connection."""
        positions: dict[TopicPartition, int] = {}
        while True:
            try:
                positions = positions or await self._offsets.starts([self._topic])
                async with self._cluster.reading(positions) as consumer:
                    while True:
                        found = await _take(consumer)
                        for place in positions:
                            positions[place] = await consumer.position(place)
                            yield Batch(place.partition, found.get(place, []), positions[place])
            except (KafkaError, OutageError) as error:
                log.warning("Can't follow %s now: %s", self._topic, error)
                await asyncio.sleep(RETRY_SECONDS)


async def _take(consumer: AIOKafkaConsumer) -> dict[TopicPartition, list[RawRecord]]:
    """The next records of each partition that has some."""
    found = await consumer.getmany(timeout_ms=WAIT_MILLISECONDS, max_records=BATCH)
    return {place: [raw(record) for record in records] for place, records in found.items()}
