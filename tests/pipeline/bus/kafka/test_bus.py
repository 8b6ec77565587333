"""Kafka bus: the contract of every bus, partitioning, size limits, metrics and tracing."""

import asyncio
import gc
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.conn import AIOKafkaConnection
from aiokafka.protocol.metadata import MetadataRequest
from faststream.kafka import KafkaBroker
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry

from pipeline.bus.kafka.bus import KafkaBus
from pipeline.bus.kafka.record_conversion import event_key
from pipeline.bus.kafka.topic_admin import MAX_DEAD_LETTER_BYTES, MAX_RECORD_BYTES
from pipeline.bus.records import ProducerRecord
from pipeline.errors import RejectedError
from pipeline.stage import Record, Stage
from schemas.ids import partition
from schemas.topics import Topic
from tests.pipeline.bus.bus_contract import (
    FAST_RETRIES,
    BusContract,
    NumberedEvent,
    RecordingHandler,
    events_across_keys,
    numbered_events,
)
from tests.pipeline.bus.kafka_harness import KafkaHarness
from tests.pipeline.bus.positions_contract import PositionsContract
from tests.support.fakes import FixedClock

pytestmark = [pytest.mark.anyio, pytest.mark.kafka]


@pytest.fixture
def harness(kafka_harness: KafkaHarness) -> KafkaHarness:
    return kafka_harness


class TestKafkaBus(BusContract, PositionsContract):
    """The contract, on a Kafka broker."""


def test_faststream_has_the_methods_that_the_subscriber_replaces() -> None:
    subscriber = KafkaBroker("nowhere:1").subscriber("t", batch=True, group_id="g")
    assert {"get_msg", "consume_one", "process_message"} <= set(dir(subscriber))


async def test_records_are_partitioned_by_key(harness: KafkaHarness) -> None:
    bus, topic = await harness.open(), harness.topic("rule")
    keys = [f"space-{number % 9}#0/doc-{number}" for number in range(50)]
    published = await bus.publish(topic, [(key, NumberedEvent(number=1)) for key in keys])
    appended = await bus.append(topic.name, [ProducerRecord(key.encode(), b"{}", {}) for key in keys])
    expected = [partition(key.encode(), 4) for key in keys]
    assert [position.partition for position in published] == expected
    assert [position.partition for position in appended] == expected


async def test_a_topic_with_a_single_partition_has_a_total_order(harness: KafkaHarness) -> None:
    bus = await harness.open()
    topic = Topic(harness.topic("single").name, NumberedEvent, single_partition=True)
    positions = await bus.publish(topic, events_across_keys(30))
    assert [(position.partition, position.offset) for position in positions] == [(0, number) for number in range(30)]


async def test_a_large_append_keeps_its_order_across_requests(harness: KafkaHarness) -> None:
    bus, topic = await harness.open(), harness.topic("many")
    large = "x" * 20_000
    entries = [ProducerRecord(b"key", f"{number} {large}".encode(), {}) for number in range(60)]
    positions = await bus.append(topic.name, entries)
    assert [position.offset for position in positions] == list(range(60))
    assert [record.value async for record in bus.read(topic.name)] == [entry.value for entry in entries]


async def test_a_record_above_the_size_limit_is_rejected_before_anything_is_written(
    harness: KafkaHarness,
) -> None:
    bus, topic, handler = await harness.open(), harness.topic("large"), RecordingHandler()
    large = ProducerRecord(b"key", b"x" * (MAX_RECORD_BYTES - 3), {})
    with pytest.raises(RejectedError, match="too large"):
        await bus.append(topic.name, [large, ProducerRecord(b"keys", large.value, {})])
    await bus.publish(topic, numbered_events([1]))
    await bus.append(topic.name, [large])
    await bus.run([Stage(harness.stage("large"), topic, handler.handle)], until_idle=True)
    (letter,) = await bus.dead_letters(topic.name)
    assert letter.record.value == large.value
    large_letter = ProducerRecord(b"key", b"x" * (MAX_DEAD_LETTER_BYTES - 3), {})
    await bus.append(topic.dead_letter_topic, [large_letter])
    *_, last = [record async for record in bus.read(topic.dead_letter_topic)]
    assert last.value == large_letter.value
    # Without the headers of a dead letter, as another program would write it.
    assert [each.id for each in await bus.dead_letters(topic.name)] == [letter.id]


