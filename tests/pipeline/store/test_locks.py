"""Locks: one holder of a name at a time, whatever becomes of the holder."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pipeline.locks import LocalLocks
from pipeline.ports import Locks
from pipeline.store.locks import FolderLocks

pytestmark = pytest.mark.anyio

Opened = Callable[[], Locks]
"""Every call is another process's view of the same locks, where several processes are meant to share them."""


@pytest.fixture(params=["local", "folder"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    if request.param == "local":
        locks = LocalLocks()
        return lambda: locks
    return lambda: FolderLocks(tmp_path / "locks")


async def test_a_name_has_one_holder_at_a_time(opened: Opened) -> None:
    views, inside, most, turns = [opened(), opened()], 0, 0, 0

    async def worker(number: int) -> None:
        nonlocal inside, most, turns
        for _ in range(10):
            async with views[number % 2].hold("a"):
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0)
                inside -= 1
                turns += 1

    await asyncio.gather(*(worker(number) for number in range(6)))
    assert (most, turns) == (1, 60)


async def test_names_do_not_wait_for_each_other(opened: Opened) -> None:
    names = ["a", "b", "a/b", "../a", "ü" * 200]
    async with opened().hold(names[0]), opened().hold(names[1]), opened().hold(names[2]):
        async with opened().hold(names[3]), opened().hold(names[4]):
            pass


async def test_an_error_inside_gives_the_lock_back(opened: Opened) -> None:
    locks = opened()
    with pytest.raises(LookupError):
        async with locks.hold("a"):
            raise LookupError
    async with locks.hold("a") as hold:
        hold.check()


async def test_who_gives_up_waiting_leaves_the_lock_to_others(opened: Opened) -> None:
    holder, other = opened(), opened()
    async with holder.hold("a"):
        waiting = asyncio.create_task(_hold_once(other))
        await asyncio.sleep(0.01)  # into the wait itself; whichever step it reached, the end is the same
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    await _hold_once(other)
    await _hold_once(holder)


async def test_waiting_does_not_stop_the_event_loop(opened: Opened) -> None:
    holder, other = opened(), opened()
    async with holder.hold("a"):
        waiting = asyncio.create_task(_hold_once(other))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not waiting.done()
    await waiting


async def test_a_busy_holder_lets_another_in(opened: Opened) -> None:
    busy, other = opened(), opened()
    done = asyncio.Event()

    async def take_and_give() -> None:
        while not done.is_set():
            async with busy.hold("a"):
                await asyncio.sleep(0.002)

    taking = asyncio.create_task(take_and_give())
    await asyncio.sleep(0)
    await _hold_once(other)
    done.set()
    await taking


async def test_a_killed_process_gives_its_locks_back(tmp_path: Path) -> None:
    code = f"""
import asyncio
from pathlib import Path
from pipeline.store.locks import FolderLocks
async def main():
    async with FolderLocks(Path({str(tmp_path)!r})).hold("a"):
        print("held", flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""
    async with _process(code) as process:
        waiting = asyncio.create_task(_hold_once(FolderLocks(tmp_path)))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not waiting.done()
        process.send_signal(signal.SIGKILL)
        await waiting


@asynccontextmanager
async def _process(code: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Another interpreter that runs this until it says that it is ready."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert await process.stdout.readline()
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _hold_once(locks: Locks) -> None:
    async with locks.hold("a"):
        pass
