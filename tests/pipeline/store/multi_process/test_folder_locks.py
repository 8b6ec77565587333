"""Locks: one holder of a name at a time, even if the holder fails or is killed."""

import asyncio
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from pipeline.errors import LockLostError, OutageError
from pipeline.ports import Locks
from pipeline.runtime.local_locks import LocalLocks
from pipeline.store.blobs import conditional_put
from pipeline.store.blobs.object_store_client import SHORT_TIMEOUT, open_object_store
from pipeline.store.multi_process import object_store_leases
from pipeline.store.multi_process.folder_locks import FolderLocks
from pipeline.store.multi_process.object_store_leases import TTL_SECONDS, ObjectLease, ObjectLeaseLocks
from tests.support.timeouts import WAIT_TIMEOUT_SECONDS
from tools.s3_server import S3Server

pytestmark = pytest.mark.anyio

Opened = Callable[[], Locks]
"""Opens the same locks as another process would, where several processes can share them."""


@pytest.fixture(params=["local", "folder", "lease"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    if request.param == "local":
        locks = LocalLocks()
        return lambda: locks
    if request.param == "folder":
        return lambda: FolderLocks(tmp_path / "locks")
    s3: S3Server = request.getfixturevalue("s3")
    uri = s3.unused_uri()
    return lambda: ObjectLeaseLocks(open_object_store(uri, s3.options))


@dataclass
class Clock:
    """Monotonic clock of this process and its event loop, which a test moves on.

    Leases last long enough for any machine, and no test waits for their end.
    """

    ahead: float = 0.0

    async def until(self, done: Callable[[], bool]) -> None:
        """Let time pass, second after second."""
        while not done():
            self.ahead += 1.0
            await asyncio.sleep(0.01)

    async def through_renewals(self, *leases: ObjectLease, count: int) -> None:
        """Let time pass until each lease was renewed `count` times."""
        for _ in range(count):
            before = [lease._etag for lease in leases]
            self.ahead += TTL_SECONDS / 4
            async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
                while any(lease._etag == etag for lease, etag in zip(leases, before, strict=True)):  # noqa: ASYNC110 - a lease signals nothing
                    await asyncio.sleep(0.01)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Replace the monotonic clock, which the event loop reads as well."""
    moving_clock, steady = Clock(), time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: steady() + moving_clock.ahead)
    return moving_clock


async def test_a_name_has_one_holder_at_a_time(opened: Opened) -> None:
    views, inside, most, turns = [opened(), opened()], 0, 0, 0

    async def worker(number: int) -> None:
        nonlocal inside, most, turns
        for _ in range(10):
            async with views[number % 2].acquire("a"):
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0)
                inside -= 1
                turns += 1

    await asyncio.gather(*(worker(number) for number in range(6)))
    assert (most, turns) == (1, 60)


async def test_names_do_not_wait_for_each_other(opened: Opened) -> None:
    names = ["a", "b", "a/b", "../a", "ü" * 200]
    async with opened().acquire(names[0]), opened().acquire(names[1]), opened().acquire(names[2]):
        async with opened().acquire(names[3]), opened().acquire(names[4]):
            pass


async def test_an_error_inside_releases_the_lock(opened: Opened) -> None:
    locks = opened()
    with pytest.raises(LookupError):
        async with locks.acquire("a"):
            raise LookupError
    async with locks.acquire("a") as hold:
        hold.ensure_valid()


async def test_a_cancelled_waiter_leaves_the_lock_to_others(opened: Opened) -> None:
    holder, other = opened(), opened()
    async with holder.acquire("a"):
        waiting = asyncio.create_task(_hold_once(other))
        await asyncio.sleep(0.01)  # into the wait itself; whichever step it reached, the end is the same
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    await _hold_once(other)
    await _hold_once(holder)


async def test_waiting_does_not_block_the_event_loop(opened: Opened) -> None:
    holder, other = opened(), opened()
    async with holder.acquire("a"):
        waiting = asyncio.create_task(_hold_once(other))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not waiting.done()
    await waiting


async def test_a_busy_holder_lets_others_in(opened: Opened) -> None:
    busy, other = opened(), opened()
    done = asyncio.Event()

    async def take_and_give() -> None:
        while not done.is_set():
            async with busy.acquire("a"):
                await asyncio.sleep(0.002)

    taking = asyncio.create_task(take_and_give())
    await asyncio.sleep(0)
    await _hold_once(other)
    done.set()
    await taking


_HOLD_FOR_EVER = """
import asyncio
from pathlib import Path
from pipeline.store.multi_process.object_store_leases import ObjectLeaseLocks
from pipeline.store.multi_process.folder_locks import FolderLocks
from pipeline.store.blobs.object_store_client import open_object_store
async def main():
    async with {locks}.acquire("a"):
        print("held", flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""


async def test_the_locks_of_a_killed_process_are_released(tmp_path: Path) -> None:
    async with _process(_HOLD_FOR_EVER.format(locks=f"FolderLocks(Path({str(tmp_path)!r}))")) as process:
        await _waits_until_killed(FolderLocks(tmp_path), process)


async def test_the_lease_of_a_killed_process_expires(
    s3: S3Server, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = s3.unused_uri()
    async with _process(
        _HOLD_FOR_EVER.format(locks=f"ObjectLeaseLocks(open_object_store({uri!r}, {s3.options!r}))")
    ) as process:
        # A lease asks no wall clock. Other threads of this process may, when a log message is written.
        for module in (object_store_leases, conditional_put):
            monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=time.monotonic))
        await _waits_until_killed(ObjectLeaseLocks(open_object_store(uri, s3.options)), process, clock)


async def test_a_renewed_lease_is_kept_beyond_its_time_to_live(s3: S3Server, clock: Clock) -> None:
    holder, other = _two_leases(s3)
    async with holder.acquire("a") as hold:
        assert isinstance(hold, ObjectLease)
        waiting = asyncio.create_task(_hold_once(other))
        await clock.through_renewals(hold, count=12)
        hold.ensure_valid()
        assert not waiting.done()
    await waiting


async def test_a_holder_that_cannot_renew_knows_before_another_has_the_lock(s3: S3Server, clock: Clock) -> None:
    holder, other = _two_leases(s3)
    async with holder.acquire("a") as hold:
        assert isinstance(hold, ObjectLease)
        hold.stop_renewal()  # as if this process stood still
        async with _held_in_time(other, clock) as others:
            with pytest.raises(LockLostError, match="not rewritten in time"):
                hold.ensure_valid()
            others.ensure_valid()
    # The late release of the first took nothing from the second, which released it too.
    async with holder.acquire("a") as again:
        again.ensure_valid()


async def test_a_holder_whose_lease_was_taken_over_does_not_release_it(s3: S3Server, clock: Clock) -> None:
    holder, other = _two_leases(s3)
    third = ObjectLeaseLocks(holder._store)
    async with AsyncExitStack() as stack:
        async with holder.acquire("a") as hold:
            assert isinstance(hold, ObjectLease)
            hold.stop_renewal()
            others = await stack.enter_async_context(_held_in_time(other, clock))
        waiting = asyncio.create_task(_hold_once(third))
        await clock.through_renewals(others, count=2)
        assert not waiting.done()
        others.ensure_valid()
    await waiting


async def test_an_object_store_that_does_not_answer_is_an_outage() -> None:
    options = {
        "endpoint": "http://127.0.0.1:9",
        "region": "a",
        "access_key_id": "k",
        "secret_access_key": "s",
    }
    locks = ObjectLeaseLocks(
        open_object_store("s3://bucket/x", options | {"allow_http": "true"}, timeout=SHORT_TIMEOUT)
    )
    with pytest.raises(OutageError, match="object store failed"):
        await _hold_once(locks)


def _two_leases(s3: S3Server) -> tuple[ObjectLeaseLocks, ObjectLeaseLocks]:
    store = open_object_store(s3.unused_uri(), s3.options)
    return ObjectLeaseLocks(store), ObjectLeaseLocks(store)


@asynccontextmanager
async def _held_in_time(locks: ObjectLeaseLocks, clock: Clock) -> AsyncIterator[ObjectLease]:
    """A lock that its holder does not give back, once its time is over."""
    async with AsyncExitStack() as stack:
        taking = asyncio.create_task(stack.enter_async_context(locks.acquire("a")))
        await clock.until(taking.done)
        lease = taking.result()
        assert isinstance(lease, ObjectLease)
        yield lease


async def _waits_until_killed(locks: Locks, holder: asyncio.subprocess.Process, clock: Clock | None = None) -> None:
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
    async with locks.acquire("a"):
        pass
