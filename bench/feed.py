"""Feed of a namespace under load: every event to every listener, across reconnects and beside a listener that sleeps.

`python -m bench.feed`: 10,000 events to 50 listeners, which break off and resume.
"""

import argparse
import asyncio
import json
import random
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import httpx2

from bench.service_process import Server

NAMESPACE = "feed"
BATCH = 100
EVENTS_PER_DOCUMENT = 3
"""Queued, extracted and done; the texts state no memory."""


@dataclass(slots=True)
class Listener:
    """Listener that keeps its cursor, and breaks off after a random number of events."""

    url: str
    key: str
    number: int
    heard: list[tuple[str, str]] = field(default_factory=list)
    cursor: str | None = None
    connections: int = 0

    async def run(self, expected: int, longest: int) -> None:
        """Listen until so many events were heard."""
        pick = random.Random(self.number)
        async with httpx2.AsyncClient(timeout=None) as http:
            while len(self.heard) < expected:
                self.connections += 1
                await self._listen(http, min(expected, len(self.heard) + pick.randint(1, longest)))

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
    async with http.stream("GET", f"{listener.url}/ns/{NAMESPACE}/explain/feed", headers=headers) as response:
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


async def _measure(url: str, key: str, listeners: int, documents: int) -> dict[str, Any]:
    expected = documents * EVENTS_PER_DOCUMENT
    everyone = [Listener(url, key, number) for number in range(listeners)]
    async with httpx2.AsyncClient(timeout=None) as http:
        for listener in everyone:  # all begin before the first document
            async with _connected(http, listener) as lines:
                async for line in lines:
                    if line.startswith("id: "):
                        listener.cursor = line.removeprefix("id: ")
                        break
        started = perf_counter()
        # One that never reads, until all others have heard everything.
        async with _connected(http, Listener(url, key, -1)), asyncio.TaskGroup() as work:
            submitted = work.create_task(_submit(url, key, documents))
            for listener in everyone:
                work.create_task(listener.run(expected, max(2, expected // 4)))
        seconds = perf_counter() - started
    return {
        "events": expected,
        "listeners": listeners,
        "connections": sum(listener.connections for listener in everyone),
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
    options = parser.parse_args()
    key = f"rk_{secrets.token_hex(16)}"
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        server = Server(Path(folder), {"RECOLLECT_EMBEDDER": "wordllama"}, key=key)
        server.start()
        try:
            result = asyncio.run(_measure(server.url, key, options.listeners, options.documents))
        finally:
            server.stop()
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
