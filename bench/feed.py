"""Feed of a namespace under load: every event to every listener, across reconnects and beside a listener that sleeps.

`python -m bench.feed`: 10,000 events to 50 listeners, which break off and resume. Three parts are measured apart:
documents are written and processed while nobody listens; all listeners read them from the log; as many more are written
while all listen. With `--kafka`: two processes that answer, which listeners change at each break, and one that works,
on a log of four partitions.
"""

import argparse
import asyncio
import json
import os
import random
import secrets
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import httpx2
from cryptography.fernet import Fernet

from bench.http_connection import HttpConnection
from bench.load import cpu_seconds
from bench.service_polling import wait_for_idle_cpu, wait_for_zero_lag
from bench.service_process import Server
from tools.kafka_broker import run_broker

NAMESPACE = "feed"
BATCH = 100
RECONNECT_SECONDS = 2.0
LAG_POLL_SECONDS = 0.5
IDLE_SECONDS = 5
BREAKS = 4
"""Breaks of a listener in each part, about."""
ORDER = ("document.queued", "document.extracted", "document.done")
"""Events of a document; the texts state no memory."""


@dataclass(slots=True)
class Listener:
    """Listener that keeps its cursor, and breaks off after a random number of events."""

    urls: Sequence[str]
    """Addresses of the processes, one after the other."""
    key: str
    number: int
    cursor: str | None = None
    heard: list[tuple[str, str]] = field(default_factory=list)
    connections: int = 0
    not_yet: int = 0

    async def run(self, http: httpx2.AsyncClient, expected: int, longest: int) -> None:
        """Listen until so many events were heard."""
        pick = random.Random(self.number)
        while len(self.heard) < expected:
            self.connections += 1
            try:
                await self._listen(http, min(expected, len(self.heard) + pick.randint(1, longest)))
            except httpx2.HTTPStatusError as error:
                if error.response.status_code != httpx2.codes.SERVICE_UNAVAILABLE:
                    raise
                self.not_yet += 1  # another process is not as far as the cursor: connect again, as the guide says
                await asyncio.sleep(RECONNECT_SECONDS)

    async def begin(self, http: httpx2.AsyncClient) -> None:
        """Take the cursor of now."""
        async with _connected(http, self) as events:
            await anext(events)

    async def _listen(self, http: httpx2.AsyncClient, until: int) -> None:
        async with _connected(http, self) as events:
            async for event in events:
                if "data" in event:
                    self.heard.append((event["event"], json.loads(event["data"])["id"]))
                if len(self.heard) >= until:
                    return


@asynccontextmanager
async def _connected(http: httpx2.AsyncClient, listener: Listener) -> AsyncIterator[AsyncIterator[dict[str, str]]]:
    headers = {"authorization": f"Bearer {listener.key}"}
    if listener.cursor is not None:
        headers["last-event-id"] = listener.cursor
    url = listener.urls[listener.connections % len(listener.urls)]
    async with http.stream("GET", f"{url}/ns/{NAMESPACE}/explain/feed", headers=headers) as response:
        response.raise_for_status()
        yield _events(response, listener)


async def _events(response: httpx2.Response, listener: Listener) -> AsyncIterator[dict[str, str]]:
    """Yield the fields of each event, and move the listener's cursor to it."""
    rest = b""
    async for part in response.aiter_raw():
        *whole, rest = (rest + part).split(b"\n\n")
        for text in whole:
            fields = dict(line.split(": ", 1) for line in text.decode().split("\n"))
            listener.cursor = fields.get("id", listener.cursor)
            yield fields


async def _submit(url: str, key: str, numbers: range) -> None:
    """Submit documents in batches."""
    async with httpx2.AsyncClient(timeout=120, headers={"authorization": f"Bearer {key}"}) as http:
        for first in numbers[::BATCH]:
            batch = [
                {"id": f"d{number}", "content": f"Line {number}."} for number in numbers[first - numbers[0] :][:BATCH]
            ]
            answer = await http.post(f"{url}/ns/{NAMESPACE}/document/batch", json={"documents": batch})
            answer.raise_for_status()


