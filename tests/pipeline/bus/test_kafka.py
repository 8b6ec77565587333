"""Kafka: the contract of every bus, and what only a broker can promise."""

import asyncio
import gc
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
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
from pipeline.bus.kafka.topics import PARKED_BYTES, RECORD_BYTES
from pipeline.errors import RejectedError
from pipeline.records import Entry
from pipeline.stage import Record, Stage
from schemas.ids import partition
from schemas.topics import Topic
from tests.fakes import FixedClock
from tests.pipeline.bus.contract import QUICK, BusContract, Notebook, Noted, noted, spread
from tests.pipeline.bus.kafka import KafkaHarness
from tests.pipeline.bus.keeping import KeepingContract

pytestmark = [pytest.mark.anyio, pytest.mark.kafka]


@pytest.fixture
def harness(kafka_harness: KafkaHarness) -> KafkaHarness:
    return kafka_harness


class TestKafkaBus(BusContract, KeepingContract):
    """The contract, on a broker."""


def test_the_seams_of_faststream_are_where_the_adapter_expects_them() -> None:
    subscriber = KafkaBroker("nowhere:1").subscriber("t", batch=True, group_id="g")
    assert {"get_msg", "consume_one", "process_message"} <= set(dir(subscriber))


async def test_records_lie_where_the_one_rule_says(harness: KafkaHarness) -> None:
    bus, topic = await harness.open(), harness.topic("rule")
    keys = [f"space-{number % 9}#0/doc-{number}" for number in range(50)]
    published = await bus.publish(topic, [(key, Noted(number=1)) for key in keys])
    appended = await bus.append(topic.name, [Entry(key.encode(), b"{}", {}) for key in keys])
    expected = [partition(key.encode(), 4) for key in keys]
    assert [place.partition for place in published] == expected
    assert [place.partition for place in appended] == expected


async def test_a_single_topic_has_one_order(harness: KafkaHarness) -> None:
    bus = await harness.open()
    topic = Topic(harness.topic("single").name, Noted, single=True)
    places = await bus.publish(topic, spread(30))
    assert [(place.partition, place.offset) for place in places] == [(0, number) for number in range(30)]


async def test_many_at_once_keep_their_order_across_requests(harness: KafkaHarness) -> None:
    bus, topic = await harness.open(), harness.topic("many")
    large = "x" * 20_000
    entries = [Entry(b"key", f"{number} {large}".encode(), {}) for number in range(60)]
    places = await bus.append(topic.name, entries)
    assert [place.offset for place in places] == list(range(60))
    assert [record.value async for record in bus.read(topic.name)] == [entry.value for entry in entries]


async def test_the_largest_records_are_taken_and_larger_ones_refused_before_anything_is_written(
    harness: KafkaHarness,
) -> None:
    bus, topic, book = await harness.open(), harness.topic("large"), Notebook()
    large = Entry(b"key", b"x" * (RECORD_BYTES - 3), {})
    with pytest.raises(RejectedError, match="too large"):
        await bus.append(topic.name, [large, Entry(b"keys", large.value, {})])
    await bus.publish(topic, noted([1]))
    await bus.append(topic.name, [large])
    await bus.run([Stage(harness.stage("large"), topic, book.handle)], until_idle=True)
    (letter,) = await bus.dead_letters(topic.name)
    assert letter.record.value == large.value
    parked = Entry(b"key", b"x" * (PARKED_BYTES - 3), {})
    await bus.append(topic.dead_letters, [parked])
    *_, last = [record async for record in bus.read(topic.dead_letters)]
    assert last.value == parked.value


