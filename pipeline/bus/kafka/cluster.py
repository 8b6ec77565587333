"""Clients of a Kafka cluster, and the translation of their errors."""

import asyncio
import ssl
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import KafkaError
from faststream.kafka.security import parse_security
from faststream.security import BaseSecurity, SASLPlaintext, SASLScram256, SASLScram512

from pipeline.bus.kafka.reconnects import quiet_reconnects
from pipeline.errors import OutageError, reason_of
from pipeline.settings import Settings

T = TypeVar("T")
_SASL_CLASSES = {"PLAIN": SASLPlaintext, "SCRAM-SHA-256": SASLScram256, "SCRAM-SHA-512": SASLScram512}
RETRY_SECONDS = 0.1
START_GRACE_SECONDS = 1.0
CALL_TIMEOUT = 15.0
"""Time, in seconds, after which a call counts as an outage."""
OUTAGE_CALL_TIMEOUT = 3.0
"""Timeout of a call, in seconds, while the cluster is known to be unreachable."""
OUTAGE_MEMORY_SECONDS = 30.0
"""Time after a timed-out call during which the cluster counts as unreachable, unless a call succeeds."""
CONSUMER_LOOP_SECONDS = 1.0
"""Longest pause of a consumer's loop that fetches: what it waits for wakes it, and each round costs CPU."""
BUSY_FETCH_SECONDS = 0.5
"""Longest wait of a fetch while records come: a paused partition that resumes is fetched after it."""
IDLE_FETCH_SECONDS = 2.0
"""Longest wait of a fetch while none come; the first record ends it."""
MAX_PARTITION_FETCH_BYTES = 4 * 1024 * 1024
"""Maximum bytes of one partition that a read holds in memory."""


class KafkaUnavailableError(OutageError):
    """Kafka did not answer, or refused. Nothing was acknowledged."""


class FetchEndedError(KafkaError):  # type: ignore[misc]  # aiokafka has no types
    """A consumer fetches no more, though it was not stopped."""


class KafkaOpenError(ValueError):
    """Kafka can't be used as configured; the message is for the operator."""


class Cluster:
    """Factory of clients. Keeps two of them open: the admin client and a consumer for offset queries."""

    def __init__(self, settings: Settings, call_timeout: float = CALL_TIMEOUT) -> None:
        """OSError or ssl.SSLError if certificates can't be read."""
        if settings.kafka_paced_reconnects:
            quiet_reconnects()
        self.settings = settings
        self.call_timeout = call_timeout
        self.bootstrap = settings.kafka_bootstrap or ""
        self.servers = Settings.split_list(settings.kafka_bootstrap)
        self.security = _security_of(settings)
        # Partitions are assigned in the order of member ids, so one id per process gives it the same
        # partitions of every topic: an incarnation is handled in one process.
        self.client_id = f"recollect-{uuid.uuid4().hex[:12]}"
        self._outage_until = 0.0
        self._lock = asyncio.Lock()
        self._admin: AIOKafkaAdminClient | None = None
        self._metadata_consumer: AIOKafkaConsumer | None = None

    @property
    def current_timeout(self) -> float:
        """Timeout of a call made now, in seconds."""
        in_outage = asyncio.get_running_loop().time() < self._outage_until
        return min(self.call_timeout, OUTAGE_CALL_TIMEOUT) if in_outage else self.call_timeout

    async def admin(self) -> AIOKafkaAdminClient:
        """Return the client for topics and groups."""
        async with self._lock:
            if self._admin is None:
                admin = AIOKafkaAdminClient(**self._common_options())
                try:
                    await start_client(admin.start())
                except BaseException:
                    await admin.close()
                    raise
                self._admin = admin
            return self._admin

    async def metadata_consumer(self) -> AIOKafkaConsumer:
        """Return a consumer without partitions, for offset queries."""
        async with self._lock:
            if self._metadata_consumer is None:
                self._metadata_consumer = await self._start_consumer(self._new_consumer())
            return self._metadata_consumer

    @asynccontextmanager
    async def assigned_consumer(self, start_offsets: dict[TopicPartition, int]) -> AsyncIterator[AIOKafkaConsumer]:
        """Open a consumer of these partitions from these offsets on, outside any group."""
        consumer = await self._start_consumer(self._new_consumer())
        try:
            consumer.assign(list(start_offsets))
            for partition, offset in start_offsets.items():
                consumer.seek(partition, offset)
            yield consumer
        finally:
            await stop_consumer(consumer)

    @asynccontextmanager
    async def offset_committer(self, group: str, partitions: list[TopicPartition]) -> AsyncIterator[AIOKafkaConsumer]:
        """Open a consumer that can commit offsets for a group without members."""
        consumer = self._new_consumer(group_id=group)
        consumer.assign(partitions)
        await self._start_consumer(consumer)
        try:
            yield consumer
        finally:
            await consumer.stop()

    @asynccontextmanager
    async def raw_client(self) -> AsyncIterator[AIOKafkaClient]:
        """Open a client for requests that no other client supports."""
        client = AIOKafkaClient(**self._common_options())
        try:
            await start_client(client.bootstrap())
            yield client
        finally:
            await client.close()

    async def raw_producer(self, max_request_bytes: int) -> AIOKafkaProducer:
        """Start an idempotent producer of raw bytes with this maximum record size."""
        producer = AIOKafkaProducer(**self._common_options(), **PRODUCER_OPTIONS, max_request_size=max_request_bytes)
        try:
            await start_client(producer.start())
        except BaseException:
            await producer.stop()
            raise
        return producer

    async def close(self) -> None:
        if self._metadata_consumer is not None:
            await self._metadata_consumer.stop()
        if self._admin is not None:
            await self._admin.close()

    @contextmanager
    def errors_as_outages(self, action: str) -> Iterator[None]:
        """Raise KafkaUnavailableError for errors of Kafka or the connection inside the block."""
        try:
            yield
        except (KafkaError, TimeoutError, ConnectionError) as error:
            raise KafkaUnavailableError(f"Kafka at {self.bootstrap} could not {action}: {reason_of(error)}.") from error

    @asynccontextmanager
    async def deadline(self, action: str) -> AsyncIterator[None]:
        """Translate errors and limit the block's time; the limit is short right after another timeout."""
        seconds = self.current_timeout
        with self.errors_as_outages(action):
            try:
                async with asyncio.timeout(seconds):
                    yield
            except TimeoutError as error:
                if seconds == self.call_timeout:
                    self._outage_until = asyncio.get_running_loop().time() + OUTAGE_MEMORY_SECONDS
                raise TimeoutError(f"no answer within {seconds:g} s") from error
        self._outage_until = 0.0

    async def call_with_retries(self, action: str, call: Callable[[], Awaitable[T]]) -> T:
        """Call until it succeeds; retriable errors, such as leader elections, are retried to the deadline."""
        async with self.deadline(action):
            while True:
                try:
                    return await call()
                except KafkaError as error:
                    if not error.retriable:
                        raise
                await asyncio.sleep(RETRY_SECONDS)

    def _new_consumer(self, **options: Any) -> AIOKafkaConsumer:
        return AIOKafkaConsumer(
            **self._common_options(),
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=MAX_PARTITION_FETCH_BYTES,
            consumer_timeout_ms=milliseconds(CONSUMER_LOOP_SECONDS),
            **options,
        )

    async def _start_consumer(self, consumer: AIOKafkaConsumer) -> AIOKafkaConsumer:
        try:
            await start_client(consumer.start())
        except BaseException:
            await consumer.stop()
            raise
        return consumer

    def _common_options(self) -> dict[str, Any]:
        return {
            "bootstrap_servers": self.servers,
            "client_id": self.client_id,
            "request_timeout_ms": milliseconds(self.call_timeout),
            **parse_security(self.security),
        }


