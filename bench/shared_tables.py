"""Cost of sharing tables among processes: `python -m bench.shared_tables [--seconds 3]`, as a Markdown
table.

Each figure is of `update` until its rows are durable: 20 documents of 1 KB in each of 8 updates at a time.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from bench.result_tables import machine_description
from pipeline.rows import DocumentRow
from pipeline.store import Store, open_locks, open_store
from schemas.ids import document_key
from tools.s3_server import run_s3_server

CONCURRENT_UPDATES = 8
GROUPS = 20
TEXT = "x" * 1000
EXCLUSIVE = "one's own"
_AT = datetime(2026, 1, 1, tzinfo=UTC)


async def _open_table(uri: str, *, shared: bool) -> Store:
    locks = open_locks(uri) if shared else None
    return await open_store(uri, dimensions=256, shards=4, embedder="bench", locks=locks)


async def _run(uri: str, seconds: float, *, shared: bool) -> tuple[float, float, int]:
    """Updates per second, the median of one in milliseconds, and how many there were."""
    store = await _open_table(uri, shared=shared)
    running = asyncio.create_task(store.run())
    taken: list[float] = []
    until = time.perf_counter() + seconds

    async def work(number: int) -> None:
        incarnation = f"incarnation{number}#0"
        rows = {document_key(incarnation, str(number)): _row(incarnation, str(number)) for number in range(GROUPS)}
        while time.perf_counter() < until:
            began = time.perf_counter()
            await store.documents.update(list(rows), lambda key, old: [_incremented(rows[key], old)])
            await store.documents.wait_until_durable()
            taken.append(time.perf_counter() - began)

    await asyncio.gather(*map(work, range(CONCURRENT_UPDATES)))
    await store.close()
    await running
    return len(taken) / seconds, sorted(taken)[len(taken) // 2] * 1000, len(taken)


def _row(incarnation: str, name: str) -> DocumentRow:
    return DocumentRow(
        key=document_key(incarnation, name), incarnation=incarnation, id=name, seq=0, content_seq=0,
        created_at=_AT, updated_at=_AT, text=TEXT,
    )  # fmt: skip


def _incremented(row: DocumentRow, old: list[DocumentRow]) -> DocumentRow:
    return replace(row, seq=old[0].seq + 1 if old else 1)


async def _total(uri: str, *, shared: bool) -> int:
    """Return how often each worker's document was counted; every update counts it once."""
    store = await _open_table(uri, shared=shared)
    rows = await store.documents.get(
        [document_key(f"incarnation{number}#0", "0") for number in range(CONCURRENT_UPDATES)]
    )
    return sum(members[0].seq for members in rows.values())


def _processes(number: int, uri: str, seconds: float, *, shared: bool) -> tuple[float, float]:
    command = [sys.executable, "-m", "bench.shared_tables", "--worker", uri, "--seconds", str(seconds)]
    if shared:
        command.append("--locked")
    quiet = {**os.environ, "LANCEDB_LOG": "error"}
    started = [
        subprocess.Popen(command, stdout=subprocess.PIPE, env=quiet)  # noqa: S603 - our own module
        for _ in range(number)
    ]
    figures = [json.loads(process.communicate()[0]) for process in started]
    counted = asyncio.run(_total(uri, shared=shared))
    done = sum(figure[2] for figure in figures)
    if counted != done:
        raise RuntimeError(f"{done} updates were acknowledged, {counted} are in the table.")
    return sum(figure[0] for figure in figures), sum(figure[1] for figure in figures) / number


def _compare(seconds: float) -> list[tuple[str, float, float]]:
    rows: list[tuple[str, float, float]] = []
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as name:
        folder = Path(name)
        (folder / "s3").mkdir()
        with run_s3_server(folder / "s3") as s3:
            os.environ.update(s3.environment_variables)
            places = {"folder": lambda: str(folder / str(len(rows))), "S3": s3.unused_uri}
            for place, uri in places.items():
                for number, shared in ((1, False), (1, True), (2, True)):
                    label = f"{'shared' if shared else EXCLUSIVE}, {number} process{'es' * (number > 1)}, {place}"
                    rows.append((label, *_processes(number, uri(), seconds, shared=shared)))
    return rows


def main() -> None:
    """Measure and print; with --worker be one of the processes."""
    parser = argparse.ArgumentParser(prog="python -m bench.shared_tables", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--worker", metavar="URI")
    parser.add_argument("--locked", action="store_true")
    options = parser.parse_args()
    if options.worker is not None:
        print(json.dumps(asyncio.run(_run(options.worker, options.seconds, shared=options.locked))))
        return
    rows = _compare(options.seconds)
    base = {label.rpartition(", ")[2]: rate for label, rate, _ in rows if label.startswith(EXCLUSIVE)}
    print(f"{CONCURRENT_UPDATES} updates at a time of {GROUPS} documents of 1 KB each; {machine_description()}.\n")
    print("| Tables | updates/s | ms each (p50) | of one's own |\n|---|---|---|---|")
    for label, rate, each in rows:
        print(f"| {label} | {rate:.0f} | {each:.0f} | {rate / base[label.rpartition(', ')[2]]:.0%} |")


if __name__ == "__main__":
    main()
