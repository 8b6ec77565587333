"""Several members of a consumer group on Kafka: assignment, rebalances and slow handlers."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import pytest

from pipeline.bus.kafka.bus import KafkaBus
from pipeline.stage import Record, Stage
from schemas.topics import Topic
from tests.pipeline.bus.bus_contract import NumberedEvent, events_across_keys, numbered_events
from tests.pipeline.bus.kafka_harness import KafkaHarness

pytestmark = [pytest.mark.anyio, pytest.mark.kafka]


@pytest.fixture
def harness(kafka_harness: KafkaHarness) -> KafkaHarness:
    return kafka_harness


@dataclass
class GroupMember:
    """A group member with a bus of its own, whose handler can be held during a batch."""

    bus: KafkaBus
    records: list[Record[NumberedEvent]] = field(default_factory=list)
    handled: asyncio.Event = field(default_factory=asyncio.Event)
    may_finish: asyncio.Event = field(default_factory=asyncio.Event)
    started: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: int = 0

    async def handle(self, batch: Sequence[Record[NumberedEvent]]) -> None:
        self.started.set()
        try:
            await self.may_finish.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        self.records.extend(batch)
        self.handled.set()

    @property
    def numbers(self) -> list[int]:
        return [record.event.number for record in self.records]

    @property
    def partitions(self) -> set[int]:
        return {record.partition for record in self.records}


class ConsumerGroup:
    """Members of a consumer group."""

    def __init__(self, harness: KafkaHarness, name: str) -> None:
        self.harness = harness
        self.topic: Topic[NumberedEvent] = harness.topic(name)
        self.name = harness.stage(name)
        self.members: list[GroupMember] = []

    @property
    def group(self) -> str:
        return f"recollect.{self.name}"

    async def member(self, *, stopped: bool = False) -> GroupMember:
        member = GroupMember(await self.harness.open_another())
        if not stopped:
            member.may_finish.set()
        self.members.append(member)
        return member

    @asynccontextmanager
    async def running(self, member: GroupMember, *, batch: int = 8) -> AsyncIterator["asyncio.Task[None]"]:
        stage = Stage(self.name, self.topic, member.handle, batch_size=batch)
        task = asyncio.create_task(member.bus.run([stage]))
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def wait_until_idle(self, bus: KafkaBus) -> None:
        """Wait until the group has handled every record."""
        await wait_for_lag(bus, self.group, lambda lag: sum(lag.values()) == 0)

    def handled_counts(self) -> Counter[int]:
        return Counter(number for member in self.members for number in member.numbers)


async def wait_for_lag(
    bus: KafkaBus, group: str, condition: Callable[[dict[tuple[str, int], int]], bool]
) -> dict[tuple[str, int], int]:
    """Poll the lag of a group until it meets the condition."""
    while True:
        lag = (await bus.lag()).get(group)
        if lag is not None and condition(lag):
            return lag
        await asyncio.sleep(0.05)


async def test_two_members_share_the_partitions_and_every_record_is_handled_once(
    harness: KafkaHarness,
) -> None:
    group = ConsumerGroup(harness, "shared")
    first, second = await group.member(), await group.member()
    async with group.running(first), group.running(second):
        numbers = 0
        while not (first.records and second.records):
            await first.bus.publish(group.topic, events_across_keys(40))
            numbers += 40
            await group.wait_until_idle(first.bus)
        first.records.clear()
        second.records.clear()
        await first.bus.publish(group.topic, events_across_keys(200))
        await group.wait_until_idle(first.bus)
    assert group.handled_counts() == Counter(range(200))
    assert first.partitions
    assert second.partitions
    assert not first.partitions & second.partitions


async def test_a_member_that_joins_during_a_batch_loses_and_delays_nothing(
    harness: KafkaHarness,
) -> None:
    group = ConsumerGroup(harness, "midbatch")
    first, second = await group.member(stopped=True), await group.member()
    await first.bus.publish(group.topic, events_across_keys(100))
    async with group.running(first):
        await first.started.wait()
        async with group.running(second):
            await second.handled.wait()
            first.may_finish.set()
            await group.wait_until_idle(first.bus)
    assert set(group.handled_counts()) == set(range(100))
    for member in group.members:
        for partition in member.partitions:
            offsets = [record.offset for record in member.records if record.partition == partition]
            assert offsets == sorted(set(offsets)), "a member handles a partition in order, nothing twice"


async def test_a_partition_kept_through_a_rebalance_continues_its_batch(
    harness: KafkaHarness, caplog: pytest.LogCaptureFixture
) -> None:
    group = ConsumerGroup(harness, "staying")
    first, second = await group.member(stopped=True), await group.member()
    await first.bus.publish(group.topic, events_across_keys(60))
    async with group.running(first, batch=100):
        await first.started.wait()
        async with group.running(second, batch=100):
            await second.handled.wait()
            first.may_finish.set()
            await group.wait_until_idle(first.bus)
    counts = group.handled_counts()
    assert set(counts) == set(range(60))
    # Batches of lost partitions were cancelled; those of kept ones were not restarted.
    assert first.partitions
    assert first.cancelled == 4 - len(first.partitions) > 0
    assert not [record for record in caplog.records if record.exc_info], (
        "a batch that goes to another member is no error"
    )
    assert max(counts.values()) == 1


async def test_partitions_of_a_leaving_member_go_to_the_others(harness: KafkaHarness) -> None:
    group = ConsumerGroup(harness, "leaving")
    first, second = await group.member(stopped=True), await group.member()
    await first.bus.publish(group.topic, events_across_keys(60))
    async with AsyncExitStack() as joined:
        # The first one alone at first: the second one would have handled everything before it came.
        leaving = await joined.enter_async_context(AsyncExitStack())
        await leaving.enter_async_context(group.running(first))
        await first.started.wait()
        await joined.enter_async_context(group.running(second))
        await leaving.aclose()
        await group.wait_until_idle(second.bus)
    assert first.numbers == []
    assert set(second.numbers) == set(range(60))


async def test_a_slow_partition_does_not_delay_others(harness: KafkaHarness) -> None:
    group = ConsumerGroup(harness, "slow")
    member = await group.member()
    bus, gate, seen = member.bus, asyncio.Event(), asyncio.Event()
    (slow,) = await bus.publish(group.topic, numbered_events([0]))
    others = [f"k{number}" for number in range(40)]
    positions = await bus.publish(group.topic, [(key, NumberedEvent(number=1)) for key in others])
    elsewhere = [position for position in positions if position.partition != slow.partition]

    async def handle(batch: Sequence[Record[NumberedEvent]]) -> None:
        if batch[0].partition == slow.partition:
            await gate.wait()
        member.records.extend(batch)
        if len(member.records) >= len(elsewhere):
            seen.set()

    stage = Stage(group.name, group.topic, handle, batch_size=2)
    running = asyncio.create_task(bus.run([stage]))
    await seen.wait()
    assert {record.partition for record in member.records} == {position.partition for position in elsewhere}
    gate.set()
    await group.wait_until_idle(bus)
    running.cancel()
    await asyncio.wait([running])
    assert len(member.records) == 1 + len(others)


async def test_a_handler_that_outlasts_the_session_keeps_its_partition(harness: KafkaHarness) -> None:
    session_timeout = harness.shorten_sessions()
    group = ConsumerGroup(harness, "patient")
    first, second = await group.member(), await group.member()

    async def handle(batch: Sequence[Record[NumberedEvent]]) -> None:
        await asyncio.sleep(2 * session_timeout)
        first.records.extend(batch)

    await first.bus.publish(group.topic, numbered_events(range(5)))
    stage = Stage(group.name, group.topic, handle)
    await first.bus.run([stage], until_idle=True)
    assert first.numbers == list(range(5))
    async with group.running(second):
        await group.wait_until_idle(second.bus)
    assert second.numbers == []


async def test_a_member_that_returns_after_its_session_expired_loses_nothing(
    harness: KafkaHarness,
) -> None:
    session_timeout = harness.shorten_sessions()
    group = ConsumerGroup(harness, "pauses")
    first, second = await group.member(), await group.member()
    pauses = iter([3 * session_timeout])

    async def handle(batch: Sequence[Record[NumberedEvent]]) -> None:
        # Blocks the event loop, heartbeats included.
        time.sleep(next(pauses, 0))  # noqa: ASYNC251 - see above
        first.records.extend(batch)

    await first.bus.publish(group.topic, events_across_keys(40))
    stage = Stage(group.name, group.topic, handle, batch_size=4)
    await first.bus.run([stage], until_idle=True)
    assert set(first.numbers) == set(range(40))
    async with group.running(second):
        await first.bus.publish(group.topic, numbered_events([40]))
        await group.wait_until_idle(second.bus)
    assert second.numbers == [40]


async def test_an_incarnation_is_handled_by_one_member_in_every_topic(harness: KafkaHarness) -> None:
    first, second = await harness.open_another(), await harness.open_another()
    topics = [harness.topic("documents"), harness.topic("memories")]
    groups = [f"recollect.{harness.stage(topic.name)}" for topic in topics]
    seen: dict[KafkaBus, set[tuple[str, str]]] = {first: set(), second: set()}

    def run(bus: KafkaBus) -> "asyncio.Task[None]":
        async def handle(batch: Sequence[Record[NumberedEvent]]) -> None:
            seen[bus].update((record.topic, record.key.partition("/")[0]) for record in batch)

        return asyncio.create_task(bus.run([Stage(harness.stage(topic.name), topic, handle) for topic in topics]))

    async def publish() -> None:
        for topic, group in zip(topics, groups, strict=True):
            await first.publish(topic, [(f"s{number}#0/d", NumberedEvent(number=1)) for number in range(40)])
            await wait_for_lag(first, group, lambda lag: not any(lag.values()))

    running = [run(first), run(second)]
    while not all(len({topic for topic, _ in positions}) == len(topics) for positions in seen.values()):
        await publish()
    for positions in seen.values():
        positions.clear()
    await publish()
    for task in running:
        task.cancel()
    await asyncio.wait(running)
    documents, memories = (
        [{incarnation for topic_name, incarnation in seen[bus] if topic_name == topic.name} for bus in (first, second)]
        for topic in topics
    )
    assert documents == memories
    assert not documents[0] & documents[1]