async def _send(bootstrap: str, topic: str, headers: Sequence[tuple[str, Any]]) -> None:
    """Send a record as another program would."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap)
    await producer.start()
    await producer.send_and_wait(topic, b'{"number": 7}', b"key", partition=0, headers=headers)
    await producer.stop()


async def test_a_header_that_is_not_utf8_is_dead_lettered_and_redriven_byte_for_byte(
    harness: KafkaHarness,
) -> None:
    bus, handler = await harness.open(), RecordingHandler()
    topic = Topic(harness.topic("header").name, NumberedEvent, single_partition=True)
    await bus.publish(topic, numbered_events([1]))
    await _send(harness.bootstrap, topic.name, [("bad", b"\xff\xfe"), ("good", b"yes")])
    await bus.publish(topic, numbered_events([2]))
    await bus.run([Stage(harness.stage("header"), topic, handler.handle)], until_idle=True)
    assert handler.numbers == [1, 2]
    (letter,) = await bus.dead_letters(topic.name)
    assert (letter.error, letter.attempts) == ("the header bad is not UTF-8", 0)
    assert letter.record.headers["bad"].encode(errors="surrogateescape") == b"\xff\xfe"
    await bus.redrive(topic.name)
    *_, redriven = [record async for record in bus.read(topic.name)]
    assert redriven.headers["bad"].encode(errors="surrogateescape") == b"\xff\xfe"
    assert redriven.headers["good"] == "yes"


async def test_a_header_without_a_value_is_accepted(harness: KafkaHarness) -> None:
    bus, handler = await harness.open(), RecordingHandler()
    topic = Topic(harness.topic("null").name, NumberedEvent, single_partition=True)
    await bus.publish(topic, numbered_events([1]))
    await _send(harness.bootstrap, topic.name, [("nothing", None)])
    await bus.run([Stage(harness.stage("null"), topic, handler.handle)], until_idle=True)
    assert handler.numbers == [1, 7]


async def test_a_compacted_topic_is_consumed_and_followed_across_gaps(harness: KafkaHarness) -> None:
    bus, handler, followed = await harness.open(), RecordingHandler(), RecordingHandler()
    topic = Topic(harness.topic("compacted").name, NumberedEvent, compacted=True, single_partition=True)
    await bus.publish(topic, numbered_events([0]))
    await _compact_soon(harness.bootstrap, topic.name)
    number, remaining = 0, list(range(10))
    while len(remaining) > number // 2 or number < 40:
        number += 1
        await bus.publish(topic, numbered_events([number], key=f"key-{number % 3}"))
        remaining = [NumberedEvent.model_validate_json(record.value).number async for record in bus.read(topic.name)]
    assert max(remaining) == number
    stage = Stage(harness.stage("compacted"), topic, handler.handle)
    await bus.run([stage], until_idle=True)
    assert set((await bus.lag())[stage.group].values()) == {0}
    assert handler.numbers[-1] == number
    async with bus.follow(topic, followed.handle) as follower:
        await follower.catch_up()
    assert followed.numbers[-1] == number
    assert len(followed.numbers) < number


async def test_every_record_has_a_key_of_its_own_and_tombstones_are_skipped(harness: KafkaHarness) -> None:
    bus, handler, followed = await harness.open(), RecordingHandler(), RecordingHandler()
    topic = Topic(harness.topic("tombstones").name, NumberedEvent, single_partition=True)
    await bus.publish(topic, numbered_events(range(3), key="home#0"))
    keys = await _keys_on_the_wire(harness.bootstrap, topic.name)
    assert len(set(keys)) == 3
    assert {event_key(key) for key in keys} == {b"home#0"}
    await _send_tombstone(harness.bootstrap, topic.name, keys[1])
    assert [record.key async for record in bus.read(topic.name)] == [b"home#0"] * 3
    stage = Stage(harness.stage("tombstones"), topic, handler.handle)
    await bus.run([stage], until_idle=True)
    assert handler.numbers == [0, 1, 2]
    assert set((await bus.lag())[stage.group].values()) == {0}
    async with bus.follow(topic, followed.handle) as follower:
        await follower.catch_up()
    assert followed.numbers == [0, 1, 2]
    assert not await bus.dead_letters(topic.name)


async def _keys_on_the_wire(bootstrap: str, topic: str) -> list[bytes]:
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    async with consumer:
        end = sum((await consumer.end_offsets(consumer.assignment())).values())
        return [(await consumer.getone()).key for _ in range(end)]


async def _send_tombstone(bootstrap: str, topic: str, key: bytes) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
        await producer.send_and_wait(topic, None, key=key, partition=0)


async def _compact_soon(bootstrap: str, topic: str) -> None:
    """Shorten segments: Kafka never compacts the active one."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    settings = {
        "cleanup.policy": "compact", "segment.ms": "50", "min.cleanable.dirty.ratio": "0.01",
        "max.compaction.lag.ms": "50", "min.compaction.lag.ms": "0",
    }  # fmt: skip
    await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, settings)])
    await admin.close()


