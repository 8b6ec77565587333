"""A run in a process that is killed again and again, and what is left to do afterwards."""

import asyncio
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest

from bench.doubles.sample_source import PAGE, SampleProvider, SampleSource
from tests.support.asgi_server import serve_app
from tests.support.connectors.connected_service import run_connected_service
from tests.support.timeouts import WAIT_TIMEOUT_SECONDS

TEXTS = 400


async def _killed_after(shelf: SampleSource, folder: Path, at: str, reads: int, *, anew: bool) -> str:
    """What the process said before it was killed, which it was after so many more reads."""
    words = ["-m", "tests.support.connectors.killable_service", str(folder), at, *(["anew"] if anew else [])]
    process = await asyncio.create_subprocess_exec(sys.executable, *words, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    enough = len(shelf.calls) + reads

    try:
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            said = (await process.stdout.readline()).decode().strip() if anew else ""
            while len(shelf.calls) < enough:  # noqa: ASYNC110 - it is another process that reads
                await asyncio.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        await process.wait()
    return said


@pytest.mark.anyio
async def test_a_killed_run_continues_where_it_was(tmp_path: Path) -> None:
    shelf = SampleSource()
    for number in range(TEXTS):
        shelf.put(f"k{number}", f"The kettle number {number} is blue.")
    async with serve_app(shelf.app()) as at:
        connector = await _killed_after(shelf, tmp_path, at, PAGE + 20, anew=True)
        await _killed_after(shelf, tmp_path, at, PAGE, anew=False)
        async with run_connected_service(tmp_path, {"github": SampleProvider(base_url=at)}) as world:
            run = await world.wait_for_run(connector)
            assert (run.status, run.documents, run.failed) == ("completed", TEXTS, 0)
            assert len(await world.documents("alice")) == TEXTS
            assert len((await world.get("alice", connector))["syncs"]) == 1
    read = Counter(call for call in shelf.calls if call.startswith("GET /texts/"))
    assert len(read) == TEXTS
    assert sum(read.values()) - TEXTS <= 2 * PAGE, "only what came after a checkpoint is read again"
