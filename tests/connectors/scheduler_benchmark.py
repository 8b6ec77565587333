"""Ten thousand items of a provider through the whole engine: figures of docs/connectors.md.

    python -m tests.connectors.scheduler_benchmark [--items 10000] [provider ...]

What a run leaves in the log is not worked on meanwhile, no request is delayed, and the double with its judge
is in the same process (the S3 server beside it): the rates are of all of them together.
"""

import asyncio
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

from connectors.client.request_throttle import RateLimit
from connectors.providers.web_crawler.provider import MAX_PAGES
from tests.connectors.connector_demo import OriginRouter, world
from tests.connectors.provider_benchmark import CallCounter
from tests.connectors.provider_contract import SourceDriver
from tests.support.connectors.connected_service import ConnectedService, run_connected_service
from tests.support.providers.provider_double import ProviderDouble

UNLIMITED_RATE = RateLimit(requests_per_second=1e6, max_concurrent=16, burst=1000)
_TEXT = "The kettle number {number} is blue, and stands in the kitchen of the old house by the harbour. "
_WARM_UP_ITEMS = 20
_MEGABYTE = 1024 * 1024


async def main(items: int, names: list[str]) -> None:
    """A row of a Markdown table for each provider."""
    _print_line(f"| {items:,} items of 1 KB | calls | nothing new | items/s | per second of CPU | memory |")
    _print_line("|---|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as store, tempfile.TemporaryDirectory() as data:
        async with world(Path(store)) as sources:
            for name, source in sources.items():
                if name in names or not names:
                    # A crawl asks for 10,000 pages, of which the start page is one.
                    some = min(items, MAX_PAGES - 1) if name == "web-crawler" else items
                    texts = {f"k{n}": _TEXT.format(number=n) * 10 for n in range(some)}
                    first = dict(list(texts.items())[:_WARM_UP_ITEMS])
                    await source.put_all(first)
                    source.provider.rate_limit = UNLIMITED_RATE
                    if isinstance(double := getattr(source, "double", None), ProviderDouble):
                        double.calls = CallCounter()
                    folder, providers = Path(data) / name, {name: source.provider}
                    way = OriginRouter({name: source})
                    async with run_connected_service(
                        folder, providers, way, running="engine", fetch_private_addresses=True
                    ) as service:
                        # What the double's judge and the tables take once is not what items take.
                        await _measured(service, f"{name}-first", source, len(first))
                        await source.put_all({key: texts[key] for key in texts.keys() - first.keys()})
                        _print_line(await _measured(service, name, source, some))


async def _measured(service: ConnectedService, name: str, source: SourceDriver, items: int) -> str:
    process, called = psutil.Process(), source.call_count()
    before, started, spent = process.memory_info().rss, time.monotonic(), time.process_time()
    source.consent()
    connector = await service.create(name, source.provider.name, **source.fields)
    runs, documents = 1, await _ended(service, connector, 1)
    if not documents and source.selection is not None:
        body = {"selection": {kind: list(ids) for kind, ids in source.selection.items()}}
        await service.client.ok("PATCH", f"/ns/{name}/connectors/{connector}", body)
        runs, documents = 2, await _ended(service, connector, 2)
    seconds, spent = time.monotonic() - started, time.process_time() - spent
    memory, calls = (process.memory_info().rss - before) / _MEGABYTE, source.call_count()
    await service.client.ok("POST", f"/ns/{name}/connectors/{connector}/sync")
    if not items == documents == await _ended(service, connector, runs + 1):
        raise RuntimeError(f"{name}: {documents} of {items} items have a document.")
    again = source.call_count() - calls
    return (
        f"| {name} | {calls - called:,} | {again:,} | {items / seconds:,.0f} | {items / spent:,.0f} |"
        f" {memory:+,.0f} MB |"
    )


async def _ended(service: ConnectedService, connector: str, runs: int) -> int:
    """How many documents there are once so many runs have ended."""
    while True:
        row = await service.connectors.account_linking.registry.load_runs(connector)
        if len(row.runs) >= runs and row.active_run is None:
            newest = row.runs[0]
            if newest.status != "completed" or newest.failed:
                raise RuntimeError(f"{newest.error} {newest.failures[:1]}")
            return newest.documents
        await asyncio.sleep(0.02)


def _print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    given = sys.argv[1:]
    number = 10_000
    with suppress(ValueError):
        at = given.index("--items")
        number = int(given[at + 1])
        del given[at : at + 2]
    asyncio.run(main(number, given))
