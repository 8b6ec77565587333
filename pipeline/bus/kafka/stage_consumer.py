"""Stage as a member of its consumer group, with one worker per assigned partition."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.errors import KafkaError
from faststream.kafka import KafkaBroker

from pipeline.bus.delivery import Delivery
from pipeline.bus.kafka.cluster import (
    BUSY_FETCH_SECONDS,
    IDLE_FETCH_SECONDS,
    fetch_task,
    milliseconds,
    set_fetch_wait,
    start_client,
    stop_consumer,
)
from pipeline.bus.kafka.faststream_subscriber import ConsumerRecords, open_subscriber
from pipeline.bus.kafka.partition_worker import PartitionWorker
from pipeline.bus.records import RawRecord, WithOpeners
from pipeline.bus.stage_consumers import cancel_and_wait, consumer_failure
from pipeline.errors import OutageError
from pipeline.settings import Settings
from pipeline.stage import Stage

log = logging.getLogger(__name__)

REBALANCE_DRAIN_SECONDS = 2.0
"""Time a rebalance waits for current batches, so that few are handled twice."""
POLL_TIMEOUT_SECONDS = 2.0
POLL_REST_SECONDS = 0.025
"""Time from one poll with records to the next: later records join, as each batch costs a fetch and several commits."""
RETRY_SECONDS = 1.0


class StageConsumer(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka has no types
    """Runs a stage on the partitions that its group assigns to this process.

    Polled records are dispatched to a worker per partition, so a slow partition holds up no other. Polling
    continues meanwhile, so the member stays in its group however long a batch takes.
    """

    def __init__(
        self,
        stage: Stage[Any],
        *,
        broker: KafkaBroker,
        delivery: Delivery,
        settings: Settings,
        with_openers: WithOpeners,
    ) -> None:
        self.stage = stage
        self._with_openers = with_openers
        self._delivery = delivery
        self._draining = False
        self._is_member = False
        self._rests_until = 0.0
        self._workers: dict[TopicPartition, PartitionWorker] = {}
        self._tasks: dict[TopicPartition, asyncio.Task[None]] = {}
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._subscriber = open_subscriber(
            broker,
            stage.source.name,
            stage.group,
            shards=settings.shards,
            session_timeout=settings.kafka_session_timeout_seconds,
            listener=self,
            poll=self._poll,
            dispatch=self._dispatch,
            handle=self._deliver,
        )

    async def run(self) -> None:
        """Run until cancelled, or until a worker fails, whose error is raised."""
        try:
            while not self._failure.done():
                await self._join()
                fetching = fetch_task(self._consumer())
                await asyncio.wait([self._failure, fetching], return_when=asyncio.FIRST_COMPLETED)
                if fetching.done():
                    log.warning(
                        "Stage %s no longer gets records from Kafka (%s): it joins its consumer group anew.",
                        self.stage.name,
                        _reason(fetching),
                    )
                    await self._leave()
            await self._failure
        finally:
            await self._leave()

    async def drain(self) -> None:
        """Start no more batches and wait until the current ones are committed."""
        self._draining = True
        await asyncio.gather(*(worker.drain(None) for worker in self._workers.values()))

    async def rewind(self, beginning_offsets: dict[TopicPartition, int]) -> None:
        """Move assigned partitions back to these offsets; durable on return."""
        consumer = self._consumer()
        assigned = {partition: offset for partition, offset in beginning_offsets.items() if partition in self._workers}
        for partition, offset in assigned.items():
            self._workers[partition].rewind()
            consumer.seek(partition, offset)
        if assigned:
            await consumer.commit(assigned)

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        workers = [self._workers[partition] for partition in revoked if partition in self._workers]
        await asyncio.gather(*(worker.drain(REBALANCE_DRAIN_SECONDS) for worker in workers))

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        await self._cancel_workers([partition for partition in self._workers if partition not in assigned])
        for partition in assigned if self._is_member and not self._draining else ():
            if partition in self._workers:
                self._workers[partition].resume_after_rebalance()
            else:
                self._start_worker(partition)

    async def _join(self) -> None:
        self._is_member = True
        while True:
            try:
                await start_client(self._subscriber.start())
            except KafkaError as error:
                log.warning("Stage %s failed to join its consumer group and will retry: %s", self.stage.name, error)
                await self._subscriber.stop()
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return

    async def _leave(self) -> None:
        """Leave the group; a rebalance in progress starts no workers meanwhile."""
        self._is_member = False
        await self._cancel_workers(list(self._workers))
        if (consumer := self._subscriber.consumer) is not None:
            await stop_consumer(consumer)
        await self._subscriber.stop()

    def _start_worker(self, topic_partition: TopicPartition) -> None:
        worker = PartitionWorker(topic_partition, self._consumer(), self._handle_batch, self.stage.batch_size)
        task = asyncio.create_task(worker.run(), name=f"{self.stage.name} {worker.description()}")
        task.add_done_callback(self._on_worker_done)
        self._workers[topic_partition], self._tasks[topic_partition] = worker, task

    async def _cancel_workers(self, topic_partitions: Sequence[TopicPartition]) -> None:
        tasks = [self._tasks.pop(partition) for partition in topic_partitions]
        for partition in topic_partitions:
            del self._workers[partition]
        await cancel_and_wait(tasks)

    def _on_worker_done(self, task: asyncio.Task[None]) -> None:
        for partition, running in self._tasks.items():
            if running is task and not self._failure.done():
                self._failure.set_exception(consumer_failure(task, self._workers[partition].batch_start))

    def _consumer(self) -> AIOKafkaConsumer:
        consumer = self._subscriber.consumer
        if consumer is None:
            raise RuntimeError(f"the consumer of stage {self.stage.name} has not started")
        return consumer

    async def _poll(self, consumer: AIOKafkaConsumer) -> ConsumerRecords:
        """Wait for records. Calling it repeatedly keeps the member in its group."""
        now = asyncio.get_running_loop().time
        await asyncio.sleep(self._rests_until - now())
        limit = self.stage.batch_size * max(1, len(self._workers))
        polled = await consumer.getmany(timeout_ms=milliseconds(POLL_TIMEOUT_SECONDS), max_records=limit)
        is_busy = polled or any(worker.is_paused for worker in self._workers.values())
        set_fetch_wait(consumer, BUSY_FETCH_SECONDS if is_busy else IDLE_FETCH_SECONDS)
        if polled:
            self._rests_until = now() + POLL_REST_SECONDS
        return tuple(record for records in polled.values() for record in records)

    async def _dispatch(self, records: ConsumerRecords) -> None:
        by_partition: dict[TopicPartition, list[ConsumerRecord]] = defaultdict(list)
        for record in records:
            by_partition[TopicPartition(record.topic, record.partition)].append(record)
        for partition, partition_records in by_partition.items():
            if partition in self._workers:
                self._workers[partition].enqueue(partition_records)

    async def _handle_batch(self, records: Sequence[ConsumerRecord]) -> None:
        await self._subscriber.process_message(tuple(records))

    async def _deliver(self, batch: list[RawRecord]) -> None:
        if batch:  # else all are tombstones
            await self._delivery.deliver(self.stage, await self._find_openers(batch))

    async def _find_openers(self, batch: list[RawRecord]) -> Sequence[RawRecord]:
        """Find the keys of sealed records, however long their table is away."""
        while True:
            try:
                return await self._with_openers(batch)
            except OutageError as error:
                log.warning("Stage %s is waiting for keys: %s", self.stage.name, error)
                await asyncio.sleep(RETRY_SECONDS)


def _reason(ended: asyncio.Task[None]) -> str:
    """Return why a task has ended, in words."""
    error = None if ended.cancelled() else ended.exception()
    return "its task was cancelled" if error is None else str(error.__cause__ or error)