def _security_of(settings: Settings) -> BaseSecurity:
    encrypted = settings.kafka_security_protocol.endswith("SSL")
    context = ssl.create_default_context(cafile=settings.kafka_ca_file) if encrypted else None
    if not settings.kafka_security_protocol.startswith("SASL"):
        return BaseSecurity(ssl_context=context, use_ssl=encrypted)
    return _SASL_CLASSES[settings.kafka_sasl_mechanism](
        username=settings.kafka_username or "",
        password=settings.reveal(settings.kafka_password) or "",
        ssl_context=context,
        use_ssl=encrypted,
    )


PRODUCER_OPTIONS: dict[str, Any] = {
    "acks": "all",
    "enable_idempotence": True,
    "max_batch_size": 256 * 1024,
    "linger_ms": 0,
}


async def start_client(start: Coroutine[Any, Any, object]) -> None:
    """Start a client; on cancellation, first give it START_GRACE_SECONDS to finish starting.

    aiokafka leaks a connection if it is cancelled before the first response on it.
    """
    starting = asyncio.create_task(start)
    try:
        await asyncio.shield(starting)
    except asyncio.CancelledError:
        await asyncio.wait([starting], timeout=START_GRACE_SECONDS)
        starting.cancel()
        # The result no longer matters: the caller was cancelled.
        await asyncio.gather(starting, return_exceptions=True)
        raise


def fetch_task(consumer: AIOKafkaConsumer) -> asyncio.Task[None]:
    """Return the task by which a started consumer fetches.

    When it ends by itself, aiokafka's polls return nothing from then on and raise no error.
    """
    task: asyncio.Task[None] = consumer._fetcher.error_future  # noqa: SLF001 - there is no other way to see it
    return task


def set_fetch_wait(consumer: AIOKafkaConsumer, seconds: float) -> None:
    """Let the next fetches of a consumer wait for records this long at the broker, which answers at the first one."""
    consumer._fetcher._fetch_max_wait_ms = milliseconds(seconds)  # noqa: SLF001 - aiokafka has no other way


async def stop_consumer(consumer: AIOKafkaConsumer) -> None:
    """Stop a consumer; if its fetching has ended by an error, aiokafka raises that before it closes the connections."""
    try:
        await consumer.stop()
    except KafkaError:
        await consumer._client.close()  # noqa: SLF001 - aiokafka has no other way


async def poll_records(
    consumer: AIOKafkaConsumer, timeout_seconds: float, max_records: int
) -> dict[TopicPartition, list[ConsumerRecord]]:
    """Wait for records of each partition; FetchEndedError if there will never be any."""
    polled: dict[TopicPartition, list[ConsumerRecord]] = await consumer.getmany(
        timeout_ms=milliseconds(timeout_seconds), max_records=max_records
    )
    if not polled and fetch_task(consumer).done():
        raise FetchEndedError("the task that fetches records has ended")
    set_fetch_wait(consumer, BUSY_FETCH_SECONDS if polled else IDLE_FETCH_SECONDS)
    return polled


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
