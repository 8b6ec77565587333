"""How fast a connector runs, over a small source that answers at once: `make bench ARGS=--connectors`.

Of each provider, over its double: `python -m tests.connectors.measure_engine`.
"""

import asyncio
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

from tests.connectors.shelf import Shelf, ShelfProvider
from tests.connectors.world import Connected, connected

ITEMS = 10_000
_TEXT = "The kettle number {number} is blue, and stands in the kitchen of the old house by the harbour. "
_MEGABYTE = 1024 * 1024


def run(*, quick: bool) -> None:
    """Measure and print a Markdown table."""
    items = ITEMS // 10 if quick else ITEMS
    figures = {
        "engine alone": asyncio.run(_measured(items, alone=True)),
        "whole service in one process": asyncio.run(_measured(items, alone=False)),
    }
    print(f"| {items:,} items of 1 KB | items/s | per second of CPU | calls | nothing new | memory |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, one in figures.items():
        shown = [one["per_second"], one["per_cpu_second"], one["calls"], one["quiet"]]
        print(f"| {name} | {' | '.join(f'{value:,.0f}' for value in shown)} | +{one['memory']:.0f} MB |")


async def _measured(items: int, *, alone: bool) -> Mapping[str, float]:
    """`alone`: what runs leave in the log is not worked on meanwhile."""
    shelf, process = Shelf(), psutil.Process()
    for number in range(items):
        shelf.put(f"k{number}", _TEXT.format(number=number) * 10)
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder:
        async with connected(
            Path(folder), {"github": ShelfProvider()}, shelf.transport(), running="engine" if alone else True
        ) as world:
            before, started, spent = process.memory_info().rss, time.monotonic(), time.process_time()
            connector = await world.create("bench", "github")
            await _ended(world, connector, 1)
            seconds, memory = time.monotonic() - started, process.memory_info().rss - before
            spent, calls = time.process_time() - spent, len(shelf.calls)
            await world.client.ok("POST", f"/ns/bench/connectors/{connector}/sync")
            await _ended(world, connector, 2)
    return {
        "per_second": items / seconds,
        "per_cpu_second": items / spent,
        "calls": calls,
        "quiet": len(shelf.calls) - calls,
        "memory": memory / _MEGABYTE,
    }


async def _ended(world: Connected, connector: str, runs: int) -> None:
    while True:
        row = await world.connectors.offers.connections.runs(connector)
        if len(row.runs) >= runs and row.running is None:
            if row.runs[0].status != "completed":
                raise RuntimeError(row.runs[0].error)
            return
        await asyncio.sleep(0.02)
