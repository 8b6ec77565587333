"""Reaching a Kafka cluster: its address, its secrets, its clients, and what their errors mean here."""

import asyncio
import ssl
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import KafkaError
from faststream.kafka.security import parse_security
from faststream.security import BaseSecurity, SASLPlaintext, SASLScram256, SASLScram512

from pipeline.errors import OutageError

T = TypeVar("T")
Protocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
_SASL = {"PLAIN": SASLPlaintext, "SCRAM-SHA-256": SASLScram256, "SCRAM-SHA-512": SASLScram512}
RETRY_SECONDS = 0.1
MOMENT_SECONDS = 1.0
SHORT_PATIENCE = 3.0
"""Seconds that a call may take while the cluster is known to be away."""
AWAY_SECONDS = 30.0
"""So long it counts as away after a call that waited in vain, unless one succeeds."""
READ_BYTES = 4 * 1024 * 1024
"""What a read may hold of one partition at a time."""


class KafkaUnavailableError(OutageError):
    """Kafka did not answer, or not as hoped. Nothing was acknowledged."""


class KafkaOpenError(ValueError):
    """Kafka can't be used as it is; the message is for the operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaOptions:
    """How to reach a cluster, and what its topics should be like. Times in seconds."""

    bootstrap: str
    partitions: int = 16
    replication: int = 1
    min_insync_replicas: int = 1
    keep_days: int = 7
    """How long at least a topic is kept that another one brings forth again: Kafka waits for no reader."""
    protocol: Protocol = "PLAINTEXT"
    mechanism: Mechanism = "PLAIN"
    username: str = ""
    password: str = field(default="", repr=False)
    ca_file: str | None = None
    session: float = 30.0
    """A member that was not heard of for so long loses its partitions."""
    patience: float = 15.0
    """How long a call may take before it is an outage."""

    def security(self) -> BaseSecurity:
        """As FastStream takes it; OSError and ssl.SSLError when the certificates can't be read."""
        encrypted = self.protocol.endswith("SSL")
        context = ssl.create_default_context(cafile=self.ca_file) if encrypted else None
        if not self.protocol.startswith("SASL"):
            return BaseSecurity(ssl_context=context, use_ssl=encrypted)
        kind = _SASL[self.mechanism]
        return kind(username=self.username, password=self.password, ssl_context=context, use_ssl=encrypted)


