"""A stage as a member of its consumer group: what comes is spread over lanes, one per partition."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.errors import KafkaError
from faststream.kafka import KafkaBroker
from faststream.kafka import Topic as KafkaTopic
from faststream.message import StreamMessage
from faststream.middlewares import AckPolicy

from pipeline.bus.kafka.cluster import KafkaOptions, begun, milliseconds
from pipeline.bus.kafka.lanes import Lane
from pipeline.bus.kafka.records import legible, raw
from pipeline.delivery import Delivery
from pipeline.records import RawRecord
from pipeline.stage import Stage

log = logging.getLogger(__name__)

Records = tuple[ConsumerRecord, ...]
SETTLE_SECONDS = 2.0
"""How long a rebalance waits for batches that are being handled, so that few are handled twice."""
WAIT_SECONDS = 1.0
RETRY_SECONDS = 1.0
HEARTBEATS = 10
"""In a session: so many may be lost before the member is given up."""


class StageFeed(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka has no types
    """Runs a stage over the partitions that its group gives to this process.

    The consumer is FastStream's, and each batch of a partition goes through FastStream's pipeline, so that
    its middlewares see what is really handled. Between the two stand lanes: a slow partition holds up no
    other, and the consumer goes on asking, so the member stays in its group however long a batch takes.
    """

    def __init__(
        self, stage: Stage[Any], *, broker: KafkaBroker, delivery: Delivery, options: KafkaOptions
    ) -> None:
        self.stage = stage
        self._delivery = delivery
        self._leaving = False
        self._lanes: dict[TopicPartition, Lane] = {}
        self._tasks: dict[TopicPartition, asyncio.Task[None]] = {}
        self._broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._subscriber = broker.subscriber(
            KafkaTopic(stage.source.name, declare=False),
            batch=True,
            group_id=stage.group,
            batch_timeout_ms=milliseconds(WAIT_SECONDS),
            auto_offset_reset="earliest",
            ack_policy=AckPolicy.MANUAL,
            partition_assignment_strategy=[RangePartitionAssignor],
            session_timeout_ms=milliseconds(options.session),
            rebalance_timeout_ms=milliseconds(options.session),
            heartbeat_interval_ms=milliseconds(options.session / HEARTBEATS),
            listener=self,
            parser=_parse,
            decoder=_decode,
            persistent=False,
            no_reply=True,
        )
        self._subscriber(self._deliver)
        # FastStream's own seams for subscribers that wait, or handle what comes, in another way.
        self._subscriber.get_msg = self._poll  # type: ignore[method-assign]  # see above; the versions are pinned
        self._subscriber.consume_one = self._spread  # type: ignore[method-assign]  # see above

    async def run(self) -> None:
        """Until cancelled, or until a lane ends with an error, which is raised."""
        try:
            await self._join()
            await self._broken
        finally:
            # A rebalance may be under way, and shall begin no more lanes.
            self._leaving = True
            await self._cancel(list(self._lanes))
            await self._subscriber.stop()

    async def drain(self) -> None:
        """Take no more, and wait until what is being handled is committed."""
        self._leaving = True
        await asyncio.gather(*(lane.settle(None) for lane in self._lanes.values()))

    async def rewind(self, starts: dict[TopicPartition, int]) -> None:
        """Go back to these offsets in the partitions that are here; durable on return."""
        consumer = self._consumer()
        here = {place: offset for place, offset in starts.items() if place in self._lanes}
        for place, offset in here.items():
            self._lanes[place].rewind()
            consumer.seek(place, offset)
        if here:
            await consumer.commit(here)

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        lanes = [self._lanes[place] for place in revoked if place in self._lanes]
        await asyncio.gather(*(lane.settle(SETTLE_SECONDS) for lane in lanes))

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        await self._cancel([place for place in self._lanes if place not in assigned])
        for place in () if self._leaving else assigned:
            if place in self._lanes:
                self._lanes[place].keep()
            else:
                self._begin(place)

    async def _join(self) -> None:
        while True:
            try:
                await begun(self._subscriber.start())
            except KafkaError as error:
                log.warning("%s can't join its group now: %s", self.stage.name, error)
                await self._subscriber.stop()
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return

    def _begin(self, place: TopicPartition) -> None:
        lane = Lane(place, self._consumer(), self._handle, self.stage.batch)
        task = asyncio.create_task(lane.run(), name=f"{self.stage.name} {lane.where()}")
        task.add_done_callback(self._ended)
        self._lanes[place], self._tasks[place] = lane, task

    async def _cancel(self, places: Sequence[TopicPartition]) -> None:
        tasks = [self._tasks.pop(place) for place in places]
        for place in places:
            del self._lanes[place]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        places = [place for place, running in self._tasks.items() if running is task]
        if self._broken.done() or not places:
            return
        where = f"in stage {task.get_name()}, at offset {self._lanes[places[0]].at}"
        error = None if task.cancelled() else task.exception()
        # A lane never ends by itself.
        error = error or RuntimeError("cancelled from inside")
        error.add_note(where)
        self._broken.set_exception(error)

    def _consumer(self) -> AIOKafkaConsumer:
        consumer = self._subscriber.consumer
        if consumer is None:
            raise RuntimeError(f"{self.stage.name} is in no group")
        return consumer

    async def _poll(self, consumer: AIOKafkaConsumer) -> Records:
        """Wait for records. Called again and again, it keeps the member in its group."""
        most = self.stage.batch * max(1, len(self._lanes))
        found = await consumer.getmany(timeout_ms=milliseconds(WAIT_SECONDS), max_records=most)
        return tuple(record for records in found.values() for record in records)

    async def _spread(self, msg: Records) -> None:
        by_place: dict[TopicPartition, list[ConsumerRecord]] = defaultdict(list)
        for record in msg:
            by_place[TopicPartition(record.topic, record.partition)].append(record)
        for place, some in by_place.items():
            if place in self._lanes:
                self._lanes[place].take(some)

    async def _handle(self, records: Sequence[ConsumerRecord]) -> None:
        await self._subscriber.process_message(tuple(records))

    async def _deliver(self, batch: list[RawRecord]) -> None:
        await self._delivery.deliver(self.stage, batch)


async def _parse(message: Records, original: Any) -> StreamMessage[Records]:
    """FastStream reads headers as UTF-8; it is spared those that are not, which decoding then reports."""
    parsed: StreamMessage[Records] = await original(
        tuple(one if legible(one) else replace(one, headers=()) for one in message)
    )
    parsed.raw_message = message
    return parsed


async def _decode(message: StreamMessage[Records]) -> list[RawRecord]:
    return [raw(record) for record in message.raw_message]
