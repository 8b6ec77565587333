"""`make bench ARGS=--processes`: one process, and Kafka with several: adding, finding, ingest and replay.

Every deployment gets the same documents in the same way, one after the other in one run, so that the ratios
hold on a machine of any speed. Nothing is embedded and no memories are formed: what is left is the log and the tables.
What the processes take while nothing is to be done is measured first, by itself: a slow ingest holds more of it.
"""

import argparse
import asyncio
import os
import secrets
import statistics
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
from bench.load import LoadBenchmark, Sizes, cpu_seconds
from bench.service_polling import trigger_and_wait_for_replay, wait_for_idle_cpu, wait_for_zero_lag
from bench.service_process import Server
from bench.text_generator import TextGenerator
from tools.kafka_broker import run_broker

DOCUMENTS = 12_000
CHARACTERS = 1000
NAMESPACES = 16
BATCH = 100
CONNECTIONS = 4
WORKERS = (0, 1, 2, 4)
POLL_SECONDS = 0.5
"""Pause between two looks whether all is done, so that these cost next to nothing of what is measured."""
IDLE_SECONDS = 10.0
WARM_UP = 300
"""Documents before an ingest that nothing else came before."""
SETTINGS = {"RECOLLECT_EMBEDDER": "none", "RECOLLECT_DREAMING_DEBOUNCE_SECONDS": "1"}


@dataclass(frozen=True, slots=True)
class Deployment:
    """Started processes and their address."""

    name: str
    api: Server
    workers: Sequence[Server] = ()
    settings: Mapping[str, str] = field(default_factory=dict)

    def cpu_seconds(self) -> tuple[float, float]:
        """Processor time of the process that answers, and of those that work."""
        return cpu_seconds(self.api.pid), sum(cpu_seconds(server.pid) for server in self.workers)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.processes", description=__doc__)
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    parser.add_argument("--characters", type=int, default=CHARACTERS, help="of a document")
    parser.add_argument("--workers", type=int, nargs="+", default=WORKERS, help="0: one process, embedded log")
    parser.add_argument("--replay", action="store_true", help="replay them too")
    parser.add_argument("--ingest-only", action="store_true", help="without adding one after the other")
    parser.add_argument("--rounds", type=int, help="ingest so often, with all deployments in turn, and compare")
    options = parser.parse_args()
    if options.rounds:
        run_in_turn(options.documents, options.characters, options.workers, options.rounds)
        return
    run(options.documents, options.characters, options.workers, replays=options.replay, adds=not options.ingest_only)


