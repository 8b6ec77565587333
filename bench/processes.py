"""`make bench ARGS=--processes`: ingest and replay in one process, and on Kafka with one worker and two.

Every deployment gets the same documents in the same way, one after the other in one run, so that the ratios
hold on a machine of any speed.
"""

import asyncio
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.fernet import Fernet

from bench.http_connection import HttpConnection
from bench.load import cpu_seconds
from bench.service_polling import trigger_and_wait_for_replay, wait_for_idle_cpu, wait_for_zero_lag
from bench.service_process import Server
from bench.text_generator import TextGenerator
from tools.kafka_broker import run_broker

DOCUMENTS = 12_000
NAMESPACES = 16
BATCH = 100
CONNECTIONS = 4


@dataclass(frozen=True, slots=True)
class Deployment:
    """Started processes and their address."""

    name: str
    api: Server
    workers: Sequence[Server] = ()
    settings: Mapping[str, str] = field(default_factory=dict)


def run(documents: int = DOCUMENTS) -> None:
    """Measure with so many documents, and print a table."""
    writer = TextGenerator(3)
    texts = [writer.paragraph(1000) for _ in range(documents)]
    lines = [
        "| deployment | ingest /s | replay /s | CPU ms a document | replay by the api alone /s | CPU ms a document |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    with tempfile.TemporaryDirectory(prefix="recollect-processes-") as place:
        for number, workers in enumerate((0, 1, 2)):
            with start_deployment(Path(place) / str(number), workers) as deployment:
                print(f"… {deployment.name}", file=sys.stderr, flush=True)
                ingest, replays = asyncio.run(_measure(deployment, texts))
                cells = "".join(f" {replay.rate:,.0f} | {replay.cpu_milliseconds:.2f} |" for replay in replays)
                lines.append(f"| {deployment.name} | {ingest:,.0f} |{cells}")
    print("\n".join(lines))


@contextmanager
def start_deployment(folder: Path, workers: int) -> Iterator[Deployment]:
    """`workers` 0: one process and the embedded log; else a process that answers and so many that work."""
    if not workers:
        with Server(folder / "data") as server:
            yield Deployment("one process, embedded log", server)
        return
    with run_broker() as kafka, start_processes(folder, workers, kafka.bootstrap) as deployment:
        yield deployment


@contextmanager
def start_processes(folder: Path, workers: int, bootstrap: str) -> Iterator[Deployment]:
    """A process that answers and so many that work, on this broker."""
    settings = {
        "RECOLLECT_KAFKA_BOOTSTRAP": bootstrap,
        "RECOLLECT_SECRET_KEY": Fernet.generate_key().decode(),
    }
    key = f"rk_{secrets.token_hex(16)}"
    servers = [Server(folder / "data", settings, only=only, key=key) for only in ["api", *["pipeline"] * workers]]
    with ExitStack() as stack:
        for server in servers:
            stack.callback(server.stop)
        with ThreadPoolExecutor() as threads:
            list(threads.map(Server.start, servers))
        yield Deployment(f"Kafka, 1 api and {workers} pipeline", servers[0], servers[1:], settings)


@dataclass(frozen=True, slots=True)
class _Replay:
    """Documents made again a second, and the processor time of each in all processes."""

    rate: float
    cpu_milliseconds: float


async def _measure(deployment: Deployment, texts: Sequence[str]) -> tuple[float, list[_Replay]]:
    """Documents a second that come in, and replays by every process and by the one that answers."""
    api = deployment.api
    began = time.perf_counter()
    await _send(api, texts)
    connection = await HttpConnection.open(api.url, api.key)
    await wait_for_zero_lag(connection)
    ingest = len(texts) / (time.perf_counter() - began)
    replays = [await _replay(connection, (api, *deployment.workers), len(texts))]
    for server in deployment.workers:
        server.stop()
    replays.append(await _replay(connection, (api,), len(texts)))
    await connection.close()
    return ingest, replays


async def _replay(connection: HttpConnection, servers: Sequence[Server], documents: int) -> _Replay:
    for server in servers:
        await wait_for_idle_cpu(server.pid)
    before = sum(cpu_seconds(server.pid) for server in servers)
    seconds = await trigger_and_wait_for_replay(connection)
    used = sum(cpu_seconds(server.pid) for server in servers) - before
    return _Replay(documents / seconds, 1000 * used / documents)


async def _send(api: Server, texts: Sequence[str]) -> None:
    waiting = iter(range(0, len(texts), BATCH))

    async def sends() -> None:
        connection = await HttpConnection.open(api.url, api.key)
        for first in waiting:
            documents = [
                {"id": f"d{first + n}", "content": text} for n, text in enumerate(texts[first : first + BATCH])
            ]
            path = f"/ns/home-{first // BATCH % NAMESPACES}/document/batch"
            await connection.post(path, {"documents": documents, "taskType": "superrag"})
        await connection.close()

    await asyncio.gather(*(sends() for _ in range(CONNECTIONS)))


if __name__ == "__main__":
    run()
