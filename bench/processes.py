"""`python -m bench.processes`: ingest and replay in one process, and on a real Kafka with one worker and two.

Every deployment gets the same documents in the same way, one after the other in one run, so that the ratios
hold on a machine of any speed.
"""

import asyncio
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography.fernet import Fernet

from bench.server import Server
from bench.texts import Writer
from bench.wire import Connection, UnexpectedAnswerError
from tools.kafka import broker

DOCUMENTS = 3000
NAMESPACES = 16
BATCH = 100
CONNECTIONS = 4
PATIENCE = 1200.0


@dataclass(frozen=True, slots=True)
class Deployment:
    """What was started, and whom to ask."""

    name: str
    api: Server


def main() -> None:
    """Measure, and print a table."""
    writer = Writer(3)
    texts = [writer.paragraph(1000) for _ in range(DOCUMENTS)]
    lines = [
        "| deployment | ingest, documents/s | replay, documents/s | replay : ingest |",
        "|---|---:|---:|---:|",
    ]
    with tempfile.TemporaryDirectory(prefix="recollect-processes-") as place:
        for number, workers in enumerate((0, 1, 2)):
            with _deployed(Path(place) / str(number), workers) as deployment:
                lines.append(_line(deployment, texts))
    print("\n".join(lines))


def _line(deployment: Deployment, texts: Sequence[str]) -> str:
    print(f"… {deployment.name}", file=sys.stderr, flush=True)
    ingest, replay = asyncio.run(_measure(deployment.api, texts))
    return f"| {deployment.name} | {ingest:,.0f} | {replay:,.0f} | {replay / ingest:.1f} |"


@contextmanager
def _deployed(folder: Path, workers: int) -> Iterator[Deployment]:
    """`workers` 0: one process and the embedded log; else a process that answers and so many that work."""
    if not workers:
        with Server(folder / "data") as server:
            yield Deployment("one process, embedded log", server)
        return
    with ExitStack() as stack:
        kafka = stack.enter_context(broker())
        settings = {
            "RECOLLECT_KAFKA_BOOTSTRAP": kafka.bootstrap,
            "RECOLLECT_SECRET_KEY": Fernet.generate_key().decode(),
        }
        key = f"rk_{secrets.token_hex(16)}"
        servers = [
            Server(folder / "data", settings, only=only, key=key) for only in ["api", *["pipeline"] * workers]
        ]
        for server in servers:
            stack.callback(server.stop)
        with ThreadPoolExecutor() as threads:
            list(threads.map(Server.start, servers))
        yield Deployment(f"Kafka, 1 api and {workers} pipeline", servers[0])


async def _measure(api: Server, texts: Sequence[str]) -> tuple[float, float]:
    began = time.perf_counter()
    await _send(api, texts)
    connection = await Connection.open(api.url, api.key)
    await _level(connection)
    ingest = time.perf_counter() - began
    began = time.perf_counter()
    status, answer = await connection.request("POST", "/admin/replay", b"{}")
    if status != 202:
        raise UnexpectedAnswerError(f"no replay was begun: {answer[:500].decode(errors='replace')}")
    await _replayed(connection)
    replay = time.perf_counter() - began
    await connection.close()
    return len(texts) / ingest, len(texts) / replay


async def _send(api: Server, texts: Sequence[str]) -> None:
    waiting = iter(range(0, len(texts), BATCH))

    async def sends() -> None:
        connection = await Connection.open(api.url, api.key)
        for first in waiting:
            documents = [
                {"id": f"d{first + n}", "content": text}
                for n, text in enumerate(texts[first : first + BATCH])
            ]
            path = f"/ns/home-{first // BATCH % NAMESPACES}/document/batch"
            await connection.post(path, {"documents": documents, "taskType": "superrag"})
        await connection.close()

    await asyncio.gather(*(sends() for _ in range(CONNECTIONS)))


async def _level(connection: Connection) -> None:
    """Until every consumer group has handled all there is."""
    deadline = time.perf_counter() + PATIENCE
    while time.perf_counter() < deadline:
        if not any((await connection.get("/ready"))["lag"].values()):
            return
        await asyncio.sleep(0.05)
    raise UnexpectedAnswerError(f"not all is done after {PATIENCE:.0f} s")


async def _replayed(connection: Connection) -> None:
    deadline = time.perf_counter() + PATIENCE
    while time.perf_counter() < deadline:
        progress = await connection.get("/admin/replay")
        if progress["state"] == "done":
            return
        if progress["state"] != "running":
            raise UnexpectedAnswerError(f"the replay ended: {progress}")
        await asyncio.sleep(0.05)
    raise UnexpectedAnswerError(f"the replay has not ended after {PATIENCE:.0f} s")


if __name__ == "__main__":
    main()