class Cluster:
    """Makes clients, and keeps the two that are asked now and then: one for topics, one for offsets."""

    def __init__(self, options: KafkaOptions) -> None:
        self.options = options
        self.security = options.security()
        # Partitions are handed out in the order of members' names: so each process gets the same ones of
        # every topic, and a space is worked on in one process.
        self.name = f"recollect-{uuid.uuid4().hex[:12]}"
        self._away_until = 0.0
        self._lock = asyncio.Lock()
        self._admin: AIOKafkaAdminClient | None = None
        self._reader: AIOKafkaConsumer | None = None

    @property
    def patience(self) -> float:
        """Seconds that a call may take now."""
        away = asyncio.get_running_loop().time() < self._away_until
        return min(self.options.patience, SHORT_PATIENCE) if away else self.options.patience

    async def admin(self) -> AIOKafkaAdminClient:
        """The client for topics and groups."""
        async with self._lock:
            if self._admin is None:
                admin = AIOKafkaAdminClient(**self._common())
                try:
                    await begun(admin.start())
                except BaseException:
                    await admin.close()
                    raise
                self._admin = admin
            return self._admin

    async def reader(self) -> AIOKafkaConsumer:
        """A consumer of nothing, for asking where partitions begin and end."""
        async with self._lock:
            if self._reader is None:
                self._reader = await self._started(self._consumer())
            return self._reader

    @asynccontextmanager
    async def reading(self, positions: dict[TopicPartition, int]) -> AsyncIterator[AIOKafkaConsumer]:
        """A consumer of these partitions from these offsets on, in no group."""
        consumer = await self._started(self._consumer())
        try:
            consumer.assign(list(positions))
            for partition, offset in positions.items():
                consumer.seek(partition, offset)
            yield consumer
        finally:
            await consumer.stop()

    @asynccontextmanager
    async def placing(self, group: str, partitions: list[TopicPartition]) -> AsyncIterator[AIOKafkaConsumer]:
        """A consumer that may commit for a group without members, reading nothing."""
        consumer = self._consumer(group_id=group)
        consumer.assign(partitions)
        await self._started(consumer)
        try:
            yield consumer
        finally:
            await consumer.stop()

    @asynccontextmanager
    async def client(self) -> AsyncIterator[AIOKafkaClient]:
        """For requests that no other client has a call for."""
        client = AIOKafkaClient(**self._common())
        try:
            await begun(client.bootstrap())
            yield client
        finally:
            await client.close()

    async def producer(self, most_bytes: int) -> AIOKafkaProducer:
        """A producer of raw bytes, up to so many in a record, that loses and repeats nothing."""
        producer = AIOKafkaProducer(**self._common(), **PRODUCER, max_request_size=most_bytes)
        try:
            await begun(producer.start())
        except BaseException:
            await producer.stop()
            raise
        return producer

    async def close(self) -> None:
        if self._reader is not None:
            await self._reader.stop()
        if self._admin is not None:
            await self._admin.close()

    @contextmanager
    def outages(self, doing: str) -> Iterator[None]:
        """What goes wrong inside is an outage: of Kafka, or of the way to it."""
        try:
            yield
        except (KafkaError, TimeoutError, ConnectionError) as error:
            reason = str(error) or type(error).__name__
            raise KafkaUnavailableError(
                f"Kafka at {self.options.bootstrap} could not {doing}: {reason}."
            ) from error

    @asynccontextmanager
    async def bounded(self, doing: str) -> AsyncIterator[None]:
        """The same, and it may not take for ever; only a moment where others have just waited in vain."""
        seconds = self.patience
        with self.outages(doing):
            try:
                async with asyncio.timeout(seconds):
                    yield
            except TimeoutError:
                if seconds == self.options.patience:
                    self._away_until = asyncio.get_running_loop().time() + AWAY_SECONDS
                raise
        self._away_until = 0.0

    async def ask(self, doing: str, question: Callable[[], Awaitable[T]]) -> T:
        """The answer, asked for again while the cluster only needs a moment: a new leader, a new group."""
        async with self.bounded(doing):
            while True:
                try:
                    return await question()
                except KafkaError as error:
                    if not error.retriable:
                        raise
                await asyncio.sleep(RETRY_SECONDS)

    def _consumer(self, **given: Any) -> AIOKafkaConsumer:
        return AIOKafkaConsumer(
            **self._common(),
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=READ_BYTES,
            **given,
        )

    async def _started(self, consumer: AIOKafkaConsumer) -> AIOKafkaConsumer:
        try:
            await begun(consumer.start())
        except BaseException:
            await consumer.stop()
            raise
        return consumer

    def _common(self) -> dict[str, Any]:
        return {
            "bootstrap_servers": self.options.bootstrap,
            "client_id": self.name,
            "request_timeout_ms": milliseconds(self.options.patience),
            **parse_security(self.security),
        }


PRODUCER: dict[str, Any] = {
    "acks": "all",
    "enable_idempotence": True,
    "max_batch_size": 256 * 1024,
    "linger_ms": 0,
}


async def begun(start: Coroutine[Any, Any, object]) -> None:
    """Start a client, and let it start for a moment more where that is cancelled.

    aiokafka forgets a connection, and leaves it open, where it is cancelled before the first answer on it.
    """
    starting = asyncio.create_task(start)
    try:
        await asyncio.shield(starting)
    except asyncio.CancelledError:
        await asyncio.wait([starting], timeout=MOMENT_SECONDS)
        starting.cancel()
        # Whatever became of it: who began it does not want it any more.
        await asyncio.gather(starting, return_exceptions=True)
        raise


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
