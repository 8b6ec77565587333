"""Producers: idempotent, acknowledged by all in-sync replicas, partitioned by the record's incarnation."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aiokafka.errors import KafkaError
from aiokafka.structs import RecordMetadata
from faststream.kafka import KafkaBroker

from pipeline.bus.kafka.cluster import Cluster, KafkaUnavailableError
from pipeline.bus.kafka.record_conversion import unique_key
from pipeline.bus.kafka.topic_admin import MAX_DEAD_LETTER_BYTES, RECORD_OVERHEAD_BYTES, TopicAdmin, max_record_bytes
from pipeline.bus.records import ProducerRecord
from pipeline.errors import OutageError, RejectedError
from pipeline.ports import Position
from schemas.ids import partition

log = logging.getLogger(__name__)

PendingSend = asyncio.Future[RecordMetadata]
SendRecord = Callable[[str, "KafkaRecord"], Awaitable[PendingSend]]
"""Queues a record in a producer; the future resolves when all in-sync replicas have it."""
_EVENT_HEADERS = {"content-type": "application/json"}


@dataclass(frozen=True, slots=True)
class KafkaRecord:
    """A record as Kafka stores it."""

    partition: int
    key: bytes
    value: bytes
    headers: Mapping[str, str]


class KafkaProducers:
    """Producer of events through FastStream, for its metrics and spans, and of raw records without it."""

    def __init__(self, cluster: Cluster, topics: TopicAdmin, connect: Callable[[], KafkaBroker]) -> None:
        self._cluster = cluster
        self._topic_admin = topics
        timeout = cluster.call_timeout
        self._event_producer = _LazyProducer(lambda: _open_event_producer(cluster, connect()), timeout)
        self._raw_producer = _LazyProducer(lambda: _open_raw_producer(cluster), timeout)
        self.health_issue: str | None = None
        """Error of the last write; None if it succeeded."""

    async def send_events(self, topic: str, entries: Sequence[ProducerRecord]) -> list[Position]:
        return await self._write_entries(self._event_producer, topic, entries)

    async def send_raw(self, topic: str, entries: Sequence[ProducerRecord]) -> list[Position]:
        return await self._write_entries(self._raw_producer, topic, entries)

    async def start(self) -> None:
        """Connect now rather than at the first write."""
        async with self._cluster.deadline("take records"):
            await self._event_producer.open()

    async def close(self) -> None:
        await self._event_producer.close()
        await self._raw_producer.close()

    async def _write_entries(
        self, producer: "_LazyProducer", topic: str, entries: Sequence[ProducerRecord]
    ) -> list[Position]:
        if not entries:
            return []
        for entry in entries:
            _check_record_size(topic, entry)
        count = await self._topic_admin.partition_count(topic)
        key_of = bytes if self._topic_admin.keeps_newest_per_key(topic) else unique_key
        records = [
            KafkaRecord(partition(entry.key, count), key_of(entry.key), entry.value, entry.headers) for entry in entries
        ]
        return await self._write(producer, topic, records)

    async def _write(self, producer: "_LazyProducer", topic: str, records: Sequence[KafkaRecord]) -> list[Position]:
        try:
            positions = await self._send_within_deadline(producer, topic, records)
        except OutageError as error:
            self.health_issue = str(error)
            raise
        self.health_issue = None
        return positions

    async def _send_within_deadline(
        self, producer: "_LazyProducer", topic: str, records: Sequence[KafkaRecord]
    ) -> list[Position]:
        async with self._cluster.deadline(f"take records of {topic}"):
            try:
                return await self._send(await producer.open(), topic, records)
            except KafkaError as error:
                # An idempotent producer can't continue after a fatal error.
                if not error.retriable:
                    log.warning("The producer is replaced after a fatal error: %r", error)
                    await producer.close()
                raise

    async def _send(self, send: SendRecord, topic: str, records: Sequence[KafkaRecord]) -> list[Position]:
        """Queue records in order, which are sent in batches, and wait until all are acknowledged."""
        sent: list[PendingSend] = []
        try:
            for record in records:
                sent += [await send(topic, record)]
        finally:
            # Wait even after an error: queued records may still be written.
            acknowledged = await asyncio.gather(*sent)
        return [self._acknowledged_position(metadata) for metadata in acknowledged]

    def _acknowledged_position(self, metadata: RecordMetadata) -> Position:
        if metadata.offset < 0:
            raise KafkaUnavailableError(
                f"Kafka at {self._cluster.bootstrap} has a record of {metadata.topic}, but no longer"
                " knows its offset. Send it again: a duplicate has no effect."
            )
        return Position(metadata.partition, metadata.offset)


def _check_record_size(topic: str, entry: ProducerRecord) -> None:
    headers = sum(len(name) + len(value.encode(errors="replace")) for name, value in entry.headers.items())
    size, limit = len(entry.key) + len(entry.value) + headers, max_record_bytes(topic)
    if size > limit:
        raise RejectedError(f"A record of {size} bytes is too large for {topic}: the limit is {limit}.")


@dataclass(frozen=True, slots=True)
class _Producer:
    send: SendRecord
    close: Callable[[], Coroutine[Any, Any, None]]


async def _open_event_producer(cluster: Cluster, broker: KafkaBroker) -> _Producer:
    """Open a producer of FastStream, with its middlewares."""
    # FastStream leaks a producer that fails to start, so test the connection first.
    await (await cluster.admin()).describe_cluster()
    await broker.start()

    async def send(topic: str, record: KafkaRecord) -> PendingSend:
        return await broker.publish(
            record.value,
            topic,
            key=record.key,
            partition=record.partition,
            headers={**_EVENT_HEADERS, **record.headers},
            no_confirm=True,
        )

    return _Producer(send, broker.stop)


async def _open_raw_producer(cluster: Cluster) -> _Producer:
    """Open a producer of aiokafka: FastStream would add headers to dead letters and redriven records."""
    producer = await cluster.raw_producer(MAX_DEAD_LETTER_BYTES + RECORD_OVERHEAD_BYTES)

    async def send(topic: str, record: KafkaRecord) -> PendingSend:
        headers = [(name, value.encode(errors="surrogateescape")) for name, value in record.headers.items()]
        pending: PendingSend = await producer.send(
            topic, record.value, record.key, partition=record.partition, headers=headers
        )
        return pending

    return _Producer(send, producer.stop)


class _LazyProducer:
    """Producer that is opened on first use, and again after it was closed."""

    def __init__(self, open_producer: Callable[[], Awaitable[_Producer]], close_timeout: float) -> None:
        self._open_producer = open_producer
        self._close_timeout = close_timeout
        self._producer: _Producer | None = None
        self._closing: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()

    async def open(self) -> SendRecord:
        async with self._lock:
            if self._producer is None:
                self._producer = await self._open_producer()
            return self._producer.send

    async def close(self) -> None:
        async with self._lock:
            producer, self._producer = self._producer, None
            if producer is None:
                return
            # Closing first flushes the queue, which never ends during an outage.
            self._closing = asyncio.create_task(producer.close())
            await asyncio.wait([self._closing], timeout=self._close_timeout)
            if not self._closing.done():
                log.warning("Kafka does not answer: queued records may be lost; none of them was acknowledged.")