async def _measure(servers: Sequence[Server], urls: Sequence[str], key: str, sizes: tuple[int, int]) -> dict[str, Any]:
    """Measure writing without listeners, reading it from the log, and writing while all listen."""
    listeners, documents = sizes
    everyone = [Listener(urls, key, number) for number in range(listeners)]
    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(timeout=None, limits=limits) as http:
        for listener in everyone:  # all begin before the first document
            await listener.begin(http)
        with _spent(servers) as writing:
            await _submit(urls[0], key, range(documents))
            await wait_for_zero_lag(HttpConnection(urls[0], key), LAG_POLL_SECONDS)
            await wait_for_idle_cpu(servers[-1].pid, IDLE_SECONDS)
        with _spent(servers) as replaying:
            await _listen_together(http, everyone, documents)
        with _spent(servers) as telling:
            async with asyncio.TaskGroup() as work:
                work.create_task(_submit(urls[0], key, range(documents, 2 * documents)))
                work.create_task(_listen_together(http, everyone, 2 * documents))
    return {
        "events_of_each_part": documents * len(ORDER),
        "listeners": listeners,
        "connections": sum(listener.connections for listener in everyone),
        "answered_503": sum(listener.not_yet for listener in everyone),
        "written": writing,
        "read_from_the_log": replaying,
        "written_and_told": telling,
        **_judge(everyone, 2 * documents),
        "load": os.getloadavg(),
    }


async def _listen_together(http: httpx2.AsyncClient, everyone: Sequence[Listener], documents: int) -> None:
    """Let all hear the events of so many documents, beside a listener that reads nothing."""
    expected = documents * len(ORDER)
    longest = max(2, (expected - len(everyone[0].heard)) * 2 // BREAKS)
    sleeper = Listener(everyone[0].urls, everyone[0].key, -1, everyone[0].cursor)
    async with _connected(http, sleeper), asyncio.TaskGroup() as work:
        for listener in everyone:
            work.create_task(listener.run(http, expected, longest))


@contextmanager
def _spent(servers: Sequence[Server]) -> Iterator[dict[str, Any]]:
    """Measure the seconds of a block, and the CPU time of the services and of this process in it."""
    spent: dict[str, Any] = {}
    started, own = perf_counter(), process_time()
    before = [cpu_seconds(server.pid) for server in servers]
    yield spent
    spent["seconds"] = round(perf_counter() - started, 1)
    spent["cpu_seconds_of_services"] = [
        round(cpu_seconds(server.pid) - earlier, 1) for server, earlier in zip(servers, before, strict=True)
    ]
    spent["cpu_seconds_of_listeners"] = round(process_time() - own, 1)


def _judge(everyone: Sequence[Listener], documents: int) -> dict[str, int]:
    """Count what came twice, not at all, or before what precedes it."""
    wanted = {(name, f"d{number}") for number in range(documents) for name in ORDER}
    twice = missing = disordered = 0
    for listener in everyone:
        told = set(listener.heard)
        twice += len(listener.heard) - len(told)
        missing += len(wanted - told)
        steps: dict[str, list[int]] = {}
        for name, document in listener.heard:
            steps.setdefault(document, []).append(ORDER.index(name))
        disordered += sum(step != sorted(step) for step in steps.values())
    return {"twice": twice, "missing": missing, "out_of_order": disordered}


def main() -> None:
    """Run a service of its own on a free port and print the result as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--listeners", type=int, default=50)
    parser.add_argument("--documents", type=int, default=3400)
    parser.add_argument("--kafka", action="store_true")
    options = parser.parse_args()
    key = f"rk_{secrets.token_hex(16)}"
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder, ExitStack() as stack:
        variables, roles = {"RECOLLECT_EMBEDDER": "wordllama"}, [""]
        if options.kafka:
            broker = stack.enter_context(run_broker())
            variables |= {
                "RECOLLECT_KAFKA_BOOTSTRAP": broker.bootstrap,
                "RECOLLECT_LOG_PARTITIONS": "4",
                "RECOLLECT_SECRET_KEY": Fernet.generate_key().decode(),
            }
            roles = ["api", "api", "pipeline"]
        servers = [Server(Path(folder), variables, only=role or None, key=key) for role in roles]
        for server in servers:
            stack.callback(server.stop)
        with ThreadPoolExecutor() as threads:
            list(threads.map(Server.start, servers))
        urls = [server.url for server, role in zip(servers, roles, strict=True) if role != "pipeline"]
        result = asyncio.run(_measure(servers, urls, key, (options.listeners, options.documents)))
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