async def test_metrics_and_spans_cover_the_handling_of_batches(harness: KafkaHarness) -> None:
    registry, spans = CollectorRegistry(), InMemorySpanExporter()
    tracer_provider = TracerProvider()
    tracer_provider.add_span_processor(SimpleSpanProcessor(spans))
    bus = await KafkaBus.open(
        harness.settings,
        clock=FixedClock(),
        retry_policy=FAST_RETRIES,
        topics=[],
        registry=registry,
        tracer_provider=tracer_provider,
    )
    harness.buses.append(bus)
    topic, started, gate = harness.topic("measured"), asyncio.Event(), asyncio.Event()

    async def handle(batch: Sequence[Record[NumberedEvent]]) -> None:
        started.set()
        await gate.wait()

    def metric_value(name: str) -> float:
        return sum(
            sample.value
            for metric in registry.collect()
            for sample in metric.samples
            if sample.name == f"faststream_{name}" and topic.name in sample.labels.values()
        )

    await bus.publish(topic, numbered_events(range(6)))
    assert metric_value("published_messages_total") == 6
    running = asyncio.create_task(bus.run([Stage(harness.stage("measured"), topic, handle)], until_idle=True))
    await started.wait()
    assert metric_value("received_messages_in_process") == 6
    gate.set()
    await running
    assert metric_value("received_messages_in_process") == 0
    assert metric_value("received_processed_messages_total") == 6
    names = Counter(span.name for span in spans.get_finished_spans())
    assert names[f"{topic.name} publish"] == 6
    assert names[f"{topic.name} process"] == 1


async def test_cancelling_while_connecting_leaks_no_connection(
    harness: KafkaHarness, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    bus, topic, requested = await harness.open(), harness.topic("hasty"), asyncio.Event()
    await bus.publish(topic, numbered_events([1]))
    send = AIOKafkaConnection.send

    def observed_send(connection: AIOKafkaConnection, request: Any, *rest: Any, **options: Any) -> Any:
        if isinstance(request, MetadataRequest):
            requested.set()
        return send(connection, request, *rest, **options)

    monkeypatch.setattr(AIOKafkaConnection, "send", observed_send)
    for operation in (
        bus.run([Stage(harness.stage("hasty"), topic, RecordingHandler().handle)]),
        _first(bus, topic),
    ):
        requested.clear()
        running = asyncio.create_task(operation)
        await asyncio.wait([running, asyncio.create_task(requested.wait())], return_when=asyncio.FIRST_COMPLETED)
        running.cancel()
        await asyncio.wait([running])
        assert running.cancelled()
    gc.collect()
    assert [str(warning.message) for warning in recwarn if warning.category is ResourceWarning] == []


async def _first(bus: KafkaBus, topic: Topic[NumberedEvent]) -> None:
    async for _ in bus.read(topic.name):
        return