async def _send(bootstrap: str, topic: str, headers: Sequence[tuple[str, Any]]) -> None:
    """As another program does."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap)
    await producer.start()
    await producer.send_and_wait(topic, b'{"number": 7}', b"key", partition=0, headers=headers)
    await producer.stop()


async def test_a_header_that_is_no_text_is_parked_and_given_back_byte_for_byte(harness: KafkaHarness) -> None:
    bus, book = await harness.open(), Notebook()
    topic = Topic(harness.topic("header").name, Noted, single=True)
    await bus.publish(topic, noted([1]))
    await _send(harness.options.bootstrap, topic.name, [("bad", b"\xff\xfe"), ("good", b"yes")])
    await bus.publish(topic, noted([2]))
    await bus.run([Stage(harness.stage("header"), topic, book.handle)], until_idle=True)
    assert book.numbers == [1, 2]
    (letter,) = await bus.dead_letters(topic.name)
    assert (letter.error, letter.attempts) == ("the header bad is no UTF-8", 0)
    assert letter.record.headers["bad"].encode(errors="surrogateescape") == b"\xff\xfe"
    await bus.redrive(topic.name)
    *_, given_back = [record async for record in bus.read(topic.name)]
    assert given_back.headers["bad"].encode(errors="surrogateescape") == b"\xff\xfe"
    assert given_back.headers["good"] == "yes"


async def test_a_header_without_a_value_does_no_harm(harness: KafkaHarness) -> None:
    bus, book = await harness.open(), Notebook()
    topic = Topic(harness.topic("null").name, Noted, single=True)
    await bus.publish(topic, noted([1]))
    await _send(harness.options.bootstrap, topic.name, [("nothing", None)])
    await bus.run([Stage(harness.stage("null"), topic, book.handle)], until_idle=True)
    assert book.numbers == [1, 7]


async def test_a_compacted_topic_is_read_and_followed_through_its_gaps(harness: KafkaHarness) -> None:
    bus, book, followed = await harness.open(), Notebook(), Notebook()
    topic = Topic(harness.topic("compacted").name, Noted, compacted=True, single=True)
    await bus.publish(topic, noted([0]))
    await _compact_soon(harness.options.bootstrap, topic.name)
    number, kept = 0, list(range(10))
    while len(kept) > number // 2 or number < 40:
        number += 1
        await bus.publish(topic, noted([number], key=f"key-{number % 3}"))
        kept = [Noted.model_validate_json(one.value).number async for one in bus.read(topic.name)]
    assert max(kept) == number
    stage = Stage(harness.stage("compacted"), topic, book.handle)
    await bus.run([stage], until_idle=True)
    assert set((await bus.lag())[stage.group].values()) == {0}
    assert book.numbers[-1] == number
    async with bus.follow(topic, followed.handle) as follower:
        await follower.current()
    assert followed.numbers[-1] == number
    assert len(followed.numbers) < number


async def _compact_soon(bootstrap: str, topic: str) -> None:
    """Kafka never compacts the segment that is being written: make segments short."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    wanted = {
        "cleanup.policy": "compact", "segment.ms": "50", "min.cleanable.dirty.ratio": "0.01",
        "max.compaction.lag.ms": "50", "min.compaction.lag.ms": "0",
    }  # fmt: skip
    await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, wanted)])
    await admin.close()


async def test_what_is_really_handled_is_measured_and_traced(harness: KafkaHarness) -> None:
    registry, spans = CollectorRegistry(), InMemorySpanExporter()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    bus = await KafkaBus.open(
        harness.options, clock=FixedClock(), patience=QUICK, topics=[], registry=registry, tracers=tracers
    )
    harness.buses.append(bus)
    topic, begun, gate = harness.topic("measured"), asyncio.Event(), asyncio.Event()

    async def handle(batch: Sequence[Record[Noted]]) -> None:
        begun.set()
        await gate.wait()

    def measured(name: str) -> float:
        return sum(
            sample.value
            for metric in registry.collect()
            for sample in metric.samples
            if sample.name == f"faststream_{name}" and topic.name in sample.labels.values()
        )

    await bus.publish(topic, noted(range(6)))
    assert measured("published_messages_total") == 6
    running = asyncio.create_task(bus.run([Stage(harness.stage("measured"), topic, handle)], until_idle=True))
    await begun.wait()
    assert measured("received_messages_in_process") == 6
    gate.set()
    await running
    assert measured("received_messages_in_process") == 0
    assert measured("received_processed_messages_total") == 6
    names = Counter(span.name for span in spans.get_finished_spans())
    assert names[f"{topic.name} publish"] == 6
    assert names[f"{topic.name} process"] == 1


async def test_who_is_cancelled_while_it_connects_leaves_no_connection_open(
    harness: KafkaHarness, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    bus, topic, asked = await harness.open(), harness.topic("hasty"), asyncio.Event()
    await bus.publish(topic, noted([1]))
    send = AIOKafkaConnection.send

    def noticed(connection: AIOKafkaConnection, request: Any, *rest: Any, **given: Any) -> Any:
        if isinstance(request, MetadataRequest):
            asked.set()
        return send(connection, request, *rest, **given)

    monkeypatch.setattr(AIOKafkaConnection, "send", noticed)
    for connecting in (
        bus.run([Stage(harness.stage("hasty"), topic, Notebook().handle)]),
        _first(bus, topic),
    ):
        asked.clear()
        running = asyncio.create_task(connecting)
        await asyncio.wait([running, asyncio.create_task(asked.wait())], return_when=asyncio.FIRST_COMPLETED)
        running.cancel()
        await asyncio.wait([running])
        assert running.cancelled()
    gc.collect()
    assert [str(one.message) for one in recwarn if one.category is ResourceWarning] == []


async def _first(bus: KafkaBus, topic: Topic[Noted]) -> None:
    async for _ in bus.read(topic.name):
        return
