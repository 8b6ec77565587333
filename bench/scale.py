"""`python -m bench.scale`: what grows with documents and namespaces, and how.

Every size gets a log of its own (bench.log_generator), tables rebuilt from it by `recollect replay`, and a
service that is then measured over HTTP. Figures go to a JSON file, a line each, so that a long run can be continued.
"""

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench import log_generator
from bench.http_connection import HttpConnection
from bench.load import file_sizes, folder_bytes, resident_bytes
from bench.result_tables import milliseconds
from bench.service_polling import wait_for_zero_lag
from bench.service_process import PROGRAM, Server, unconfigured
from bench.text_generator import TextGenerator

DOCUMENTS = (1_000, 10_000, 100_000, 1_000_000)
NAMESPACES = (1, 100, 10_000)
CHARACTERS = 400
ADDED = 2_000
"""Documents added to measure ingest at a size."""
BATCH = 100
SEARCHES = 300
SEARCH_SECONDS = 60.0
"""No search is begun later than this: where one takes seconds, a few say enough."""
WARM_UP_SEARCHES = 10
"""Namespaces that are asked again and again; the cold figure asks others, once each."""


@dataclass(frozen=True, slots=True)
class ScaleResult:
    """Figures of one size. Milliseconds, documents a second, bytes."""

    documents: int
    namespaces: int
    replay: float
    ingest: float
    start: float
    cold_p50: float
    warm_p50: float
    warm_p99: float
    resident: int
    tables: int
    log: int
    files: int


def main() -> None:
    """Measure what is not in the results yet, then print all as a table."""
    options = _options()
    done = read(options.results)
    for documents, namespaces in _sizes(options.most):
        if any((figures.documents, figures.namespaces) == (documents, namespaces) for figures in done):
            continue
        grown = _measure(documents, namespaces, options.folder)
        done.append(grown)
        with options.results.open("a") as results:
            results.write(json.dumps(asdict(grown)) + "\n")
    print(table(done))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--most", type=int, default=DOCUMENTS[-1], help="leave out sizes above this one")
    parser.add_argument("--folder", type=Path, default=None, help="where data goes; a temporary one if not set")
    parser.add_argument("--results", type=Path, default=Path("scale.jsonl"), help="figures, a line per size")
    return parser.parse_args()


def _sizes(most: int) -> list[tuple[int, int]]:
    return [(size, namespaces) for size in DOCUMENTS for namespaces in NAMESPACES if namespaces <= size <= most]


def read(results: Path) -> list[ScaleResult]:
    """Read earlier measurements."""
    lines = results.read_text().splitlines() if results.exists() else []
    return [ScaleResult(**json.loads(line)) for line in lines]


def _measure(documents: int, namespaces: int, folder: Path | None) -> ScaleResult:
    _log(f"{documents:,} documents in {namespaces:,} namespaces")
    with tempfile.TemporaryDirectory(prefix="recollect-scale-", dir=folder) as place:
        data = Path(place) / "data"
        data.mkdir()
        asyncio.run(log_generator.write(data, documents, namespaces, CHARACTERS))
        _log("  written; replaying")
        took = replayed(data)
        _log(f"  replayed in {took:.1f} s")
        server = Server(data)
        start = server.start()
        try:
            figures = asyncio.run(_asked(server, namespaces))
        finally:
            server.stop()
        tables = file_sizes(data / "tables")
        return ScaleResult(
            documents=documents,
            namespaces=namespaces,
            replay=documents / took,
            start=start,
            tables=sum(tables),
            log=folder_bytes(data / "log"),
            files=len(tables),
            **figures,
        )


def replayed(data: Path) -> float:
    """Seconds to build the tables from the log, by the command that an operator has."""
    began = time.perf_counter()
    subprocess.run(  # noqa: S603 - our own command
        [PROGRAM, "replay"],
        check=True,
        cwd=data,
        env={**unconfigured(), "RECOLLECT_DATA_DIR": str(data)},
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - began


async def _asked(server: Server, namespaces: int) -> dict[str, Any]:
    connection = HttpConnection(server.url, server.key)
    writer, chance = TextGenerator(11), random.Random(5)
    ingest = await _ingest(connection, writer, namespaces)
    strangers = chance.sample(range(namespaces), min(namespaces, 50))
    home = strangers[:WARM_UP_SEARCHES]
    cold = await _searches(connection, writer, strangers, chance)
    warm = await _searches(connection, writer, [home[n % len(home)] for n in range(SEARCHES)], chance)
    await connection.close()
    return {
        "ingest": ingest,
        "cold_p50": milliseconds(cold),
        "warm_p50": milliseconds(warm),
        "warm_p99": milliseconds(warm, 0.99),
        "resident": resident_bytes(server.pid),
    }


async def _ingest(connection: HttpConnection, writer: TextGenerator, namespaces: int) -> float:
    """Documents a second, from the first request until the last document is done."""
    texts = [writer.paragraph(1000) for _ in range(ADDED)]
    began = time.perf_counter()
    for first in range(0, ADDED, BATCH):
        home = log_generator.namespace((first // BATCH) % namespaces)
        documents = [
            {"id": f"added-{first + n}", "content": text} for n, text in enumerate(texts[first : first + BATCH])
        ]
        await connection.post(f"/ns/{home}/document/batch", {"documents": documents, "taskType": "superrag"})
    await wait_for_zero_lag(connection)
    return ADDED / (time.perf_counter() - began)


async def _searches(
    connection: HttpConnection, writer: TextGenerator, homes: Sequence[int], chance: random.Random
) -> list[float]:
    """Seconds of each search, one after the other; at least one."""
    end = time.perf_counter() + SEARCH_SECONDS
    took: list[float] = []
    for home in homes:
        took.append(await _search(connection, writer, home, chance))
        if time.perf_counter() > end:
            break
    return took


async def _search(connection: HttpConnection, writer: TextGenerator, home: int, chance: random.Random) -> float:
    body = {
        "query": writer.question(chance.randrange(log_generator.TEXTS)),
        "searchMode": "chunks",
        "threshold": 0,
    }
    began = time.perf_counter()
    await connection.post(f"/ns/{log_generator.namespace(home)}/search", body)
    return time.perf_counter() - began


def table(grown: Sequence[ScaleResult]) -> str:
    """The figures as Markdown."""
    head = (
        "| documents | namespaces | replay/s | ingest/s | start s | cold search ms | search p50 ms | p99 ms |"
        " resident MB | tables MB | log MB | files |\n|" + "---:|" * 12
    )
    rows = [
        f"| {figures.documents:,} | {figures.namespaces:,} | {figures.replay:,.0f} | {figures.ingest:,.0f} |"
        f" {figures.start:.1f} | {figures.cold_p50:.1f} | {figures.warm_p50:.2f} | {figures.warm_p99:.2f} |"
        f" {figures.resident / 1e6:,.0f} | {figures.tables / 1e6:,.0f} | {figures.log / 1e6:,.0f} | {figures.files:,} |"
        for figures in sorted(grown, key=lambda figures: (figures.documents, figures.namespaces))
    ]
    return "\n".join([head, *rows])


def _log(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