def run(
    documents: int = DOCUMENTS,
    characters: int = CHARACTERS,
    workers: Sequence[int] = WORKERS,
    *,
    replays: bool = True,
    adds: bool = True,
) -> None:
    """Measure with so many documents, and print a table."""
    writer = TextGenerator(3)
    texts = [writer.paragraph(characters) for _ in range(documents)]
    lines = [
        "| deployment | add ms | found ms | ingest/s | CPU ms each | of the API | idle ms/s | replay/s | CPU ms |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    with tempfile.TemporaryDirectory(prefix="recollect-processes-") as place:
        for number, count in enumerate(workers):
            with start_deployment(Path(place) / str(number), count, SETTINGS) as deployment:
                print(f"… {deployment.name}, load {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
                lines.append(asyncio.run(_measure(deployment, texts, replays=replays, adds=adds)))
                print(lines[-1], file=sys.stderr, flush=True)
    print("\n".join(lines))


def run_in_turn(documents: int, characters: int, workers: Sequence[int], rounds: int) -> None:
    """Ingest so many documents in each round with deployments that all run; print medians, and those of the ratios.

    The CPU that a document costs rises by half with what else a machine does: a ratio holds within a round only.
    """
    writer = TextGenerator(3)
    texts = [writer.paragraph(characters) for _ in range(documents)]
    costs: dict[str, list[tuple[float, float, float]]] = {}
    with tempfile.TemporaryDirectory(prefix="recollect-processes-") as place, ExitStack() as stack:
        folders = [Path(place) / str(number) for number in range(len(workers))]
        deployments = [
            stack.enter_context(start_deployment(folder, count, SETTINGS))
            for folder, count in zip(folders, workers, strict=True)
        ]
        for number in range(rounds + 1):
            for deployment in deployments[:: 1 if number % 2 else -1]:
                cost = asyncio.run(_measure_ingest(deployment, texts, f"r{number}-"))
                if number:  # the first one warms up
                    costs.setdefault(deployment.name, []).append(cost)
                print(f"{number} {deployment.name} {cost} {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
    base = [sum(cost[1:]) for cost in costs[deployments[0].name]]
    print("| deployment | ingest/s | CPU ms each | of the API | to the first |\n|---|---:|---:|---:|---:|")
    for name, measured in costs.items():
        rate, answering, total, ratio = (
            statistics.median(values)
            for values in zip(
                *(
                    (rate, api, api + work, (api + work) / least)
                    for (rate, api, work), least in zip(measured, base, strict=True)
                ),
                strict=True,
            )
        )
        print(f"| {name} | {rate:,.0f} | {total:.2f} | {answering:.2f} | {ratio:.2f} |")


@contextmanager
def start_deployment(folder: Path, workers: int, settings: Mapping[str, str] | None = None) -> Iterator[Deployment]:
    """`workers` 0: one process and the embedded log; else a process that answers and so many that work."""
    variables = dict(settings or {})
    if not workers:
        with Server(folder / "data", variables) as server:
            yield Deployment("one process, embedded log", server)
        return
    with run_broker() as kafka, start_processes(folder, workers, kafka.bootstrap, variables) as deployment:
        yield deployment


@contextmanager
def start_processes(
    folder: Path, workers: int, bootstrap: str, settings: Mapping[str, str] | None = None
) -> Iterator[Deployment]:
    """A process that answers and so many that work, on this broker."""
    variables = {
        "RECOLLECT_SECRET_KEY": Fernet.generate_key().decode(),
        **(settings or {}),
        "RECOLLECT_KAFKA_BOOTSTRAP": bootstrap,
    }
    key = f"rk_{secrets.token_hex(16)}"
    servers = [Server(folder / "data", variables, only=only, key=key) for only in ["api", *["pipeline"] * workers]]
    with ExitStack() as stack:
        for server in servers:
            stack.callback(server.stop)
        with ThreadPoolExecutor() as threads:
            list(threads.map(Server.start, servers))
        yield Deployment(f"Kafka, 1 API and {workers} pipeline", servers[0], servers[1:], variables)


async def _measure(deployment: Deployment, texts: Sequence[str], *, replays: bool, adds: bool) -> str:
    """A line of the table."""
    api = deployment.api
    latencies = await _measure_latencies(api) if adds else " | "
    if not adds:
        await send_texts(api, texts[:WARM_UP], "warm")
    connection = HttpConnection(api.url, api.key)
    await wait_for_zero_lag(connection, POLL_SECONDS)
    await connection.close()
    idle = await measure_idle(deployment)
    rate, answering, working = await _measure_ingest(deployment, texts)
    replay = ""
    if replays:
        replayed, cpu = await measure_replay(deployment, len(texts))
        replay = f" {replayed:,.0f} | {cpu:.2f} |"
    costs = f"{answering + working:.2f} | {answering:.2f} | {1000 * idle:.0f}"
    return f"| {deployment.name} | {latencies} | {rate:,.0f} | {costs} |{replay}"


async def _measure_ingest(
    deployment: Deployment, texts: Sequence[str], prefix: str = "d"
) -> tuple[float, float, float]:
    """Documents a second, and milliseconds of CPU of each in the process that answers and in those that work."""
    connection = HttpConnection(deployment.api.url, deployment.api.key)
    await wait_for_zero_lag(connection, POLL_SECONDS)
    before, began = deployment.cpu_seconds(), time.perf_counter()
    await send_texts(deployment.api, texts, prefix)
    await wait_for_zero_lag(connection, POLL_SECONDS)
    rate = len(texts) / (time.perf_counter() - began)
    answering, working = (
        1000 * (now - then) / len(texts) for now, then in zip(deployment.cpu_seconds(), before, strict=True)
    )
    await connection.close()
    return rate, answering, working


async def _measure_latencies(api: Server) -> str:
    """Add documents one after the other: time until the answer, and until they are found."""
    load = LoadBenchmark(api, TextGenerator(5), Sizes(adds=200, found=30))
    add = (await load.add_alone())["add_alone_p50"]
    found = (await load.time_to_searchable())["found_p50"]
    return f"{add:.1f} | {found:.0f}"


async def measure_idle(deployment: Deployment) -> float:
    """Seconds of CPU that all processes take in a second without anything to do."""
    for server in (deployment.api, *deployment.workers):
        await wait_for_idle_cpu(server.pid)
    before, began = sum(deployment.cpu_seconds()), time.perf_counter()
    await asyncio.sleep(IDLE_SECONDS)
    return (sum(deployment.cpu_seconds()) - before) / (time.perf_counter() - began)


async def measure_replay(deployment: Deployment, documents: int) -> tuple[float, float]:
    """Replay once all processes are idle; documents a second, and milliseconds of CPU of each in all processes."""
    for server in (deployment.api, *deployment.workers):
        await wait_for_idle_cpu(server.pid)
    connection = HttpConnection(deployment.api.url, deployment.api.key)
    before = sum(deployment.cpu_seconds())
    seconds = await trigger_and_wait_for_replay(connection)
    await connection.close()
    return documents / seconds, 1000 * (sum(deployment.cpu_seconds()) - before) / documents


async def send_texts(api: Server, texts: Sequence[str], prefix: str = "d") -> None:
    """Add the texts in batches by a few connections at once."""
    waiting = iter(range(0, len(texts), BATCH))

    async def sends() -> None:
        connection = HttpConnection(api.url, api.key)
        for first in waiting:
            documents = [
                {"id": f"{prefix}{first + n}", "content": text} for n, text in enumerate(texts[first : first + BATCH])
            ]
            path = f"/ns/home-{first // BATCH % NAMESPACES}/document/batch"
            await connection.post(path, {"documents": documents, "taskType": "superrag"})
        await connection.close()

    await asyncio.gather(*(sends() for _ in range(CONNECTIONS)))


if __name__ == "__main__":
    main()
