"""Outages of Kafka: publishing fails within a bounded time, and consumers resume by themselves."""

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import pytest
from aiokafka.consumer.fetcher import Fetcher

from pipeline.bus.kafka import cluster
from pipeline.bus.kafka.cluster import Cluster
from pipeline.errors import OutageError
from pipeline.ports import Position
from pipeline.settings import Settings
from pipeline.stage import Stage
from tests.pipeline.bus.bus_contract import RecordingHandler, events_across_keys, numbered_events
from tests.pipeline.bus.kafka_harness import KafkaHarness
from tools.kafka_broker import DockerBroker, LocalBroker

pytestmark = [pytest.mark.anyio, pytest.mark.kafka]
T = TypeVar("T")


async def retry_through_outages(call: Callable[[], Awaitable[T]]) -> T:
    """Repeat a call until it succeeds; the short timeouts of these tests also expire on a busy machine."""
    while True:
        try:
            return await call()
        except OutageError:
            continue


async def test_after_the_broker_was_killed_nothing_is_lost_and_little_was_logged(
    kafka: LocalBroker | DockerBroker, kafka_harness: KafkaHarness, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "pipeline.bus.kafka")
    kafka_harness.call_timeout = 2.0
    bus, topic, handler, followed = (
        await kafka_harness.open(), kafka_harness.topic("killed"), RecordingHandler(), RecordingHandler()
    )  # fmt: skip
    stage = Stage(kafka_harness.stage("killed"), topic, handler.handle)
    running = asyncio.create_task(bus.run([stage]))
    async with bus.follow(topic, followed.handle) as follower:

        async def wait_until_current(positions: Sequence[Position]) -> None:
            for position in positions:
                await bus.wait_until_consumed(stage.group, topic.name, position.partition, position.offset)
            await follower.catch_up()

        positions = await retry_through_outages(lambda: bus.publish(topic, events_across_keys(20)))
        await retry_through_outages(lambda: wait_until_current(positions))

        await asyncio.to_thread(kafka.stop, signal.SIGKILL)
        with pytest.raises(OutageError, match=kafka_harness.bootstrap):
            await bus.publish(topic, numbered_events([100]))
        with pytest.raises(OutageError):
            await follower.catch_up()
        assert bus.health_issue

        await asyncio.to_thread(kafka.start)
        positions = await retry_through_outages(lambda: bus.publish(topic, numbered_events([101])))
        assert bus.health_issue is None
        await retry_through_outages(lambda: wait_until_current(positions))
    assert not running.done()
    running.cancel()
    await asyncio.wait([running])
    acknowledged = {*range(20), 101}
    # A record whose publish failed may have been written all the same.
    assert acknowledged <= set(handler.numbers) <= acknowledged | {100}
    assert acknowledged <= set(followed.numbers) <= acknowledged | {100}
    assert not [line for line in caplog.messages if line.startswith("Unable")]
    begun, ended = (
        sum(f"broker {kafka_harness.bootstrap} {what}" in line for line in caplog.messages)
        for what in ("can't be reached and", "answers again")
    )
    # A broker that starts may accept a connection and close it again.
    assert 1 <= begun == ended


async def test_a_bus_closes_while_the_broker_is_down(
    kafka: LocalBroker | DockerBroker, kafka_harness: KafkaHarness
) -> None:
    original_timeout, kafka_harness.call_timeout = kafka_harness.call_timeout, 2.0
    bus, topic, handler = await kafka_harness.open(), kafka_harness.topic("ending"), RecordingHandler()
    stage = Stage(kafka_harness.stage("ending"), topic, handler.handle)
    running = asyncio.create_task(bus.run([stage]))
    (position,) = await retry_through_outages(lambda: bus.publish(topic, numbered_events([1])))
    await retry_through_outages(
        lambda: bus.wait_until_consumed(stage.group, topic.name, position.partition, position.offset)
    )
    await asyncio.to_thread(kafka.stop, signal.SIGKILL)
    try:
        with pytest.raises(OutageError):
            await bus.publish(topic, numbered_events([2]))
        running.cancel()
        await asyncio.wait([running])
        await kafka_harness.close()
    finally:
        await asyncio.to_thread(kafka.start)
    # A killed broker leads its partitions again only some seconds after its start.
    kafka_harness.call_timeout = original_timeout
    await (await kafka_harness.open()).run([stage], until_idle=True)
    assert handler.numbers[0] == 1


async def test_the_timeout_is_short_after_another_call_timed_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster, "OUTAGE_CALL_TIMEOUT", 0.01)
    unreachable = Cluster(Settings(kafka_bootstrap="127.0.0.1:1"), call_timeout=0.05)
    timeouts = [unreachable.current_timeout]
    for _ in range(2):
        with pytest.raises(OutageError):
            await unreachable.call_with_retries("answer", asyncio.Event().wait)
        timeouts.append(unreachable.current_timeout)

    async def answer() -> int:
        return 1

    await unreachable.call_with_retries("answer", answer)
    assert [*timeouts, unreachable.current_timeout] == [0.05, 0.01, 0.01, 0.05]


async def test_the_error_without_a_broker_names_its_address(kafka_harness: KafkaHarness) -> None:
    kafka_harness.settings = Settings(kafka_bootstrap="127.0.0.1:1")
    kafka_harness.call_timeout = 1.0
    with pytest.raises(OutageError, match=r"127\.0\.0\.1:1 .*RECOLLECT_KAFKA_BOOTSTRAP"):
        await kafka_harness.open()


@pytest.mark.parametrize("is_cancelled", [True, False])
async def test_consumers_whose_fetching_ends_begin_anew(
    kafka_harness: KafkaHarness,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    is_cancelled: bool,
) -> None:
    bus, topic = await kafka_harness.open(), kafka_harness.topic("fetching")
    handler, followed = RecordingHandler(), RecordingHandler()
    stage = Stage(kafka_harness.stage("fetching"), topic, handler.handle)
    running = asyncio.create_task(bus.run([stage]))
    async with bus.follow(topic, followed.handle) as follower:

        async def publish_and_wait(number: int) -> None:
            (position,) = await bus.publish(topic, numbered_events([number]))
            await bus.wait_until_consumed(stage.group, topic.name, position.partition, position.offset)
            await follower.catch_up()

        await publish_and_wait(1)
        fetching = _fetch_tasks()
        assert len(fetching) >= 2
        if is_cancelled:
            for task in fetching:
                task.cancel()
        else:
            with monkeypatch.context() as broken:
                broken.setattr(Fetcher, "_get_actions_per_node", _raise_unexpected_error)
                # A consumer without partitions sleeps through it.
                while sum(task.done() for task in fetching) < 2:
                    running_tasks = [task for task in fetching if not task.done()]
                    await asyncio.wait(running_tasks, return_when=asyncio.FIRST_COMPLETED)
        await publish_and_wait(2)
    running.cancel()
    await asyncio.wait([running])
    assert handler.numbers == followed.numbers == [1, 2]
    reason = "its task was cancelled" if is_cancelled else "not foreseen"
    assert any(f"no longer gets records from Kafka ({reason})" in line for line in caplog.messages)


def _fetch_tasks() -> list["asyncio.Task[None]"]:
    return [
        task
        for task in asyncio.all_tasks()
        if getattr(task.get_coro(), "__qualname__", "") == "Fetcher._fetch_requests_routine"
    ]


def _raise_unexpected_error(*_: object) -> None:
    raise RuntimeError("not foreseen")
