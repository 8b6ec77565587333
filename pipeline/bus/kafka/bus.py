"""Bus on Apache Kafka, for as many processes as there are partitions."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from aiokafka import TopicPartition
from faststream.kafka import KafkaBroker

from pipeline.bus.delivery import Delivery, RetryPolicy
from pipeline.bus.kafka.cluster import CALL_TIMEOUT, Cluster, KafkaOpenError, KafkaUnavailableError
from pipeline.bus.kafka.dead_letter_queue import DeadLetterQueue
from pipeline.bus.kafka.faststream_broker import broker_middlewares, new_broker
from pipeline.bus.kafka.log_eraser import KafkaLogEraser
from pipeline.bus.kafka.offsets import Offsets
from pipeline.bus.kafka.producers import KafkaProducers
from pipeline.bus.kafka.stage_consumer import StageConsumer
from pipeline.bus.kafka.topic_admin import DEAD_LETTER_SUFFIX, TopicAdmin
from pipeline.bus.kafka.topic_reader import KafkaTopicFeed, read_partition, read_ranges
from pipeline.bus.observer import Observer
from pipeline.bus.port import ErasableLog
from pipeline.bus.records import DeadLetter, ProducerRecord, RawRecord, encode, without_openers
from pipeline.bus.sealing.sealed_records import MAX_BLOCK_DAYS, SEALED_TOPICS, stays_plain
from pipeline.bus.sealing.sealer import Sealer
from pipeline.bus.stage_consumers import apply_backlog, cancel_and_wait, reject_duplicate_groups
from pipeline.bus.topic_follower import RecordHandler, TopicFollower, follow_topic
from pipeline.errors import OutageError
from pipeline.ports import Clock, Position
from pipeline.settings import Settings
from pipeline.stage import Stage
from schemas import topics as all_topics
from schemas.ids import partition as partition_of
from schemas.topics import E, Topic

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from prometheus_client import CollectorRegistry

log = logging.getLogger(__name__)

SEGMENT_DAYS = 7
"""Days that a segment of a topic may be written to, by Kafka's default, before retention counts."""
POSITION_POLL_SECONDS = 0.05
"""Interval at which waiters query the positions of other processes."""


