"""Deployments to check: one process with the embedded log, or four processes on Kafka."""

import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cryptography.fernet import Fernet

from bench.chaos.embedding_endpoint import serve_endpoint
from bench.service_process import Server
from pipeline.bus.kafka.bus import KafkaBus
from pipeline.bus.kafka.cluster import KafkaOptions
from pipeline.bus.sqlite.log_reader import LogReader
from schemas.events import DocumentSubmitted
from schemas.topics import DOCUMENTS_SUBMITTED
from tools.kafka_broker import run_broker

PARTITIONS = 4
SETTINGS = {
    "RECOLLECT_LOG_PARTITIONS": str(PARTITIONS),
    "RECOLLECT_SHARDS": "2",
    "RECOLLECT_DREAMING_DEBOUNCE_SECONDS": "0.5",
    "RECOLLECT_KAFKA_SESSION_TIMEOUT_SECONDS": "6",
}
_READ_BATCH = 1000
Submissions = AsyncIterator[tuple[int, DocumentSubmitted]]
"""Offsets and events, each partition in order."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """Running servers; those at `urls` answer. `read_log` reads every submission."""

    name: str
    servers: Sequence[Server]
    urls: Sequence[str]
    key: str
    read_log: Callable[[], Submissions]


@contextmanager
def embedded_deployment(folder: Path) -> Iterator[Deployment]:
    """Deployment of a process that does everything."""
    with serve_endpoint() as embedder:
        server = Server(folder / "data", {**SETTINGS, **embedder.settings()})
        with server:

            async def read_log() -> Submissions:
                reader = LogReader(folder / "data" / "log" / "log.db")
                try:
                    for partition in range(PARTITIONS):
                        start = 0
                        while records := reader.read(DOCUMENTS_SUBMITTED.name, partition, start, _READ_BATCH):
                            for record in records:
                                yield record.offset, DocumentSubmitted.model_validate_json(record.value)
                            start = records[-1].offset + 1
                finally:
                    reader.close()

            yield Deployment("embedded", [server], [server.url], server.key, read_log)


class _Clock:
    def now(self) -> datetime:
        return datetime.now(UTC)


@contextmanager
def kafka_deployment(folder: Path) -> Iterator[Deployment]:
    """A broker of its own, with two processes that answer and two that work."""
    with run_broker() as broker, running_processes(folder, broker.bootstrap) as deployment:
        yield deployment


@contextmanager
def running_processes(folder: Path, bootstrap: str) -> Iterator[Deployment]:
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

        async def read_log() -> Submissions:
            bus = await KafkaBus.open(KafkaOptions(bootstrap=bootstrap, partitions=PARTITIONS), clock=_Clock())
            try:
                async for record in bus.read(DOCUMENTS_SUBMITTED.name):
                    yield record.offset, DocumentSubmitted.model_validate_json(record.value)
            finally:
                await bus.close()

        yield Deployment("Kafka", servers, [server.url for server in servers[:2]], key, read_log)
