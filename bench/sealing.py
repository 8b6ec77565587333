"""Cost of sealing: CPU time of a service's start and of an ingest, with RECOLLECT_SEALING on and off in turn.

`python -m bench.sealing 9 200`: so many pairs of rounds, each with so many documents of 1 KB. A start is one on the
data of that round.
"""

import asyncio
import os
import sys
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

from bench.http_connection import HttpConnection
from bench.load import cpu_seconds
from bench.service_polling import wait_for_zero_lag
from bench.service_process import Server

_SETTINGS = {"RECOLLECT_EMBEDDER": "wordllama", "RECOLLECT_SHARDS": "1", "RECOLLECT_DREAMING_DEBOUNCE_SECONDS": "0"}


async def _measure(documents: int, *, sealing: bool) -> tuple[float, float]:
    """Return the CPU seconds of an ingest and of the next start."""
    with TemporaryDirectory() as folder:
        server = Server(Path(folder) / "data", {**_SETTINGS, "RECOLLECT_SEALING": str(sealing).lower()})
        with server:
            before = cpu_seconds(server.pid)
            connection = HttpConnection(server.url, server.key)
            for number in range(documents):
                await connection.post("/ns/home/document", _document(number))
            await wait_for_zero_lag(connection, 0.5)
            await connection.close()
            ingest = cpu_seconds(server.pid) - before
        with server:
            return ingest, cpu_seconds(server.pid)


def _document(number: int) -> dict[str, str]:
    text = f"Note {number}: Ada{number} lives in Porto{number}. " + f"word{number} other text follows here. " * 31
    return {"content": text, "dreaming": "instant"}  # else some memories would be formed after the last look


async def _compare(pairs: int, documents: int) -> None:
    ratios: list[tuple[float, float]] = []
    for pair in range(pairs):
        found = {sealing: await _measure(documents, sealing=sealing) for sealing in (pair % 2 == 0, pair % 2 == 1)}
        ratios.append((found[True][0] / found[False][0], found[True][1] / found[False][1]))
        _tell(
            f"load {os.getloadavg()[0]:.0f}: ingest {found[True][0]:.2f} / {found[False][0]:.2f} s, "
            f"start {found[True][1]:.2f} / {found[False][1]:.2f} s"
        )
    for name, values in zip(("ingest", "start"), zip(*ratios, strict=True), strict=True):
        low, _, high = quantiles(values, n=4)
        _tell(f"{name}: {median(values):.3f}, quartiles {low:.3f} and {high:.3f}")


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_compare(*map(int, sys.argv[1:])))
