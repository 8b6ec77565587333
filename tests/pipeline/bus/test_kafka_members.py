"""Several members of a group on Kafka: who handles what, and what a rebalance or a slow handler may do."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from pipeline.bus.kafka.bus import KafkaBus
from pipeline.stage import Record, Stage
from schemas.topics import Topic
from tests.pipeline.bus.contract import Noted, noted, spread
from tests.pipeline.bus.kafka import KafkaHarness

pytestmark = [pytest.mark.anyio, pytest.mark.kafka]


@pytest.fixture
def harness(kafka_harness: KafkaHarness) -> KafkaHarness:
    return kafka_harness


@dataclass
class Member:
    """A stage in a process of its own, as far as Kafka can tell. It can be made to stop in mid-batch."""

    bus: KafkaBus
    records: list[Record[Noted]] = field(default_factory=list)
    handled: asyncio.Event = field(default_factory=asyncio.Event)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: int = 0

    async def handle(self, batch: Sequence[Record[Noted]]) -> None:
        self.begun.set()
        try:
            await self.gate.wait()
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


class Team:
    """Members of one group."""

    def __init__(self, harness: KafkaHarness, name: str) -> None:
        self.harness = harness
        self.topic: Topic[Noted] = harness.topic(name)
        self.name = harness.stage(name)
        self.members: list[Member] = []

    @property
    def group(self) -> str:
        return f"recollect.{self.name}"

    async def member(self, *, stopped: bool = False) -> Member:
        member = Member(await self.harness.another())
        if not stopped:
            member.gate.set()
        self.members.append(member)
        return member

    @asynccontextmanager
    async def running(self, member: Member, *, batch: int = 8) -> AsyncIterator["asyncio.Task[None]"]:
        stage = Stage(self.name, self.topic, member.handle, batch=batch)
        task = asyncio.create_task(member.bus.run([stage]))
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def idle(self, bus: KafkaBus) -> None:
        """Until the group has handled all there is."""
        await until(bus, self.group, lambda lag: sum(lag.values()) == 0)

    def counts(self) -> Counter[int]:
        return Counter(number for member in self.members for number in member.numbers)


async def until(
    bus: KafkaBus, group: str, enough: Callable[[dict[tuple[str, int], int]], bool]
) -> dict[tuple[str, int], int]:
    """Ask Kafka for the lag of a group until it is as wanted."""
    while True:
        lag = (await bus.lag()).get(group)
        if lag is not None and enough(lag):
            return lag
        await asyncio.sleep(0.05)


async def test_two_members_share_the_partitions_and_every_record_is_handled_once(
    harness: KafkaHarness,
) -> None:
    team = Team(harness, "shared")
    one, other = await team.member(), await team.member()
    async with team.running(one), team.running(other):
        numbers = 0
        while not (one.records and other.records):
            await one.bus.publish(team.topic, spread(40))
            numbers += 40
            await team.idle(one.bus)
        one.records.clear()
        other.records.clear()
        await one.bus.publish(team.topic, spread(200))
        await team.idle(one.bus)
    assert team.counts() == Counter(range(200))
    assert one.partitions
    assert other.partitions
    assert not one.partitions & other.partitions


async def test_a_member_that_comes_in_the_middle_of_a_batch_loses_and_delays_nothing(
    harness: KafkaHarness,
) -> None:
    team = Team(harness, "midbatch")
    one, other = await team.member(stopped=True), await team.member()
    await one.bus.publish(team.topic, spread(100))
    async with team.running(one), team.running(other):
        await one.begun.wait()
        await other.handled.wait()
        one.gate.set()
        await team.idle(one.bus)
    assert set(team.counts()) == set(range(100))
    for member in team.members:
        for partition in member.partitions:
            offsets = [record.offset for record in member.records if record.partition == partition]
            assert offsets == sorted(set(offsets)), "a member handles a partition in order, nothing twice"


async def test_a_partition_that_stays_through_a_rebalance_goes_on_with_its_batch(
    harness: KafkaHarness,
) -> None:
    team = Team(harness, "staying")
    one, other = await team.member(stopped=True), await team.member()
    await one.bus.publish(team.topic, spread(60))
    async with team.running(one, batch=100):
        await one.begun.wait()
        async with team.running(other, batch=100):
            await other.handled.wait()
            one.gate.set()
            await team.idle(one.bus)
    counts = team.counts()
    assert set(counts) == set(range(60))
    # What went to the other was cancelled here; what stayed was not begun again.
    assert one.partitions
    assert one.cancelled == 4 - len(one.partitions)
    assert max(counts.values()) == 1


async def test_the_work_of_a_member_that_leaves_goes_to_the_others(harness: KafkaHarness) -> None:
    team = Team(harness, "leaving")
    one, other = await team.member(stopped=True), await team.member()
    await one.bus.publish(team.topic, spread(60))
    async with team.running(other):
        async with team.running(one):
            await one.begun.wait()
        await team.idle(other.bus)
    assert one.numbers == []
    assert set(other.numbers) == set(range(60))


async def test_a_slow_partition_holds_up_no_other(harness: KafkaHarness) -> None:
    team = Team(harness, "slow")
    member = await team.member()
    bus, gate, seen = member.bus, asyncio.Event(), asyncio.Event()
    (slow,) = await bus.publish(team.topic, noted([0]))
    others = [f"k{number}" for number in range(40)]
    places = await bus.publish(team.topic, [(key, Noted(number=1)) for key in others])
    elsewhere = [place for place in places if place.partition != slow.partition]

    async def handle(batch: Sequence[Record[Noted]]) -> None:
        if batch[0].partition == slow.partition:
            await gate.wait()
        member.records.extend(batch)
        if len(member.records) >= len(elsewhere):
            seen.set()

    stage = Stage(team.name, team.topic, handle, batch=2)
    running = asyncio.create_task(bus.run([stage]))
    await seen.wait()
    assert {record.partition for record in member.records} == {place.partition for place in elsewhere}
    gate.set()
    await team.idle(bus)
    running.cancel()
    await asyncio.wait([running])
    assert len(member.records) == 1 + len(others)


async def test_a_handler_that_outlasts_the_session_keeps_its_partition(harness: KafkaHarness) -> None:
    harness.options = harness.impatient()
    team = Team(harness, "patient")
    one, other = await team.member(), await team.member()

    async def handle(batch: Sequence[Record[Noted]]) -> None:
        await asyncio.sleep(2 * harness.options.session)
        one.records.extend(batch)

    await one.bus.publish(team.topic, noted(range(5)))
    stage = Stage(team.name, team.topic, handle)
    await one.bus.run([stage], until_idle=True)
    assert one.numbers == list(range(5))
    async with team.running(other):
        await team.idle(other.bus)
    assert other.numbers == []


async def test_a_member_that_was_given_up_for_dead_comes_back_and_nothing_is_lost(
    harness: KafkaHarness,
) -> None:
    harness.options = harness.impatient()
    team = Team(harness, "absent")
    one, other = await team.member(), await team.member()
    absent = iter([3 * harness.options.session])

    async def handle(batch: Sequence[Record[Noted]]) -> None:
        # Nothing else of this process runs meanwhile, no heartbeat either.
        time.sleep(next(absent, 0))  # noqa: ASYNC251 - see above
        one.records.extend(batch)

    await one.bus.publish(team.topic, spread(40))
    stage = Stage(team.name, team.topic, handle, batch=4)
    await one.bus.run([stage], until_idle=True)
    assert set(one.numbers) == set(range(40))
    async with team.running(other):
        await one.bus.publish(team.topic, noted([40]))
        await team.idle(other.bus)
    assert other.numbers == [40]


async def test_a_space_is_worked_on_by_one_member_in_every_topic(harness: KafkaHarness) -> None:
    one, other = await harness.another(), await harness.another()
    topics = [harness.topic("documents"), harness.topic("memories")]
    groups = [f"recollect.{harness.stage(topic.name)}" for topic in topics]
    seen: dict[KafkaBus, set[tuple[str, str]]] = {one: set(), other: set()}

    def run(bus: KafkaBus) -> "asyncio.Task[None]":
        async def handle(batch: Sequence[Record[Noted]]) -> None:
            seen[bus].update((record.topic, record.key.partition("/")[0]) for record in batch)

        return asyncio.create_task(
            bus.run([Stage(harness.stage(topic.name), topic, handle) for topic in topics])
        )

    async def publish() -> None:
        for topic, group in zip(topics, groups, strict=True):
            await one.publish(topic, [(f"s{number}#0/d", Noted(number=1)) for number in range(40)])
            await until(one, group, lambda lag: not any(lag.values()))

    running = [run(one), run(other)]
    while not all(len({topic for topic, _ in places}) == len(topics) for places in seen.values()):
        await publish()
    for places in seen.values():
        places.clear()
    await publish()
    for task in running:
        task.cancel()
    await asyncio.wait(running)
    documents, memories = (
        [{space for where, space in seen[bus] if where == topic.name} for bus in (one, other)]
        for topic in topics
    )
    assert documents == memories
    assert not documents[0] & documents[1]
