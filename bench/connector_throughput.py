"""Throughput of a connector over a small source that answers at once: `make bench ARGS=--connectors`.

Throughput of each provider over its double: `python -m tests.connectors.scheduler_benchmark`.
"""

import asyncio
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

import httpx2
import psutil

from app.connector_composition import ConnectorRuntime
from bench.doubles.connected_app import PUBLIC_URL, run_connected_app
from bench.doubles.sample_source import SampleProvider, SampleSource
from pipeline.settings import Settings

ITEMS = 10_000
_TEXT = "The kettle number {number} is blue, and stands in the kitchen of the old house by the harbour. "
_MEGABYTE = 1024 * 1024
_ADMIN_KEY = "rk_the_admin_key_of_the_benchmark"


def run(*, quick: bool) -> None:
    """Measure and print a Markdown table."""
    items = ITEMS // 10 if quick else ITEMS
    figures = {
        "engine alone": asyncio.run(_measure(items, engine_only=True)),
        "whole service in one process": asyncio.run(_measure(items, engine_only=False)),
    }
    print(f"| {items:,} items of 1 KB | items/s | per second of CPU | calls | nothing new | memory |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, figure in figures.items():
        shown = [figure["per_second"], figure["per_cpu_second"], figure["calls"], figure["quiet"]]
        print(f"| {name} | {' | '.join(f'{value:,.0f}' for value in shown)} | +{figure['memory']:.0f} MB |")


async def _measure(items: int, *, engine_only: bool) -> Mapping[str, float]:
    """Measure a first and an unchanged second run; with `engine_only` the pipeline does not process documents."""
    source, process = SampleSource(), psutil.Process()
    for number in range(items):
        source.put(f"k{number}", _TEXT.format(number=number) * 10)
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder:
        settings = Settings(
            _env_file=None, data_dir=Path(folder), log_partitions=2, shards=1, dreaming_debounce_seconds=0.0
        )
        providers = {"github": SampleProvider()}
        running: bool | Literal["engine"] = "engine" if engine_only else True
        async with (
            run_connected_app(settings, _ADMIN_KEY, providers, source.transport(), running=running) as connected,
            httpx2.AsyncClient(
                transport=httpx2.ASGITransport(connected.app),
                base_url=PUBLIC_URL,
                headers={"Authorization": f"Bearer {_ADMIN_KEY}"},
            ) as client,
        ):
            before, started, spent = process.memory_info().rss, time.monotonic(), time.process_time()
            connector = await connect_sample(client)
            await wait_for_runs(connected.connectors, connector, 1)
            seconds, memory = time.monotonic() - started, process.memory_info().rss - before
            spent, calls = time.process_time() - spent, len(source.calls)
            await _post(client, f"/ns/bench/connectors/{connector}/sync")
            await wait_for_runs(connected.connectors, connector, 2)
    return {
        "per_second": items / seconds,
        "per_cpu_second": items / spent,
        "calls": calls,
        "quiet": len(source.calls) - calls,
        "memory": memory / _MEGABYTE,
    }


async def connect_sample(client: httpx2.AsyncClient) -> str:
    """The id of a new connector, authorized as a browser would do it."""
    created = await _post(client, "/ns/bench/connectors", {"provider": "github"})
    state = parse_qs(urlsplit(created["authorization"]["url"]).query)["state"][0]
    await client.get("/oauth/callback", params={"state": state, "code": "a-code"})
    return str(created["id"])


async def _post(client: httpx2.AsyncClient, path: str, body: Mapping[str, Any] | None = None) -> Any:
    return (await client.post(path, json=body)).raise_for_status().json()


async def wait_for_runs(connectors: ConnectorRuntime, connector: str, runs: int) -> None:
    while True:
        row = await connectors.account_linking.registry.load_runs(connector)
        if len(row.runs) >= runs and row.active_run is None:
            if row.runs[0].status != "completed":
                raise RuntimeError(row.runs[0].error)
            return
        await asyncio.sleep(0.02)
