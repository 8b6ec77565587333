"""Deployments to check: one process with the embedded log, or four processes on Kafka."""

import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cryptography.fernet import Fernet

from bench.chaos.embedding_endpoint import serve_endpoint
from bench.service_process import Server
from pipeline.bus.kafka.bus import KafkaBus
from pipeline.bus.sqlite.log_reader import LogReader
from pipeline.settings import Settings
from schemas.events import DocumentSubmitted
from schemas.topics import DOCUMENTS_SUBMITTED
from tools.kafka_broker import LocalBroker, run_broker

PARTITIONS = 4
SETTINGS = {
    "RECOLLECT_LOG_PARTITIONS": str(PARTITIONS),
    "RECOLLECT_SHARDS": "2",
    "RECOLLECT_DREAMING_DEBOUNCE_SECONDS": "0.5",
    "RECOLLECT_KAFKA_SESSION_TIMEOUT_SECONDS": "6",
}
_READ_BATCH = 1000
ReadSubmissions = Callable[[Mapping[int, int]], AsyncIterator[tuple[int, int, DocumentSubmitted]]]
"""Reads partitions, offsets and events from these offsets on (by partition), each partition in order."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """Running servers; those at `urls` answer."""

    name: str
    servers: Sequence[Server]
    urls: Sequence[str]
    key: str
    open_log: Callable[[], AbstractAsyncContextManager[ReadSubmissions]]
    broker_pid: int | None = None
    """The process of the broker, if it is one that can be paused."""


@contextmanager
def embedded_deployment(folder: Path) -> Iterator[Deployment]:
    """Deployment of a process that does everything."""
    with serve_endpoint() as embedder:
        server = Server(folder / "data", {**SETTINGS, **embedder.settings()})
        with server:
            yield Deployment(
                "embedded",
                [server],
                [server.url],
                server.key,
                lambda: _embedded_log(folder / "data" / "log" / "log.db"),
            )


@asynccontextmanager
async def _embedded_log(file: Path) -> AsyncIterator[ReadSubmissions]:
    reader = LogReader(file)

    async def read(starts: Mapping[int, int]) -> AsyncIterator[tuple[int, int, DocumentSubmitted]]:
        for partition in range(PARTITIONS):
            start = starts.get(partition, 0)
            while records := reader.read(DOCUMENTS_SUBMITTED.name, partition, start, _READ_BATCH):
                for record in records:
                    yield partition, record.offset, DocumentSubmitted.model_validate_json(record.value)
                start = records[-1].offset + 1

    try:
        yield read
    finally:
        reader.close()


class _Clock:
    def now(self) -> datetime:
        return datetime.now(UTC)


@contextmanager
def kafka_deployment(folder: Path) -> Iterator[Deployment]:
    """A broker of its own, with two processes that answer and two that work."""
    with run_broker() as broker:
        pid = broker.pid if isinstance(broker, LocalBroker) else None
        with running_processes(folder, broker.bootstrap, pid) as deployment:
            yield deployment


@contextmanager
def running_processes(folder: Path, bootstrap: str, broker_pid: int | None = None) -> Iterator[Deployment]:
    """Two processes that answer and two that work on this broker."""
    with ExitStack() as stack:
        embedder = stack.enter_context(serve_endpoint())
        variables = {
            **SETTINGS,
            **embedder.settings(),
            "RECOLLECT_KAFKA_BOOTSTRAP": bootstrap,
            "RECOLLECT_SECRET_KEY": Fernet.generate_key().decode(),
        }
        key = f"rk_{secrets.token_hex(16)}"
        servers = [
            Server(folder / "data", variables, only=part, key=key) for part in ("api", "api", "pipeline", "pipeline")
        ]
        with ThreadPoolExecutor() as threads:
            for server in servers:
                stack.callback(server.kill)
            list(threads.map(Server.start, servers))

        urls = [server.url for server in servers[:2]]
        yield Deployment("Kafka", servers, urls, key, lambda: _kafka_log(bootstrap), broker_pid)


@asynccontextmanager
async def _kafka_log(bootstrap: str) -> AsyncIterator[ReadSubmissions]:
    bus = await KafkaBus.open(Settings(kafka_bootstrap=bootstrap, log_partitions=PARTITIONS), clock=_Clock())

    async def read(starts: Mapping[int, int]) -> AsyncIterator[tuple[int, int, DocumentSubmitted]]:
        for partition in range(PARTITIONS):
            async for record in bus.read(DOCUMENTS_SUBMITTED.name, partition, starts.get(partition, 0)):
                yield partition, record.offset, DocumentSubmitted.model_validate_json(record.value)

    try:
        yield read
    finally:
        await bus.close()
