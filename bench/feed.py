"""Feed of a namespace under load: every event to every listener, across reconnects and beside a listener that sleeps.

`python -m bench.feed`: 10,000 events to 50 listeners, which break off and resume. With `--kafka`: two processes that
answer, which listeners change at each break, and one that works, on a log of four partitions.
"""

import argparse
import asyncio
import json
import random
import secrets
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import httpx2
from cryptography.fernet import Fernet

from bench.service_process import Server
from tools.kafka_broker import run_broker

NAMESPACE = "feed"
BATCH = 100
RECONNECT_SECONDS = 2.0
EVENTS_PER_DOCUMENT = 3
"""Queued, extracted and done; the texts state no memory."""


@dataclass(slots=True)
class Listener:
    """Listener that keeps its cursor, and breaks off after a random number of events."""

    urls: Sequence[str]
    """Addresses of the processes, one after the other."""
    key: str
    number: int
    heard: list[tuple[str, str]] = field(default_factory=list)
    cursor: str | None = None
    connections: int = 0
    not_yet: int = 0

    async def run(self, expected: int, longest: int) -> None:
        """Listen until so many events were heard."""
        pick = random.Random(self.number)
        async with httpx2.AsyncClient(timeout=None) as http:
            while len(self.heard) < expected:
                self.connections += 1
                try:
                    await self._listen(http, min(expected, len(self.heard) + pick.randint(1, longest)))
                except httpx2.HTTPStatusError as error:
                    if error.response.status_code != httpx2.codes.SERVICE_UNAVAILABLE:
                        raise
                    self.not_yet += 1  # another process is not as far as the cursor: connect again, as the guide says
                    await asyncio.sleep(RECONNECT_SECONDS)

    async def _listen(self, http: httpx2.AsyncClient, until: int) -> None:
        async with _connected(http, self) as lines:
            event: dict[str, str] = {}
            async for line in lines:
                if line:
                    name, _, value = line.partition(": ")
                    event[name] = value
                    continue
                self.cursor = event.get("id", self.cursor)
                if "data" in event:
                    self.heard.append((event["event"], json.loads(event["data"])["id"]))
                event = {}
                if len(self.heard) >= until:
                    return


@asynccontextmanager
async def _connected(http: httpx2.AsyncClient, listener: Listener) -> AsyncIterator[AsyncIterator[str]]:
    headers = {"authorization": f"Bearer {listener.key}"}
    if listener.cursor is not None:
        headers["last-event-id"] = listener.cursor
    url = listener.urls[listener.connections % len(listener.urls)]
    async with http.stream("GET", f"{url}/ns/{NAMESPACE}/explain/feed", headers=headers) as response:
        response.raise_for_status()
        yield response.aiter_lines()


async def _submit(url: str, key: str, documents: int) -> float:
    """Submit documents in batches; return the seconds it took."""
    started = perf_counter()
    async with httpx2.AsyncClient(timeout=120, headers={"authorization": f"Bearer {key}"}) as http:
        for first in range(0, documents, BATCH):
            batch = [{"id": f"d{number}", "content": f"Line {number}."} for number in range(first, first + BATCH)]
            answer = await http.post(f"{url}/ns/{NAMESPACE}/document/batch", json={"documents": batch})
            answer.raise_for_status()
    return perf_counter() - started


async def _measure(urls: Sequence[str], key: str, listeners: int, documents: int) -> dict[str, Any]:
    expected = documents * EVENTS_PER_DOCUMENT
    everyone = [Listener(urls, key, number) for number in range(listeners)]
    async with httpx2.AsyncClient(timeout=None) as http:
        for listener in everyone:  # all begin before the first document
            async with _connected(http, listener) as lines:
                async for line in lines:
                    if line.startswith("id: "):
                        listener.cursor = line.removeprefix("id: ")
                        break
        started = perf_counter()
        # One that never reads, until all others have heard everything.
        async with _connected(http, Listener(urls, key, -1)), asyncio.TaskGroup() as work:
            submitted = work.create_task(_submit(urls[0], key, documents))
            for listener in everyone:
                work.create_task(listener.run(expected, max(2, expected // 4)))
        seconds = perf_counter() - started
    return {
        "events": expected,
        "listeners": listeners,
        "connections": sum(listener.connections for listener in everyone),
        "answered_503": sum(listener.not_yet for listener in everyone),
        "seconds_to_submit": round(submitted.result(), 1),
        "seconds_until_all_heard": round(seconds, 1),
        "events_delivered_per_second": round(expected * listeners / seconds),
        **_judge(everyone, documents),
    }


def _judge(everyone: Sequence[Listener], documents: int) -> dict[str, int]:
    """Count what came twice, not at all, or before what precedes it."""
    wanted = {(name, f"d{number}") for number in range(documents) for name in _ORDER}
    twice = missing = disordered = 0
    for listener in everyone:
        told = set(listener.heard)
        twice += len(listener.heard) - len(told)
        missing += len(wanted - told)
        steps: dict[str, list[int]] = {}
        for name, document in listener.heard:
            steps.setdefault(document, []).append(_ORDER.index(name))
        disordered += sum(step != sorted(step) for step in steps.values())
    return {"twice": twice, "missing": missing, "out_of_order": disordered}


_ORDER = ("document.queued", "document.extracted", "document.done")


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
        result = asyncio.run(_measure(urls, key, options.listeners, options.documents))
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
