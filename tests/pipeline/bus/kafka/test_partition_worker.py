"""Worker of a partition: queue limits, and no duplicates when records are fetched again."""

import asyncio
from collections.abc import Sequence
from random import Random

import pytest
from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.errors import CommitFailedError
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.bus.kafka.partition_worker import MAX_QUEUED_BATCHES, PartitionWorker

pytestmark = pytest.mark.anyio
TOPIC_PARTITION = TopicPartition("t", 0)
BATCH = 4


def record(offset: int) -> ConsumerRecord:
    return ConsumerRecord("t", 0, offset, 0, 0, b"", b"", None, 0, 0, ())


class FakeConsumer:
    """Double of a consumer of one partition, with the committed position of its group."""

    def __init__(self) -> None:
        self.position_committed: int | None = None
        self.paused = False
        self.reject_commits = False
        self.commit_rejected = asyncio.Event()
        self.commit_started = asyncio.Event()
        self.commit_may_finish = asyncio.Event()
        self.commit_may_finish.set()
        self._moved = asyncio.Event()

    async def wait_until_committed(self, offset: int) -> None:
        """Wait until the group's position has reached the offset."""
        while self.position_committed is None or self.position_committed < offset:
            self._moved.clear()
            await self._moved.wait()

    async def commit(self, offsets: dict[TopicPartition, int]) -> None:
        rejected = self.reject_commits
        self.commit_started.set()
        await self.commit_may_finish.wait()
        if rejected:
            self.commit_rejected.set()
            raise CommitFailedError
        self.position_committed = offsets[TOPIC_PARTITION]
        self._moved.set()

    async def committed(self, partition: TopicPartition) -> int | None:
        return self.position_committed

    async def beginning_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 0)

    def assignment(self) -> set[TopicPartition]:
        return {TOPIC_PARTITION}

    def pause(self, *partitions: TopicPartition) -> None:
        self.paused = True

    def resume(self, *partitions: TopicPartition) -> None:
        self.paused = False


class GatedHandler:
    """Handler of batches that waits for permission."""

    def __init__(self) -> None:
        self.offsets: list[int] = []
        self.may_finish = asyncio.Event()
        self.started = asyncio.Event()
        self.finished = asyncio.Event()

    async def handle(self, batch: Sequence[ConsumerRecord]) -> None:
        assert len(batch) <= BATCH
        self.started.set()
        await self.may_finish.wait()
        self.offsets += [record.offset for record in batch]
        self.finished.set()


async def test_a_full_queue_pauses_the_partition_until_it_is_worked_off() -> None:
    consumer, handler = FakeConsumer(), GatedHandler()
    worker = PartitionWorker(TOPIC_PARTITION, consumer, handler.handle, BATCH)
    running = asyncio.create_task(worker.run())
    worker.enqueue([record(offset) for offset in range(MAX_QUEUED_BATCHES * BATCH - 1)])
    assert not consumer.paused
    await handler.started.wait()
    worker.enqueue(
        [record(offset) for offset in range(MAX_QUEUED_BATCHES * BATCH - 1, (MAX_QUEUED_BATCHES + 1) * BATCH)]
    )
    assert consumer.paused
    handler.may_finish.set()
    await consumer.wait_until_committed((MAX_QUEUED_BATCHES + 1) * BATCH)
    assert not consumer.paused
    running.cancel()


async def test_a_group_has_a_position_before_its_first_record() -> None:
    consumer, handler = FakeConsumer(), GatedHandler()
    running = asyncio.create_task(PartitionWorker(TOPIC_PARTITION, consumer, handler.handle, BATCH).run())
    await consumer.wait_until_committed(0)
    assert consumer.position_committed == 0
    running.cancel()


async def test_records_fetched_again_after_a_rebalance_are_handled_once() -> None:
    consumer, handler = FakeConsumer(), GatedHandler()
    worker = PartitionWorker(TOPIC_PARTITION, consumer, handler.handle, BATCH)
    running = asyncio.create_task(worker.run())
    worker.enqueue([record(offset) for offset in range(6)])
    await handler.started.wait()
    await worker.drain(0.01)
    worker.enqueue([record(offset) for offset in range(6, 9)])
    worker.resume_after_rebalance()
    # The partition stayed and is read again from the committed offset; 0 to 3 are still being handled.
    worker.enqueue([record(offset) for offset in range(9)])
    handler.may_finish.set()
    await consumer.wait_until_committed(9)
    assert handler.offsets == list(range(9))
    running.cancel()


async def test_a_refused_commit_is_repeated_after_the_rebalance() -> None:
    consumer, handler = FakeConsumer(), GatedHandler()
    consumer.position_committed = 0
    worker = PartitionWorker(TOPIC_PARTITION, consumer, handler.handle, BATCH)
    running = asyncio.create_task(worker.run())
    consumer.reject_commits = True
    handler.may_finish.set()
    worker.enqueue([record(0)])
    await consumer.commit_rejected.wait()
    assert consumer.position_committed == 0
    consumer.reject_commits = False
    await worker.drain(0.01)
    worker.resume_after_rebalance()
    await consumer.wait_until_committed(1)
    assert handler.offsets == [0]
    running.cancel()


async def test_a_commit_refused_after_the_rebalance_is_repeated_at_once() -> None:
    consumer, handler = FakeConsumer(), GatedHandler()
    consumer.position_committed = 0
    worker = PartitionWorker(TOPIC_PARTITION, consumer, handler.handle, BATCH)
    running = asyncio.create_task(worker.run())
    handler.may_finish.set()
    consumer.reject_commits = True
    consumer.commit_may_finish.clear()
    worker.enqueue([record(0)])
    await consumer.commit_started.wait()
    await worker.drain(0.001)
    worker.resume_after_rebalance()
    consumer.reject_commits = False
    consumer.commit_may_finish.set()
    await consumer.wait_until_committed(1)
    assert consumer.commit_rejected.is_set()
    worker.enqueue([record(1)])
    await consumer.wait_until_committed(2)
    assert handler.offsets == [0, 1]
    running.cancel()


async def test_the_initial_position_is_before_the_queued_records() -> None:
    consumer, handler = FakeConsumer(), GatedHandler()
    worker = PartitionWorker(TOPIC_PARTITION, consumer, handler.handle, BATCH)
    worker.enqueue([record(offset) for offset in range(5)])
    running = asyncio.create_task(worker.run())
    await handler.started.wait()
    assert consumer.position_committed == 0
    running.cancel()


@settings(deadline=None)
@given(st.lists(st.integers(0, 8), max_size=30), st.randoms(use_true_random=False))
def test_every_record_is_handled_once_and_in_order_through_any_rebalances(steps: list[int], random: Random) -> None:
    asyncio.run(_run_rebalances(steps, random))


async def _run_rebalances(steps: Sequence[int], random: Random) -> None:
    consumer, handler = FakeConsumer(), GatedHandler()
    handler.may_finish.set()
    worker = PartitionWorker(TOPIC_PARTITION, consumer, handler.handle, BATCH)
    running = asyncio.create_task(worker.run())
    fetched = 0
    for step in steps:
        if step == 0:
            await worker.drain(0.001 if random.random() < 0.5 else None)
            worker.resume_after_rebalance()
            fetched = consumer.position_committed or 0
        else:
            worker.enqueue([record(offset) for offset in range(fetched, fetched + step)])
            fetched += step
        for _ in range(random.randrange(6)):
            await asyncio.sleep(0)
    await consumer.wait_until_committed(fetched)
    assert handler.offsets == list(range(len(handler.offsets)))
    running.cancel()
    await asyncio.wait([running])
