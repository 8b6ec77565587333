"""`make soak`: 64 clients that add, search, read and erase for an hour, and whether anything grows.

What is there stays the same size: each client erases its oldest document for each that it adds. Exits with 1
unless every answer was a declared one, everything was handled, and memory, files and latency stayed flat.
"""

import argparse
import asyncio
import json
import random
import statistics
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil

from bench.http_connection import HttpConnection
from bench.load import file_sizes, resident_bytes
from bench.result_tables import machine_description, milliseconds, replace_section
from bench.service_polling import wait_for_zero_lag
from bench.service_process import Server
from bench.text_generator import SUBJECTS, TextGenerator

PAGE: Final = Path(__file__).parent.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- soak -->", "<!-- /soak -->"
NAMESPACES: Final = 16
DOCUMENTS_KEPT_PER_CLIENT: Final = 5
"""Documents of a client at any time."""
SAMPLES: Final = 24
ROWS: Final = 4
RETRY_LATER_STATUSES: Final = frozenset({429, 503})
"""Declared, with a time to come back."""
KINDS: Final = (("search", 50), ("filter", 15), ("profile", 8), ("read", 8), ("list", 3), ("write", 16))
WARM_UP_SECONDS: Final = 120.0
"""Duration below which the second quarter still warms up, so that more growth is allowed."""
LATENCY_SECONDS: Final = 300.0
"""Duration below which latency is shown but not judged, as the machine may be shared."""
FILES_SECONDS: Final = 2400.0
"""Versions of tables are kept for ten minutes, so that files need longer to stop growing."""


@dataclass(frozen=True, slots=True)
class Plan:
    """`rate`: requests a second of all clients together."""

    seconds: float
    clients: int
    rate: float


@dataclass(frozen=True, slots=True)
class Sample:
    """The service at one moment, and the requests since the one before. Bytes, seconds.

    `cpu`: processor time that the service has taken since it began.
    """

    at: float
    cpu: float
    resident: int
    descriptors: int
    files: int
    disk: int
    latencies: tuple[float, ...]


@dataclass(slots=True)
class ClientStatistics:
    """Responses to clients: seconds by kind of request, and rejections by kind and status."""

    taken: dict[str, list[float]] = field(default_factory=dict)
    since: list[float] = field(default_factory=list)
    retry_later: Counter[tuple[str, int]] = field(default_factory=Counter)
    unexpected: Counter[str] = field(default_factory=Counter)

    def record(self, kind: str, seconds: float) -> None:
        self.taken.setdefault(kind, []).append(seconds)
        self.since.append(seconds)


