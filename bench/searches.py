"""`python -m bench.searches`: searches over HTTP in namespaces of ten thousand chunks, alone and together.

A million documents of one chunk each in a hundred namespaces: a log (bench.log_generator), from which
`recollect replay` makes the tables; with `--data` they are made once and kept. Ten of the namespaces are
asked in turn, as many as the namespace index cache holds, with and without a metadata filter that a tenth of the
documents pass. Last, one client asks while others add documents and while nobody does, in turn.
"""

import argparse
import asyncio
import json
import secrets
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import Any

from bench import log_generator
from bench.http_connection import HttpConnection, UnexpectedAnswerError
from bench.load import cpu_seconds
from bench.result_tables import machine_description, milliseconds, replace_section
from bench.scale import replayed
from bench.service_polling import wait_for_idle_cpu, wait_for_zero_lag
from bench.service_process import Server
from bench.text_generator import TextGenerator

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- searches -->", "<!-- /searches -->"
CHARACTERS = 400
SEED = 7
"""Share of the texts, and thus of their subjects, that queries are about."""
WARM = 10
SHARES = 10
WORDS = 5
ROUNDS = 5
"""Number of alternations between searching alone and searching beside writers."""
FOUND = b'"similarity":'
OK = 200
HEAD = "| | p50, ms | p99, ms | searches/s | service, ms of CPU | client, ms of CPU |\n|---|" + "---:|" * 5


@dataclass(frozen=True, slots=True)
class Request:
    """A search as it is sent."""

    path: str
    body: bytes


@dataclass(frozen=True, slots=True)
class SearchTimings:
    """Seconds of each search, of all together, and of the processor for service and client."""

    took: Sequence[float]
    seconds: float
    service: float
    client: float

    def row(self, name: str) -> str:
        """A line of the table."""
        count = len(self.took)
        cells = [
            name,
            f"{milliseconds(self.took):.2f}",
            f"{milliseconds(self.took, 0.99):.2f}",
            f"{count / self.seconds:,.0f}",
            f"{1000 * self.service / count:.2f}",
            f"{1000 * self.client / count:.2f}",
        ]
        return "| " + " | ".join(cells) + " |"


