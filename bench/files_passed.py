"""Count the product files that a request and a connector's item pass: `python -m bench.files_passed [--list]`.

A file is passed if one of its functions runs for the work: in the context of the request, or of the connector's run
from the first question to the provider to the checkpoint after the item. One process, the embedded log, no embedder.
"""

import asyncio
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import Any

import httpx2

from bench.connector_throughput import connect_sample, wait_for_runs
from bench.doubles.connected_app import PUBLIC_URL, run_connected_app
from bench.doubles.sample_source import SampleProvider, SampleSource
from connectors.provider_interface import Connection
from connectors.sync_messages import Cursor, SyncMessage, SyncState
from pipeline.settings import Settings

ROOT = Path(__file__).parents[1]
PRODUCT = tuple(f"{ROOT / folder}/" for folder in ("api", "app", "connectors", "pipeline", "schemas"))
_ADMIN_KEY = "rk_the_admin_key_of_the_benchmark"
_passed: ContextVar[dict[str, None] | None] = ContextVar("passed", default=None)
"""Files passed by the work of this context, in their order; None: it is not watched."""


def _note_file(frame: FrameType, event: str, _: Any) -> None:
    """Profile hook: note the file of a function that is called."""
    if event == "call" and (passed := _passed.get()) is not None and frame.f_code.co_filename.startswith(PRODUCT):
        passed.setdefault(frame.f_code.co_filename.removeprefix(f"{ROOT}/"))


@contextmanager
def _watched() -> Iterator[dict[str, None]]:
    """Watch the work of this context, and of tasks and threads that it starts."""
    passed: dict[str, None] = {}
    token = _passed.set(passed)
    try:
        yield passed
    finally:
        _passed.reset(token)


class _WatchedProvider(SampleProvider):
    """Watches its run from here on; the runner works in the context in which it reads these messages."""

    passed: dict[str, None]

    async def sync(self, connection: Connection, cursor: Cursor | None, state: SyncState) -> AsyncIterator[SyncMessage]:
        self.passed = {}
        _passed.set(self.passed)
        async for step in super().sync(connection, cursor, state):
            yield step
        _passed.set(None)


async def _measure(folder: Path) -> dict[str, list[str]]:
    settings = Settings(_env_file=None, data_dir=folder, log_partitions=2, shards=1, embedder="none")
    source, provider = SampleSource(), _WatchedProvider()
    source.put("kettle", "The kettle is blue.")
    found: dict[str, list[str]] = {}
    async with (
        run_connected_app(settings, _ADMIN_KEY, {"github": provider}, source.transport()) as connected,
        httpx2.AsyncClient(
            transport=httpx2.ASGITransport(connected.app),
            base_url=PUBLIC_URL,
            headers={"Authorization": f"Bearer {_ADMIN_KEY}"},
        ) as client,
    ):
        for name, path, body in (
            ("an add", "/ns/bench/document", {"content": "The kettle is blue.", "id": "kettle"}),
            ("a search", "/ns/bench/search", {"query": "Where is the kettle?"}),
        ):
            await client.post(path, json=body | ({"id": "first"} if "id" in body else {}))  # opens what stays open
            with _watched() as passed:
                (await client.post(path, json=body)).raise_for_status()
            found[name] = list(passed)
        connector = await connect_sample(client)
        await wait_for_runs(connected.connectors, connector, 1)
        source.put("clock", "The clock is red.")
        (await client.post(f"/ns/bench/connectors/{connector}/sync")).raise_for_status()
        await wait_for_runs(connected.connectors, connector, 2)
        found["an item of a connector"] = list(provider.passed)
    return found


def main() -> None:
    """Print the numbers as Markdown rows; with --list also the files, in the order in which they are first passed."""
    threading.setprofile(_note_file)
    sys.setprofile(_note_file)
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder:
        found = asyncio.run(_measure(Path(folder)))
    sys.setprofile(None)
    for name, files in found.items():
        print(f"| files passed by {name} | {len(files)} |")
        for file in files if "--list" in sys.argv else ():
            print(f"  {file}")


if __name__ == "__main__":
    main()