def main() -> None:
    """Run, print the table, and with --write put it into docs/benchmarks.md."""
    options = _options()
    plan = Plan(options.seconds, options.clients, options.rate)
    with tempfile.TemporaryDirectory(prefix="recollect-soak-") as folder:
        with Server(Path(folder) / "data", {"RECOLLECT_DREAMING_DEBOUNCE_SECONDS": "1"}) as server:
            samples, seen, leftovers = asyncio.run(run(server, plan))
    result = table(plan, samples, seen)
    print(result)
    if options.write:
        replace_section(PAGE, result, BEGIN, END)
    faults = [*leftovers, *unexpected_answers(seen), *detect_growth(samples, plan.seconds, shared=options.shared)]
    for fault in faults:
        print(f"✗ {fault}", file=sys.stderr)
    raise SystemExit(1 if faults else 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--rate", type=float, default=64.0, help="requests a second, all clients together")
    parser.add_argument("--shared", action="store_true", help="others use the machine: judge no latency")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    return parser.parse_args()


async def run(server: Server, plan: Plan) -> tuple[list[Sample], ClientStatistics, list[str]]:
    """Samples, what clients saw, and what was not handled at the end."""
    seen, writer = ClientStatistics(), TextGenerator()
    began = time.perf_counter()
    samples: list[Sample] = []
    async with asyncio.TaskGroup() as tasks:
        for number in range(plan.clients):
            client = await _Client.open(server, writer, seen, number)
            tasks.create_task(client.run(began, plan))
        while (elapsed := time.perf_counter() - began) < plan.seconds:
            await asyncio.sleep(min(plan.seconds / SAMPLES, plan.seconds - elapsed))
            samples.append(await asyncio.to_thread(_sample, server, seen, time.perf_counter() - began))
    connection = HttpConnection(server.url, server.key)
    await wait_for_zero_lag(connection)
    status = await connection.get("/admin/status")
    await connection.close()
    dead_letters = status["deadLetters"]
    leftovers = [f"{count} dead letters of {topic}" for topic, count in dead_letters.items()]
    failed = status["documents"].get("failed", 0)
    return samples, seen, leftovers + ([f"{failed} documents failed"] if failed else [])


class _Client:
    """Asks one thing after another on its own connection, at its own pace."""

    def __init__(
        self,
        server: Server,
        connection: HttpConnection,
        writer: TextGenerator,
        seen: ClientStatistics,
        number: int,
    ) -> None:
        self._server = server
        self._connection = connection
        self._writer = writer
        self._seen = seen
        self._number = number
        self._random = random.Random(number)
        self._path = f"/ns/soak-{number % NAMESPACES}"
        self._documents: deque[str] = deque()
        self._made = 0

    @classmethod
    async def open(cls, server: Server, writer: TextGenerator, seen: ClientStatistics, number: int) -> "_Client":
        return cls(server, _connect(server), writer, seen, number)

    async def run(self, began: float, plan: Plan) -> None:
        """All begin at once; who is late does not catch up."""
        kinds, weights = zip(*KINDS, strict=True)
        while time.perf_counter() - began < plan.seconds:
            asked = time.perf_counter()
            await self._do(self._random.choices(kinds, weights)[0])
            pause = self._random.expovariate(plan.rate / plan.clients)
            await asyncio.sleep(max(0.0, asked + pause - time.perf_counter()))
        await self._connection.close()

    async def _do(self, kind: str) -> None:
        subject = self._random.randrange(SUBJECTS)
        question: dict[str, Any] = {"query": self._writer.question(subject)}
        if kind == "write" or not self._documents:
            await self._write(subject)
        elif kind == "search":
            await self._ask(kind, "POST", "/search", question)
        elif kind == "filter":
            mine = {"field": "client", "operator": "eq", "value": self._number}
            await self._ask(kind, "POST", "/search", {**question, "filter": mine})
        elif kind == "profile":
            await self._ask(kind, "POST", "/profile", {})
        elif kind == "list":
            await self._ask(kind, "POST", "/list/documents?limit=20", {})
        else:
            await self._ask(kind, "GET", f"/document/{self._random.choice(self._documents)}")

    async def _write(self, subject: int) -> None:
        self._made += 1
        name = f"c{self._number}-{self._made}"
        text = f"I read about {self._writer.question(subject, 2)}. {self._writer.paragraph(900, subject)}"
        body = {"id": name, "content": text, "metadata": {"client": self._number}}
        if await self._ask("add", "POST", "/document", body):
            self._documents.append(name)
        if len(self._documents) > DOCUMENTS_KEPT_PER_CLIENT:
            # Whatever is answered: one that was told to come later may be gone by then.
            await self._ask("erase", "DELETE", "/document", {"ids": [self._documents.popleft()]})

    async def _ask(self, kind: str, method: str, path: str, body: Any = None) -> bool:
        """Return whether a request succeeded; responses that are neither success nor a retry request are recorded."""
        sent = b"" if body is None else json.dumps(body).encode()
        began = time.perf_counter()
        try:
            status, answer = await self._connection.request(method, self._path + path, sent)
        except (OSError, asyncio.IncompleteReadError) as error:
            self._seen.unexpected[f"{kind} got no answer: {error!r}"] += 1
            self._connection = _connect(self._server)
            return False
        self._seen.record(kind, time.perf_counter() - began)
        if status != 200:
            # The service may close the connection with it.
            await self._connection.close()
            self._connection = _connect(self._server)
        if status in RETRY_LATER_STATUSES:
            self._seen.retry_later[kind, status] += 1
        elif status != 200:
            self._seen.unexpected[f"{kind} answered {status}: {answer[:200].decode(errors='replace')}"] += 1
        return status == 200


def _connect(server: Server) -> HttpConnection:
    return HttpConnection(server.url, server.key)


def _sample(server: Server, seen: ClientStatistics, at: float) -> Sample:
    process = psutil.Process(server.pid)
    since, seen.since = seen.since, []
    files = file_sizes(server.data_dir)
    return Sample(
        at=at,
        cpu=sum(process.cpu_times()[:2]),
        resident=resident_bytes(server.pid),
        descriptors=process.num_fds(),
        files=len(files),
        disk=sum(files),
        latencies=tuple(since),
    )


def unexpected_answers(seen: ClientStatistics) -> list[str]:
    """Answers that nobody declared."""
    return [f"{count} times {what}" for what, count in seen.unexpected.most_common(10)]


def detect_growth(samples: Sequence[Sample], seconds: float, *, shared: bool = False) -> list[str]:
    """Return what grew from the second quarter of the run to its last; latency only if not `shared`."""
    quarter = len(samples) // 4
    early, late = samples[quarter : 2 * quarter], samples[-quarter:]
    slack = 24e6 if seconds >= WARM_UP_SECONDS else 64e6
    found = [
        _exceeds_growth("resident memory", [x.resident for x in early], [x.resident for x in late], 1.1, slack),
        _exceeds_growth("descriptors", [x.descriptors for x in early], [x.descriptors for x in late], 1.1, 100),
    ]
    if seconds >= FILES_SECONDS:
        found.append(
            _exceeds_growth("files", [sample.files for sample in early], [sample.files for sample in late], 1.25, 100)
        )
    if seconds >= LATENCY_SECONDS and not shared:
        before, after = ([value for sample in part for value in sample.latencies] for part in (early, late))
        found.append(_exceeds_growth("the median latency", before, after, 2.0, 0.005))
    return [fault for fault in found if fault is not None]


def _exceeds_growth(
    what: str, early: Sequence[float], late: Sequence[float], factor: float, slack: float
) -> str | None:
    if not early or not late:
        return f"{what} can't be judged: there are no figures"
    before, after = statistics.median(early), statistics.median(late)
    if after <= before * factor + slack:
        return None
    return f"{what} grew from {before:,.4g} to {after:,.4g} between the second and the last quarter"


def table(plan: Plan, samples: Sequence[Sample], seen: ClientStatistics) -> str:
    """The run over time, and each kind of request, as Markdown."""
    asked = sum(len(taken) for taken in seen.taken.values())
    note = (
        f"{plan.clients} clients for {plan.seconds / 60:.0f} minutes, {asked / plan.seconds:.0f} requests a"
        f" second ({asked:,} in all, {_retry_later_counts(seen)} rejected,"
        f" {seen.unexpected.total()} undeclared answers), {1000 * _cpu(samples):.1f} ms of processor time each;"
        f" {machine_description()}."
    )
    head = [
        "| after | requests | p50 | p99 | resident | descriptors | files | disk |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    rows = [_row(part) for part in _sample_groups(samples)]
    kinds = ["", "| | requests | p50 | p99 |", "|---|---:|---:|---:|"]
    for kind, taken in sorted(seen.taken.items()):
        kinds.append(f"| {kind} | {len(taken):,} | {' | '.join(_latencies(taken))} |")
    return "\n".join([note, "", *head, *rows, *kinds])


def _cpu(samples: Sequence[Sample]) -> float:
    """Seconds of the service's processor time a request, after the first part of the run."""
    asked = sum(len(sample.latencies) for sample in samples[1:])
    return (samples[-1].cpu - samples[0].cpu) / asked if asked else 0.0


def _retry_later_counts(seen: ClientStatistics) -> str:
    """Return the number of responses by kind and declared status."""
    return (
        ", ".join(f"{count:,} {kind} with {status}" for (kind, status), count in sorted(seen.retry_later.items()))
        or "0"
    )


def _sample_groups(samples: Sequence[Sample]) -> list[Sequence[Sample]]:
    each = -(-len(samples) // ROWS) or 1
    return [samples[start : start + each] for start in range(0, len(samples), each)]


def _row(part: Sequence[Sample]) -> str:
    taken = [value for sample in part for value in sample.latencies]
    last = part[-1]
    cells = [
        f"{last.at:,.0f} s",
        f"{len(taken):,}",
        *_latencies(taken),
        f"{last.resident / 1e6:,.0f} MB",
        f"{last.descriptors}",
        f"{last.files:,}",
        f"{last.disk / 1e6:,.0f} MB",
    ]
    return f"| {' | '.join(cells)} |"


def _latencies(taken: Sequence[float]) -> list[str]:
    """Return the median and the 99th percentile."""
    return [f"{milliseconds(taken, share) if taken else 0.0:.1f} ms" for share in (0.5, 0.99)]


if __name__ == "__main__":
    main()
