"""Locks: one holder of a name at a time, whatever becomes of the holder."""

import asyncio
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipeline.errors import LockLostError, OutageError
from pipeline.locks import LocalLocks
from pipeline.ports import Locks
from pipeline.store.leases import TTL_SECONDS, Lease, LeaseLocks
from pipeline.store.locks import FolderLocks
from pipeline.store.objects import QUICK, open_objects
from tests.patience import PATIENCE
from tests.s3 import S3

pytestmark = pytest.mark.anyio

Opened = Callable[[], Locks]
"""Every call is another process's view of the same locks, where several processes are meant to share them."""


@pytest.fixture(params=["local", "folder", "lease"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    if request.param == "local":
        locks = LocalLocks()
        return lambda: locks
    if request.param == "folder":
        return lambda: FolderLocks(tmp_path / "locks")
    s3: S3 = request.getfixturevalue("s3")
    uri = s3.uri()
    return lambda: LeaseLocks(open_objects(uri, s3.options))


@dataclass
class Clock:
    """This process's steady clock, which a test moves on, and with it all that waits in this process.

    Leases last long enough for any machine, and no test waits for their end.
    """

    ahead: float = 0.0

    async def until(self, done: Callable[[], bool]) -> None:
        """Let time pass, second after second."""
        while not done():
            self.ahead += 1.0
            await asyncio.sleep(0.01)

    async def through_renewals(self, *leases: Lease, count: int) -> None:
        """Let time pass until each was rewritten so many times, as often as it is meant to be."""
        for _ in range(count):
            before = [one._etag for one in leases]
            self.ahead += TTL_SECONDS / 4
            async with asyncio.timeout(PATIENCE):
                while any(one._etag == etag for one, etag in zip(leases, before, strict=True)):  # noqa: ASYNC110 - it tells nobody
                    await asyncio.sleep(0.01)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """In the place of the steady clock, and of the loop's, which asks it."""
    moved, steady = Clock(), time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: steady() + moved.ahead)
    return moved


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


_HOLD_FOR_EVER = """
import asyncio
from pathlib import Path
from pipeline.store.leases import LeaseLocks
from pipeline.store.locks import FolderLocks
from pipeline.store.objects import open_objects
async def main():
    async with {locks}.hold("a"):
        print("held", flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""


async def test_a_killed_process_gives_its_locks_back(tmp_path: Path) -> None:
    async with _process(_HOLD_FOR_EVER.format(locks=f"FolderLocks(Path({str(tmp_path)!r}))")) as process:
        await _waits_until_killed(FolderLocks(tmp_path), process)


async def test_the_lease_of_a_killed_process_ends(
    s3: S3, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_clock() -> float:
        raise AssertionError("a lease asks no wall clock")

    uri = s3.uri()
    async with _process(
        _HOLD_FOR_EVER.format(locks=f"LeaseLocks(open_objects({uri!r}, {s3.options!r}))")
    ) as process:
        monkeypatch.setattr(time, "time", no_clock)
        await _waits_until_killed(LeaseLocks(open_objects(uri, s3.options)), process, clock)


async def test_a_lease_that_is_renewed_is_kept_for_longer_than_its_time(s3: S3, clock: Clock) -> None:
    holder, other = _two_leases(s3)
    async with holder.hold("a") as hold:
        assert isinstance(hold, Lease)
        waiting = asyncio.create_task(_hold_once(other))
        await clock.through_renewals(hold, count=12)
        hold.check()
        assert not waiting.done()
    await waiting


async def test_who_can_no_longer_renew_knows_it_before_another_has_the_lock(s3: S3, clock: Clock) -> None:
    holder, other = _two_leases(s3)
    async with holder.hold("a") as hold:
        assert isinstance(hold, Lease)
        hold.end()  # as if this process stood still
        async with _held_in_time(other, clock) as others:
            with pytest.raises(LockLostError, match="not rewritten in time"):
                hold.check()
            others.check()
    # The late release of the first took nothing from the second, which released it too.
    async with holder.hold("a") as again:
        again.check()


async def test_who_finds_its_lease_taken_over_does_not_give_it_away(s3: S3, clock: Clock) -> None:
    holder, other = _two_leases(s3)
    third = LeaseLocks(holder._store)
    async with AsyncExitStack() as stack:
        async with holder.hold("a") as hold:
            assert isinstance(hold, Lease)
            hold.end()
            others = await stack.enter_async_context(_held_in_time(other, clock))
        waiting = asyncio.create_task(_hold_once(third))
        await clock.through_renewals(others, count=2)
        assert not waiting.done()
        others.check()
    await waiting


async def test_an_object_store_that_does_not_answer_is_an_outage() -> None:
    options = {
        "endpoint": "http://127.0.0.1:9",
        "region": "a",
        "access_key_id": "k",
        "secret_access_key": "s",
    }
    locks = LeaseLocks(open_objects("s3://bucket/x", options | {"allow_http": "true"}, within=QUICK))
    with pytest.raises(OutageError, match="object store failed"):
        await _hold_once(locks)


def _two_leases(s3: S3) -> tuple[LeaseLocks, LeaseLocks]:
    store = open_objects(s3.uri(), s3.options)
    return LeaseLocks(store), LeaseLocks(store)


@asynccontextmanager
async def _held_in_time(locks: LeaseLocks, clock: Clock) -> AsyncIterator[Lease]:
    """A lock that its holder does not give back, once its time is over."""
    async with AsyncExitStack() as stack:
        taking = asyncio.create_task(stack.enter_async_context(locks.hold("a")))
        await clock.until(taking.done)
        lease = taking.result()
        assert isinstance(lease, Lease)
        yield lease


async def _waits_until_killed(
    locks: Locks, holder: asyncio.subprocess.Process, clock: Clock | None = None
) -> None:
    waiting = asyncio.create_task(_hold_once(locks))
    await asyncio.sleep(0.1)  # whatever it may do before the kill, it must not get the lock
    assert not waiting.done()
    holder.send_signal(signal.SIGKILL)
    await holder.wait()
    if clock is not None:
        await clock.until(waiting.done)
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