class KafkaBus:
    """`pipeline.bus.port.Bus` on a Kafka cluster that any number of processes share."""

    def __init__(
        self,
        cluster: Cluster,
        middlewares: Sequence[Any],
        clock: Clock,
        retry_policy: RetryPolicy,
        observer: Observer | None = None,
        *,
        tracer_provider: "TracerProvider | None" = None,
        sealer: Sealer | None = None,
    ) -> None:
        self._cluster = cluster
        self._sealer = sealer
        self._with_openers = without_openers if sealer is None else sealer.with_openers
        self._middlewares = middlewares
        self._topic_admin = TopicAdmin(cluster)
        self._offsets = Offsets(cluster, self._topic_admin)
        self._producers = KafkaProducers(cluster, self._topic_admin, lambda: new_broker(cluster, middlewares))
        self._delivery = Delivery(self, clock, retry_policy, observer=observer)
        self._consumers: dict[str, StageConsumer] = {}
        self._tracer_provider = tracer_provider
        self._eraser = None
        if sealer is not None and sealer.seals:
            read = partial(read_ranges, cluster, with_openers=self._with_openers)
            self._eraser = KafkaLogEraser(self._read_partition, read, self._offsets, sealer)
        self._dead_letter_queue = DeadLetterQueue(
            cluster, self._topic_admin, self._offsets, self._producers, self._with_openers
        )

    @classmethod
    async def open(
        cls,
        settings: Settings,
        *,
        clock: Clock,
        retry_policy: RetryPolicy | None = None,
        observer: Observer | None = None,
        topics: Sequence[Topic[Any]] = all_topics.ALL_TOPICS,
        registry: "CollectorRegistry | None" = None,
        tracer_provider: "TracerProvider | None" = None,
        sealer: Sealer | None = None,
        call_timeout: float = CALL_TIMEOUT,
    ) -> "KafkaBus":
        """Connect and create missing topics. KafkaUnavailableError; KafkaOpenError for unreadable certificates or
        other numbers of partitions.

        FastStream's metrics go to `registry` and its spans to `tracer_provider`, which `close` shuts down.
        """
        try:
            cluster = Cluster(settings, call_timeout)
        except OSError as error:
            raise KafkaOpenError(f"The certificates for Kafka can't be read: {error}.") from error
        bus = cls(
            cluster,
            broker_middlewares(registry, tracer_provider),
            clock,
            retry_policy or RetryPolicy(),
            observer,
            tracer_provider=tracer_provider,
            sealer=sealer,
        )
        try:
            await bus._prepare(topics)
        except BaseException:
            await bus.close()
            raise
        return bus

    @property
    def partitions(self) -> int:
        return self._cluster.settings.partitions

    @property
    def description(self) -> str:
        return f"Kafka at {self._cluster.bootstrap}"

    @property
    def erasable(self) -> ErasableLog | None:
        return self._eraser

    @property
    def content_keys(self) -> Sealer | None:
        return self._sealer

    @property
    def health_issue(self) -> str | None:
        return self._producers.health_issue

    @property
    def disk_bytes(self) -> None:
        """None: the log is on the brokers' disks."""
        return

    def partition_of(self, key: str, partitions: int) -> int:
        return partition_of(key.encode(), partitions)

    async def publish(self, topic: Topic[E], entries: Sequence[tuple[str, E]]) -> list[Position]:
        """Append events; on all in-sync replicas on return. KafkaUnavailableError after a bounded time.

        After that error the events may still be written later; publishing them again has no effect.
        """
        await self._topic_admin.create_missing([topic])
        encoded = encode(entries)
        if self._sealer is not None and self._sealer.seals and topic.name in SEALED_TOPICS:
            plain = [stays_plain(event) for _, event in entries]
            days = self._days_of_keys(topic)
            sealed = self._sealer.seal_at_once(encoded, plain, days)
            if sealed is None:
                sealed = await asyncio.to_thread(self._sealer.seal, encoded, plain, days)
            encoded = sealed
        return await self._producers.send_events(topic.name, encoded)

    def _days_of_keys(self, topic: Topic[Any]) -> int | None:
        """Return the days after which the broker has dropped a record; None if it keeps it.

        Nobody finds what it dropped, to destroy the keys of copies: so these keys end by themselves.
        """
        if topic.retention is None:
            return None
        return max(topic.retention.days, self._cluster.settings.kafka_retention_days) + SEGMENT_DAYS + MAX_BLOCK_DAYS

    async def append(self, topic: str, entries: Sequence[ProducerRecord]) -> list[Position]:
        if self._sealer is not None and topic.endswith(DEAD_LETTER_SUFFIX):
            # Dead letters stay for longer than the topic that they come from.
            entries = await asyncio.to_thread(self._sealer.seal_lastingly, entries)
        return await self._producers.send_raw(topic, entries)

    async def run(self, stages: Sequence[Stage[Any]], *, until_idle: bool = False) -> None:
        """Run the stages on the partitions that their consumer groups assign to this process."""
        groups = [stage.group for stage in stages]
        reject_duplicate_groups(groups, self._consumers)
        try:
            await self._topic_admin.create_missing(stage.source for stage in stages)
            await self._run_consumers(stages, until_idle=until_idle)
        finally:
            for group in groups:
                self._consumers.pop(group, None)

    async def drain(self) -> None:
        await asyncio.gather(*(consumer.drain() for consumer in self._consumers.values()))

    async def apply_optimistically(self, stages: Sequence[Stage[Any]]) -> None:
        for stage in stages:
            if stage.apply_optimistically is not None:
                await self._apply_backlog(stage)

    @asynccontextmanager
    async def follow(
        self, topic: Topic[E], handle: RecordHandler[E], start: Mapping[int, int] | None = None
    ) -> AsyncIterator[TopicFollower[E]]:
        start = start or {}
        await self._topic_admin.create_missing([topic])
        feed = KafkaTopicFeed(self._cluster, self._offsets, topic.name, start, self._with_openers)
        async with follow_topic(feed, topic, handle, start) as follower:
            yield follower

    async def wait_until_consumed(self, group: str, topic: str, partition: int, offset: int) -> None:
        topic_partition = TopicPartition(topic, partition)
        while True:
            if (await self._offsets.committed_offsets(group)).get(topic_partition, 0) > offset:
                return
            await asyncio.sleep(POSITION_POLL_SECONDS)

    async def positions(self, group: str, topic: str) -> dict[int, int]:
        committed = await self._offsets.committed_offsets(group)
        return {partition.partition: offset for partition, offset in committed.items() if partition.topic == topic}

    async def lag(self, stages: Sequence[Stage[Any]] = ()) -> dict[str, dict[tuple[str, int], int]]:
        """Count unconsumed offsets over all processes; offsets removed by compaction are included."""
        groups = sorted({*await self._offsets.groups(), *(stage.group for stage in stages)})
        queries = (self._offsets.committed_offsets(group) for group in groups)
        positions = dict(zip(groups, await asyncio.gather(*queries), strict=True))
        topics = {group: {partition.topic for partition in positions[group]} for group in groups}
        for stage in stages:
            topics[stage.group].add(stage.source.name)
        names = set[str]().union(*topics.values())
        ends = await self._offsets.end_offsets(names)
        starts = await self._offsets.beginning_offsets(names)
        return {
            group: {
                (key.topic, key.partition): max(0, end - max(positions[group].get(key, 0), starts[key]))
                for key, end in ends.items()
                if key.topic in topics[group]
            }
            for group in groups
        }

    async def end_offsets(self, topic: str) -> dict[int, int]:
        ends = await self._offsets.end_offsets([topic])
        return {topic_partition.partition: end for topic_partition, end in ends.items()}

    async def depth(self, topic: str) -> int:
        starts = await self._dead_letter_queue.beginning_offsets(topic)
        ends = await self._offsets.end_offsets([topic])
        return sum(end - starts[partition] for partition, end in ends.items())

    async def rewind(self, group: str, topic: str) -> None:
        starts = await self._offsets.beginning_offsets([topic])
        if group in self._consumers:
            async with self._cluster.deadline(f"rewind {group}"):
                await self._consumers[group].rewind(starts)
        else:
            await self._offsets.commit_offsets(group, starts)

    async def copy_offsets(self, group: str, topic: str, source_group: str) -> None:
        positions = await self._offsets.committed_offsets(source_group)
        starts = await self._offsets.beginning_offsets([topic])
        await self._offsets.commit_offsets(
            group, {partition: positions.get(partition, start) for partition, start in starts.items()}
        )

    async def delete_group(self, group: str) -> None:
        await self._offsets.delete_group(group)

    async def read(
        self, topic: str, partition: int | None = None, start: int = 0, end: int | None = None
    ) -> AsyncGenerator[RawRecord, None]:
        ends = await self._offsets.end_offsets([topic])
        for topic_partition, partition_end in sorted(ends.items()):
            if partition in (None, topic_partition.partition):
                read_end = partition_end if end is None else min(partition_end, end)
                async with aclosing(self._read_partition(topic_partition, start, read_end)) as records:
                    async for record in records:
                        yield record

    async def read_record(self, topic: str, key: str, offset: int) -> RawRecord | None:
        partition = await self._partition_of_key(topic, key)
        end = (await self._offsets.end_offsets([topic])).get(partition, 0)
        async with aclosing(self._read_partition(partition, offset, min(offset + 1, end))) as records:
            async for record in records:
                return record if record.offset == offset else None
        return None

    async def records_since(self, topic: str, key: str, moment: datetime) -> AsyncGenerator[RawRecord, None]:
        partition = await self._partition_of_key(topic, key)
        end = (await self._offsets.end_offsets([topic])).get(partition, 0)
        start = await self._offsets.offset_for_time(partition, moment)
        async with aclosing(self._read_partition(partition, end if start is None else start, end)) as records:
            async for record in records:
                yield record

    def _read_partition(self, topic_partition: TopicPartition, start: int, end: int) -> AsyncGenerator[RawRecord, None]:
        return read_partition(self._cluster, topic_partition, start, end, self._with_openers)

    async def _partition_of_key(self, topic: str, key: str) -> TopicPartition:
        return TopicPartition(topic, partition_of(key.encode(), await self._topic_admin.partition_count(topic)))

    async def dead_letters(self, topic: str | None = None, limit: int = 100) -> list[DeadLetter]:
        return await self._dead_letter_queue.list_letters(topic, limit)

    async def redrive(self, topic: str | None = None, limit: int = 1000, *, ids: Collection[str] | None = None) -> int:
        return await self._dead_letter_queue.redrive_or_drop(topic, limit, ids, redrive=True)

    async def drop_dead_letters(
        self, topic: str | None = None, limit: int = 1000, *, ids: Collection[str] | None = None
    ) -> int:
        return await self._dead_letter_queue.redrive_or_drop(topic, limit, ids, redrive=False)

    async def maintain(self, topics: Sequence[Topic[Any]]) -> int:
        """Do nothing: brokers apply retention and compaction themselves."""
        del topics
        return 0

    async def close(self) -> None:
        await self._producers.close()
        await self._cluster.close()
        if self._tracer_provider is not None:
            await asyncio.to_thread(self._tracer_provider.shutdown)

    async def _prepare(self, topics: Sequence[Topic[Any]]) -> None:
        try:
            await self._topic_admin.create_missing(topics)
            self._topic_admin.verify_partitions(topics)
            await self._producers.start()
        except OutageError as error:
            raise KafkaUnavailableError(f"{error} See RECOLLECT_KAFKA_BOOTSTRAP and the broker's log.") from error
        for difference in await self._topic_admin.check(topics):
            log.warning("%s", difference)

    async def _run_consumers(self, stages: Sequence[Stage[Any]], *, until_idle: bool) -> None:
        broker = new_broker(self._cluster, self._middlewares, consumer_only=True)
        consumers = [self._new_consumer(stage, broker) for stage in stages]
        await broker.connect()
        tasks = [asyncio.create_task(consumer.run(), name=consumer.stage.name) for consumer in consumers]
        if until_idle:
            tasks.append(asyncio.create_task(self._wait_until_idle(stages)))
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancel_and_wait(tasks)
            await broker.stop()
        for task in done:
            await task

    def _new_consumer(self, stage: Stage[Any], broker: KafkaBroker) -> StageConsumer:
        consumer = StageConsumer(
            stage,
            broker=broker,
            delivery=self._delivery,
            settings=self._cluster.settings,
            with_openers=self._with_openers,
        )
        self._consumers[stage.group] = consumer
        return consumer

    async def _wait_until_idle(self, stages: Iterable[Stage[Any]]) -> None:
        """Wait until these groups have handled every record, in all processes.

        Every assigned partition has a position. Positions are queried before the ends: if they have reached
        them, no batch was in progress that could have published more.
        """
        topics = {stage.group: stage.source.name for stage in stages}
        while True:
            positions = [await self._offsets.committed_offsets(group) for group in topics]
            ends = [await self._offsets.end_offsets([topic]) for topic in topics.values()]
            if all(
                group_positions.get(partition, -1) >= end
                for group_positions, topic_ends in zip(positions, ends, strict=True)
                for partition, end in topic_ends.items()
            ):
                return
            await asyncio.sleep(POSITION_POLL_SECONDS)

    async def _apply_backlog(self, stage: Stage[E]) -> None:
        positions = await self._offsets.committed_offsets(stage.group)
        ends = await self._offsets.end_offsets([stage.source.name])
        for partition, end in sorted(ends.items()):
            await apply_backlog(stage, self._read_partition(partition, positions.get(partition, 0), end))
