"""Writing to Kafka: idempotent, on all replicas in sync, to the partition of the record's space."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError
from aiokafka.structs import RecordMetadata
from faststream.kafka import KafkaBroker

from pipeline.bus.kafka.cluster import Cluster, KafkaUnavailableError
from pipeline.bus.kafka.topics import OVERHEAD_BYTES, PARKED_BYTES, Topics, most_bytes
from pipeline.errors import OutageError, RejectedError
from pipeline.ports import Position
from pipeline.records import Entry
from schemas.ids import partition

log = logging.getLogger(__name__)

Sent = asyncio.Future[RecordMetadata]
Send = Callable[[str, Entry, int], Awaitable[Sent]]
"""Hands a record to a producer; what it returns resolves when all replicas in sync have it."""
_HEADERS = {"content-type": "application/json"}


class Publishing:
    """Events through FastStream, which traces and counts them; raw bytes as they are."""

    def __init__(self, cluster: Cluster, topics: Topics, connect: Callable[[], KafkaBroker]) -> None:
        self._cluster = cluster
        self._topics = topics
        patience = cluster.options.patience
        self._events = _Outlet(lambda: _Events.open(cluster, connect()), patience)
        self._bytes = _Outlet(lambda: _Bytes.open(cluster), patience)
        self.trouble: str | None = None
        """Why the last records could not be written; None: they were."""

    async def events(self, topic: str, entries: Sequence[Entry]) -> list[Position]:
        return await self._write(self._events, topic, entries)

    async def raw(self, topic: str, entries: Sequence[Entry]) -> list[Position]:
        return await self._write(self._bytes, topic, entries)

    async def start(self) -> None:
        """Connect, so that the first who writes need not wait for it."""
        async with self._cluster.bounded("take records"):
            await self._events.open()

    async def close(self) -> None:
        await self._events.close()
        await self._bytes.close()

    async def _write(self, outlet: "_Outlet", topic: str, entries: Sequence[Entry]) -> list[Position]:
        if not entries:
            return []
        for entry in entries:
            _see_that_it_fits(topic, entry)
        try:
            positions = await self._placed(outlet, topic, entries)
        except OutageError as error:
            self.trouble = str(error)
            raise
        self.trouble = None
        return positions

    async def _placed(self, outlet: "_Outlet", topic: str, entries: Sequence[Entry]) -> list[Position]:
        count = await self._topics.partitions(topic)
        async with self._cluster.bounded(f"take records of {topic}"):
            try:
                return await self._send(await outlet.open(), topic, count, entries)
            except KafkaError as error:
                # What is no passing thing leaves an idempotent producer unable to go on.
                if not error.retriable:
                    log.warning("A new producer after: %r", error)
                    await outlet.close()
                raise

    async def _send(self, send: Send, topic: str, count: int, entries: Sequence[Entry]) -> list[Position]:
        """One after the other, so that they keep their order; they travel together all the same."""
        sent: list[Sent] = []
        try:
            for entry in entries:
                sent += [await send(topic, entry, partition(entry.key, count))]
        finally:
            # Waited for in any case: what was handed over may be written.
            placed = await asyncio.gather(*sent)
        return [self._position(one) for one in placed]

    def _position(self, placed: RecordMetadata) -> Position:
        if placed.offset < 0:
            raise KafkaUnavailableError(
                f"Kafka at {self._cluster.options.bootstrap} has a record of {placed.topic}, but no longer"
                " knows where. Sending it again changes nothing but that."
            )
        return Position(placed.partition, placed.offset)


def _see_that_it_fits(topic: str, entry: Entry) -> None:
    headers = sum(len(name) + len(value.encode(errors="replace")) for name, value in entry.headers.items())
    size, most = len(entry.key) + len(entry.value) + headers, most_bytes(topic)
    if size > most:
        raise RejectedError(f"A record of {size} bytes is too large for {topic}: Kafka takes {most}.")


class _Events:
    """FastStream's producer."""

    def __init__(self, broker: KafkaBroker) -> None:
        self._broker = broker

    @classmethod
    async def open(cls, cluster: Cluster, broker: KafkaBroker) -> "_Events":
        # FastStream does not close a producer that could not start: see first that it can.
        await (await cluster.admin()).describe_cluster()
        await broker.start()
        return cls(broker)

    async def send(self, topic: str, entry: Entry, place: int) -> Sent:
        return await self._broker.publish(
            entry.value,
            topic,
            key=entry.key,
            partition=place,
            headers={**_HEADERS, **entry.headers},
            no_confirm=True,
        )

    async def close(self) -> None:
        await self._broker.stop()


class _Bytes:
    """aiokafka's own: FastStream would add headers to what is given back or parked."""

    def __init__(self, producer: AIOKafkaProducer) -> None:
        self._producer = producer

    @classmethod
    async def open(cls, cluster: Cluster) -> "_Bytes":
        return cls(await cluster.producer(PARKED_BYTES + OVERHEAD_BYTES))

    async def send(self, topic: str, entry: Entry, place: int) -> Sent:
        headers = [(name, value.encode(errors="surrogateescape")) for name, value in entry.headers.items()]
        sent: Sent = await self._producer.send(
            topic, entry.value, entry.key, partition=place, headers=headers
        )
        return sent

    async def close(self) -> None:
        await self._producer.stop()


class _Outlet:
    """A producer that is opened when it is needed, and anew after it was closed."""

    def __init__(self, make: Callable[[], Awaitable["_Events | _Bytes"]], patience: float) -> None:
        self._make = make
        self._patience = patience
        self._open: Any = None
        self._closing: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()

    async def open(self) -> Send:
        async with self._lock:
            if self._open is None:
                self._open = await self._make()
            send: Send = self._open.send
            return send

    async def close(self) -> None:
        async with self._lock:
            opened, self._open = self._open, None
            if opened is None:
                return
            # It first sends what it has: while Kafka is away that goes on, and nobody waits for it.
            self._closing = asyncio.create_task(opened.close())
            await asyncio.wait([self._closing], timeout=self._patience)
            if not self._closing.done():
                log.warning("Kafka is away and has not taken everything; none of that was acknowledged.")
