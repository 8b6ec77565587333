"""`python -m bench.namespaces`: what a service costs that has many namespaces, without documents.

A log of so many new namespaces is written; a service starts, which reads it, stops and starts again. Then namespaces
are read, listed and added one after the other, and added by 16 clients at a time. `--catalog`: only the catalog, in
this process, in times of CPU, which other work on the machine changes less.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import psutil

from app.resources import SystemClock
from bench import service_process
from bench.http_connection import HttpConnection
from bench.load import folder_bytes
from bench.log_generator import PARTITIONS
from bench.result_tables import milliseconds
from bench.service_process import Server
from pipeline.bus.sqlite.bus import SqliteBus
from pipeline.bus.sqlite.topic_feed import FOLLOWER_BATCH_SIZE
from pipeline.stage import Record
from pipeline.store import SettingsCatalog
from schemas.events import NamespaceChanged, SettingsChanged
from schemas.ids import incarnation_key
from schemas.topics import SETTINGS_CHANGED

BATCH = 10_000
REQUESTS = 50
CLIENTS = 16
LOOKUPS = 10_000
Result = TypeVar("Result")


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m bench.namespaces", description=__doc__)
    options.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    options.add_argument("--catalog", action="store_true", help="measure the catalog alone")
    chosen = options.parse_args()
    if chosen.catalog:
        print(
            "| namespaces | filled s | opened ms | cold µs | again µs | page ms | last page ms | file MB |\n|"
            + "---:|" * 8
        )
        for count in chosen.sizes:
            with tempfile.TemporaryDirectory() as folder:
                print(f"| {count:,} | {asyncio.run(_measure_catalog(Path(folder), count))} |", flush=True)
        return
    service_process.START_SECONDS = 900
    print(
        "| namespaces | first start s | start s | CPU s | resident MB | get ms | list ms | last page ms | add ms |"
        f" adds/s of {CLIENTS} |\n|" + "---:|" * 10
    )
    for count in chosen.sizes:
        with tempfile.TemporaryDirectory() as folder:
            print(f"| {count:,} | {_measure(Path(folder), count)} |", flush=True)


async def _measure_catalog(folder: Path, count: int) -> str:
    began = time.process_time()
    catalog = SettingsCatalog(folder)
    for begin in range(0, count, FOLLOWER_BATCH_SIZE):
        numbers = range(begin, min(begin + FOLLOWER_BATCH_SIZE, count))
        await catalog.handle([_read(SETTINGS_CHANGED.name, at, *_created(f"n{at:07}")) for at in numbers])
    catalog.close()
    filled = time.process_time() - began
    names = [incarnation_key(f"n{at * 997 % count:07}", 0) for at in range(LOOKUPS)]
    opened, catalog = _cpu_milliseconds(lambda: SettingsCatalog(folder))
    cold, _ = _cpu_milliseconds(lambda: [catalog.namespace_of(name) for name in names])
    again, _ = _cpu_milliseconds(lambda: [catalog.namespace_of(name) for name in names])
    page, _ = _cpu_milliseconds(lambda: catalog.newest(limit=100))
    last, _ = _cpu_milliseconds(lambda: catalog.newest(start=count - 100, limit=100))
    catalog.close()
    lookups = f"{1e3 * cold / LOOKUPS:.1f} | {1e3 * again / LOOKUPS:.1f}"
    return f"{filled:.1f} | {opened:.1f} | {lookups} | {page:.1f} | {last:.0f} | {folder_bytes(folder) / 1e6:.0f}"


def _read(topic: str, offset: int, key: str, event: SettingsChanged) -> Record[SettingsChanged]:
    return Record(topic, 0, offset, key, event, datetime.now(UTC), {}, log_offset=offset)


def _cpu_milliseconds(call: Callable[[], Result]) -> tuple[float, Result]:
    began = time.process_time()
    result = call()
    return 1e3 * (time.process_time() - began), result


def _measure(folder: Path, count: int) -> str:
    (folder / "data").mkdir()
    asyncio.run(_write(folder / "data", count))
    server = Server(folder / "data", {"RECOLLECT_EMBEDDER": "none"})
    first = server.start()
    asyncio.run(_ask(server, count))
    server.stop()
    start = server.start()
    try:
        process = psutil.Process(server.pid)
        cpu, resident = sum(process.cpu_times()[:2]), process.memory_info().rss
        figures = asyncio.run(_ask(server, count))
    finally:
        server.stop()
    return f"{first:.1f} | {start:.1f} | {cpu:.1f} | {resident / 1e6:,.0f} | {figures}"


async def _write(folder: Path, count: int) -> None:
    bus = await SqliteBus.open(folder / "log", partitions=PARTITIONS, clock=SystemClock())
    for begin in range(0, count, BATCH):
        await bus.publish(SETTINGS_CHANGED, [_created(f"n{n:07}") for n in range(begin, min(begin + BATCH, count))])
    await bus.close()


def _created(name: str) -> tuple[str, SettingsChanged]:
    now, own = datetime.now(UTC), (incarnation_key(name, 0),)
    change = NamespaceChanged(name=name, epoch=0, incarnations=own, created_at=now, updated_at=now)
    return f"namespace/{name}", SettingsChanged(change=change)


async def _ask(server: Server, count: int) -> str:
    connection, *_ = connections = [HttpConnection(server.url, server.key) for _ in range(CLIENTS)]
    run = time.monotonic_ns()

    async def add(number: int, connection: HttpConnection = connection) -> None:
        await connection.post(f"/ns/new{run}-{number}/document", {"content": "A note.", "taskType": "superrag"})

    figures = [
        await _median(lambda number: connection.get(f"/ns/n{number * count // REQUESTS:07}")),
        await _median(lambda _: connection.get("/ns?limit=100")),
        await _median(lambda _: connection.get(f"/ns?limit=100&page={count // 100}")),
        await _median(add),
    ]
    began = time.perf_counter()
    numbers = iter(range(REQUESTS, 10 * REQUESTS))

    async def add_all(connection: HttpConnection) -> None:
        for number in numbers:
            await add(number, connection)

    await asyncio.gather(*map(add_all, connections))
    rate = 9 * REQUESTS / (time.perf_counter() - began)
    await asyncio.gather(*(connection.close() for connection in connections))
    return " | ".join(f"{figure:.1f}" for figure in figures) + f" | {rate:.0f}"


async def _median(request: Callable[[int], Awaitable[object]]) -> float:
    took = []
    for number in range(REQUESTS):
        began = time.perf_counter()
        await request(number)
        took.append(time.perf_counter() - began)
    return milliseconds(took)


if __name__ == "__main__":
    main()
