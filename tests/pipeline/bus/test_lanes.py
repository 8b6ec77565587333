"""A lane of a partition: how much it holds, and what it leaves out, whatever the consumer brings again."""

import asyncio
from collections.abc import Sequence
from random import Random

import pytest
from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.errors import CommitFailedError
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.bus.kafka.lanes import FULL, Lane

pytestmark = pytest.mark.anyio
PLACE = TopicPartition("t", 0)
BATCH = 4


def record(offset: int) -> ConsumerRecord:
    return ConsumerRecord("t", 0, offset, 0, 0, b"", b"", None, 0, 0, ())


class Broker:
    """A consumer of one partition and the group's position in it, as a lane knows them."""

    def __init__(self) -> None:
        self.position_committed: int | None = None
        self.paused = False
        self.refusing = False
        self.refused = asyncio.Event()
        self.asked = asyncio.Event()
        self.answering = asyncio.Event()
        self.answering.set()
        self._moved = asyncio.Event()

    async def reached(self, offset: int) -> None:
        """Until the group's position is there."""
        while self.position_committed is None or self.position_committed < offset:
            self._moved.clear()
            await self._moved.wait()

    async def commit(self, offsets: dict[TopicPartition, int]) -> None:
        refusing = self.refusing
        self.asked.set()
        await self.answering.wait()
        if refusing:
            self.refused.set()
            raise CommitFailedError
        self.position_committed = offsets[PLACE]
        self._moved.set()

    async def committed(self, partition: TopicPartition) -> int | None:
        return self.position_committed

    async def beginning_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 0)

    def assignment(self) -> set[TopicPartition]:
        return {PLACE}

    def pause(self, *partitions: TopicPartition) -> None:
        self.paused = True

    def resume(self, *partitions: TopicPartition) -> None:
        self.paused = False


class Desk:
    """Where batches are handled, one at a time, when they are let through."""

    def __init__(self) -> None:
        self.offsets: list[int] = []
        self.open = asyncio.Event()
        self.begun = asyncio.Event()
        self.done = asyncio.Event()

    async def handle(self, batch: Sequence[ConsumerRecord]) -> None:
        assert len(batch) <= BATCH
        self.begun.set()
        await self.open.wait()
        self.offsets += [one.offset for one in batch]
        self.done.set()


async def test_a_full_lane_pauses_its_partition_until_it_has_worked() -> None:
    broker, desk = Broker(), Desk()
    lane = Lane(PLACE, broker, desk.handle, BATCH)
    running = asyncio.create_task(lane.run())
    lane.take([record(offset) for offset in range(FULL * BATCH - 1)])
    assert not broker.paused
    await desk.begun.wait()
    lane.take([record(offset) for offset in range(FULL * BATCH - 1, (FULL + 1) * BATCH)])
    assert broker.paused
    desk.open.set()
    await broker.reached((FULL + 1) * BATCH)
    assert not broker.paused
    running.cancel()


async def test_a_group_has_a_position_before_its_first_record() -> None:
    broker, desk = Broker(), Desk()
    running = asyncio.create_task(Lane(PLACE, broker, desk.handle, BATCH).run())
    await broker.reached(0)
    assert broker.position_committed == 0
    running.cancel()


async def test_what_comes_again_after_a_rebalance_is_handled_once() -> None:
    broker, desk = Broker(), Desk()
    lane = Lane(PLACE, broker, desk.handle, BATCH)
    running = asyncio.create_task(lane.run())
    lane.take([record(offset) for offset in range(6)])
    await desk.begun.wait()
    await lane.settle(0.01)
    lane.take([record(offset) for offset in range(6, 9)])
    lane.keep()
    # The partition stayed: it is read again from what is committed, and 0 to 3 are still in hand.
    lane.take([record(offset) for offset in range(9)])
    desk.open.set()
    await broker.reached(9)
    assert desk.offsets == list(range(9))
    running.cancel()


async def test_a_refused_commit_is_made_when_the_partition_is_ours_again() -> None:
    broker, desk = Broker(), Desk()
    broker.position_committed = 0
    lane = Lane(PLACE, broker, desk.handle, BATCH)
    running = asyncio.create_task(lane.run())
    broker.refusing = True
    desk.open.set()
    lane.take([record(0)])
    await broker.refused.wait()
    assert broker.position_committed == 0
    broker.refusing = False
    await lane.settle(0.01)
    lane.keep()
    await broker.reached(1)
    assert desk.offsets == [0]
    running.cancel()


async def test_a_refusal_that_comes_after_the_rebalance_is_not_waited_for_again() -> None:
    broker, desk = Broker(), Desk()
    broker.position_committed = 0
    lane = Lane(PLACE, broker, desk.handle, BATCH)
    running = asyncio.create_task(lane.run())
    desk.open.set()
    broker.refusing = True
    broker.answering.clear()
    lane.take([record(0)])
    await broker.asked.wait()
    await lane.settle(0.001)
    lane.keep()
    broker.refusing = False
    broker.answering.set()
    await broker.reached(1)
    assert broker.refused.is_set()
    lane.take([record(1)])
    await broker.reached(2)
    assert desk.offsets == [0, 1]
    running.cancel()


async def test_the_first_position_is_before_what_only_waits() -> None:
    broker, desk = Broker(), Desk()
    lane = Lane(PLACE, broker, desk.handle, BATCH)
    lane.take([record(offset) for offset in range(5)])
    running = asyncio.create_task(lane.run())
    await desk.begun.wait()
    assert broker.position_committed == 0
    running.cancel()


@settings(deadline=None)
@given(st.lists(st.integers(0, 8), max_size=30), st.randoms(use_true_random=False))
def test_whatever_rebalances_do_every_record_is_handled_once_and_in_order(
    steps: list[int], random: Random
) -> None:
    asyncio.run(_through(steps, random))


async def _through(steps: Sequence[int], random: Random) -> None:
    broker, desk = Broker(), Desk()
    desk.open.set()
    lane = Lane(PLACE, broker, desk.handle, BATCH)
    running = asyncio.create_task(lane.run())
    fetched = 0
    for step in steps:
        if step == 0:
            await lane.settle(0.001 if random.random() < 0.5 else None)
            lane.keep()
            fetched = broker.position_committed or 0
        else:
            lane.take([record(offset) for offset in range(fetched, fetched + step)])
            fetched += step
        for _ in range(random.randrange(6)):
            await asyncio.sleep(0)
    await broker.reached(fetched)
    assert desk.offsets == list(range(len(desk.offsets)))
    running.cancel()
    await asyncio.wait([running])
