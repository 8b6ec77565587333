"""Kafka goes away and comes back: publishers are told in time, and whoever reads goes on by itself."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import pytest

from pipeline.bus.kafka import cluster
from pipeline.bus.kafka.cluster import Cluster, KafkaOptions
from pipeline.errors import OutageError
from pipeline.ports import Position
from pipeline.stage import Stage
from tests.pipeline.bus.contract import Notebook, noted, spread
from tests.pipeline.bus.kafka import KafkaHarness
from tools.kafka import Broker, Container

pytestmark = [pytest.mark.anyio, pytest.mark.kafka]
T = TypeVar("T")


async def persisting(ask: Callable[[], Awaitable[T]]) -> T:
    """As a client does that tries again after 503: a busy machine takes more than so little patience, too."""
    while True:
        try:
            return await ask()
        except OutageError:
            continue


async def test_a_killed_broker_costs_nothing_but_time(
    kafka: Broker | Container, kafka_harness: KafkaHarness
) -> None:
    kafka_harness.options = replace(kafka_harness.options, patience=2.0)
    bus, topic, book, followed = (
        await kafka_harness.open(), kafka_harness.topic("killed"), Notebook(), Notebook()
    )  # fmt: skip
    stage = Stage(kafka_harness.stage("killed"), topic, book.handle)
    running = asyncio.create_task(bus.run([stage]))
    async with bus.follow(topic, followed.handle) as follower:

        async def current(places: Sequence[Position]) -> None:
            for place in places:
                await bus.reached(stage.group, topic.name, place.partition, place.offset)
            await follower.current()

        places = await persisting(lambda: bus.publish(topic, spread(20)))
        await persisting(lambda: current(places))

        await asyncio.to_thread(kafka.stop, signal.SIGKILL)
        with pytest.raises(OutageError, match=kafka_harness.options.bootstrap):
            await bus.publish(topic, noted([100]))
        with pytest.raises(OutageError):
            await follower.current()
        assert bus.trouble

        await asyncio.to_thread(kafka.start)
        places = await persisting(lambda: bus.publish(topic, noted([101])))
        assert bus.trouble is None
        await persisting(lambda: current(places))
    assert not running.done()
    running.cancel()
    await asyncio.wait([running])
    acknowledged = {*range(20), 101}
    # What was answered with an error may have been written all the same, and comes again from its sender.
    assert acknowledged <= set(book.numbers) <= acknowledged | {100}
    assert acknowledged <= set(followed.numbers) <= acknowledged | {100}


async def test_whoever_ends_while_the_broker_is_away_ends_all_the_same(
    kafka: Broker | Container, kafka_harness: KafkaHarness
) -> None:
    patient = kafka_harness.options
    kafka_harness.options = replace(patient, patience=2.0)
    bus, topic, book = await kafka_harness.open(), kafka_harness.topic("ending"), Notebook()
    stage = Stage(kafka_harness.stage("ending"), topic, book.handle)
    running = asyncio.create_task(bus.run([stage]))
    (place,) = await persisting(lambda: bus.publish(topic, noted([1])))
    await persisting(lambda: bus.reached(stage.group, topic.name, place.partition, place.offset))
    await asyncio.to_thread(kafka.stop, signal.SIGKILL)
    try:
        with pytest.raises(OutageError):
            await bus.publish(topic, noted([2]))
        running.cancel()
        await asyncio.wait([running])
        await kafka_harness.close()
    finally:
        await asyncio.to_thread(kafka.start)
    # A broker that was killed leads its partitions again only some seconds after its start.
    kafka_harness.options = patient
    await (await kafka_harness.open()).run([stage], until_idle=True)
    assert book.numbers[0] == 1


async def test_who_asks_a_cluster_that_others_asked_in_vain_is_told_soon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster, "SHORT_PATIENCE", 0.01)
    asked = Cluster(KafkaOptions(bootstrap="127.0.0.1:1", patience=0.05))
    seen = [asked.patience]
    for _ in range(2):
        with pytest.raises(OutageError):
            await asked.ask("answer", asyncio.Event().wait)
        seen.append(asked.patience)

    async def answer() -> int:
        return 1

    await asked.ask("answer", answer)
    assert [*seen, asked.patience] == [0.05, 0.01, 0.01, 0.05]


async def test_a_bus_without_a_broker_says_where_it_looked(kafka_harness: KafkaHarness) -> None:
    kafka_harness.options = replace(kafka_harness.options, bootstrap="127.0.0.1:1", patience=1.0)
    with pytest.raises(ValueError, match=r"127\.0\.0\.1:1 .*RECOLLECT_KAFKA_BOOTSTRAP"):
        await kafka_harness.open()