@dataclass(frozen=True, slots=True)
class MarkdownReport:
    """Results as Markdown, printed as they arrive."""

    lines: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        """Add lines to the table."""
        print(text, flush=True)
        self.lines.append(text)


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident bytes of a process: its own, and pages of files, which the system can take back."""

    anonymous: int
    files: int

    @classmethod
    def of(cls, pid: int) -> "Memory":
        """Return memory as Linux counts it."""
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        kept, mapped = (1024 * int(status[name].split()[0]) for name in ("RssAnon", "RssFile"))
        return cls(kept, mapped)

    def __str__(self) -> str:
        return f"{self.anonymous / 1e6:,.0f} MB of its own and {self.files / 1e6:,.0f} MB of mapped files"


def main() -> None:
    """Make what is not there, ask, and print a table as Markdown."""
    chosen = _options()
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder:
        data = chosen.data or Path(folder) / "data"
        if not data.exists():
            data.mkdir(parents=True)
            _log(f"{chosen.documents:,} documents in {chosen.namespaces:,} namespaces")
            asyncio.run(log_generator.write(data, chosen.documents, chosen.namespaces, CHARACTERS, SEED))
            _log(f"replayed in {replayed(data):.0f} s")
        report = MarkdownReport()
        with Server(data) as server:
            asyncio.run(_measure(server, chosen, report))
        if chosen.write:
            replace_section(PAGE, "\n".join(report.lines), BEGIN, END)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.searches", description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--namespaces", type=int, default=100)
    parser.add_argument("--data", type=Path, help="a data directory that is kept; made if it is not there")
    parser.add_argument("--clients", type=int, default=16, help="how many ask together")
    parser.add_argument("--searches", type=int, default=2_000, help="of each kind")
    parser.add_argument("--added", type=float, default=20.0, help="documents a second, beside searches")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    parser.add_argument("--writers", type=int, default=4, help="clients that add them")
    return parser.parse_args()


async def _measure(server: Server, chosen: argparse.Namespace, report: MarkdownReport) -> None:
    report.add(f"{machine_description()}; {chosen.documents:,} chunks in {chosen.namespaces:,} namespaces.\n")
    warm = min(WARM, chosen.namespaces)
    plain, filtered = _searches(warm, filtered=False), _searches(warm, filtered=True)
    alone = HttpConnection(server.url, server.key)
    await wait_for_idle_cpu(server.pid)
    report.add(f"Before the first search: {Memory.of(server.pid)}.\n\n{HEAD}")
    report.add((await _run_clients(server, [alone], list(islice(plain, warm)))).row("the first of each namespace"))
    await _run_clients(server, [alone], list(islice(filtered, warm)))
    together = [HttpConnection(server.url, server.key) for _ in range(chosen.clients)]
    for name, clients in (("one client", [alone]), (f"{chosen.clients} clients", together)):
        for kind, requests in (("", plain), (", with a filter", filtered)):
            asked = await _run_clients(server, clients, list(islice(requests, chosen.searches)))
            report.add(asked.row(name + kind))
    report.add(f"\nAfter these searches: {Memory.of(server.pid)}.\n")
    await _measure_with_writers(server, alone, plain, chosen, report)


async def _measure_with_writers(
    server: Server,
    alone: HttpConnection,
    requests: Iterator[Request],
    chosen: argparse.Namespace,
    report: MarkdownReport,
) -> None:
    """Measure a client in turn with writers and without, so that both have the same machine."""
    quiet, busy, warm = list[SearchTimings](), list[SearchTimings](), min(WARM, chosen.namespaces)
    each, writing = max(1, chosen.searches // ROUNDS), _document_requests(warm)
    for _ in range(ROUNDS):
        quiet.append(await _run_clients(server, [alone], list(islice(requests, each))))
        # Made before, so that writing texts takes nothing from who measures.
        added = iter(list(islice(writing, 4 * each)))
        async with _background_writes(server, added, chosen):
            busy.append(await _run_clients(server, [alone], list(islice(requests, each))))
        await wait_for_zero_lag(alone)
        await wait_for_idle_cpu(server.pid)
    before, beside = _merge_timings(quiet), _merge_timings(busy)
    report.add(f"{HEAD}\n{before.row('one client, nobody writes')}")
    report.add(beside.row(f"one client, {chosen.added:g} documents a second come in"))
    median, late = (milliseconds(beside.took, at) / milliseconds(before.took, at) for at in (0.5, 0.99))
    report.add(f"\nBeside writers the median takes {median:.2f} times as long, p99 {late:.2f} times.")
    report.add(f"At the end: {Memory.of(server.pid)}.")


def _merge_timings(parts: Sequence[SearchTimings]) -> SearchTimings:
    return SearchTimings(
        [seconds for part in parts for seconds in part.took],
        sum(part.seconds for part in parts),
        sum(part.service for part in parts),
        sum(part.client for part in parts),
    )


@asynccontextmanager
async def _background_writes(
    server: Server, bodies: Iterator[Request], chosen: argparse.Namespace
) -> AsyncIterator[None]:
    """Documents come in meanwhile, at a steady pace."""
    over = asyncio.Event()
    pace = chosen.writers / chosen.added

    async def writes(connection: HttpConnection) -> None:
        for request in bodies:
            due = time.perf_counter() + pace
            _expect(*await connection.request("POST", request.path, request.body), b'"id":')
            if over.is_set():
                break
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
        await connection.close()

    connections = [HttpConnection(server.url, server.key) for _ in range(chosen.writers)]
    writing = asyncio.gather(*(writes(connection) for connection in connections))
    try:
        yield
    finally:
        over.set()
        await writing


async def _run_clients(server: Server, clients: Sequence[HttpConnection], requests: Sequence[Request]) -> SearchTimings:
    """Each client takes the next request when it has its answer."""
    waiting, took = iter(requests), list[float]()

    async def asks(connection: HttpConnection) -> None:
        for request in waiting:
            began = time.perf_counter()
            status, answer = await connection.request("POST", request.path, request.body)
            took.append(time.perf_counter() - began)
            _expect(status, answer, FOUND)

    began, service, own = time.perf_counter(), cpu_seconds(server.pid), time.process_time()
    await asyncio.gather(*(asks(client) for client in clients))
    seconds, client = time.perf_counter() - began, time.process_time() - own
    return SearchTimings(took, seconds, cpu_seconds(server.pid) - service, client)


def _expect(status: int, answer: bytes, part: bytes) -> None:
    if status != OK or part not in answer:
        raise UnexpectedAnswerError(f"{status}: {answer[:500].decode(errors='replace')}")


def _searches(namespaces: int, *, filtered: bool) -> Iterator[Request]:
    """Questions of five words of a subject, to one namespace after the other."""
    writer = TextGenerator(SEED)
    for number in count():
        query = writer.question(number, WORDS)
        body: dict[str, Any] = {"query": query, "searchMode": "chunks", "threshold": 0}
        if filtered:
            body["filter"] = {"field": "share", "operator": "eq", "value": f"s{number % SHARES}"}
        yield _request(f"/ns/{log_generator.namespace(number % namespaces)}/search", body)


def _document_requests(namespaces: int) -> Iterator[Request]:
    """Documents of 1 KB, whose memories are formed at once, to the namespaces that are asked."""
    # Others each time: what is known already, from a run before, is other work.
    run = secrets.token_hex(4)
    texts = TextGenerator(int(run, 16))
    for number in count():
        text = f"{texts.paragraph(1000)} {run}."
        body = {"id": f"beside-{run}-{number}", "content": text, "dreaming": "instant"}
        yield _request(f"/ns/{log_generator.namespace(number % namespaces)}/document", body)


def _request(path: str, body: dict[str, Any]) -> Request:
    return Request(path, json.dumps(body).encode())


def _log(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
