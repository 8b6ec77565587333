"""Barrier before reads: a slow process lets reads wait, an outage lets them go on."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from pipeline.errors import OutageError
from pipeline.runtime import read_barrier
from pipeline.runtime.read_barrier import ReadBarrier

pytestmark = pytest.mark.anyio


class FollowerDouble:
    """Follower of a log that answers, or does not; what was published is applied when `applied` is set."""

    def __init__(self) -> None:
        self.applied = asyncio.Event()
        self.is_away = False
        self.calls = 0

    async def catch_up(self) -> None:
        self.calls += 1
        if self.is_away:
            raise OutageError("the bus does not answer")
        await self.applied.wait()


def begin(read: Callable[[], Awaitable[None]]) -> asyncio.Future[None]:
    return asyncio.ensure_future(read())


async def test_a_read_of_a_process_that_is_behind_waits_instead_of_showing_less_than_an_earlier_one() -> None:
    follower = FollowerDouble()
    reading = begin(ReadBarrier(follower.catch_up, "Documents").refresh_if_available)
    await asyncio.sleep(0)
    assert not reading.done()
    follower.applied.set()
    await reading


async def test_a_read_of_a_process_that_stays_behind_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_barrier, "APPLY_TIMEOUT_SECONDS", 0.001)
    barrier = ReadBarrier(FollowerDouble().catch_up, "Documents")
    for _ in range(2):
        with pytest.raises(OutageError, match="Documents are not up to date"):
            await barrier.refresh_if_available()


async def test_in_an_outage_of_the_bus_reads_go_on_and_do_not_ask_each_time() -> None:
    follower = FollowerDouble()
    follower.is_away = True
    barrier = ReadBarrier(follower.catch_up, "Documents")
    for _ in range(3):
        await barrier.refresh_if_available()
    assert follower.calls == 1


async def test_reads_that_wait_when_an_outage_of_the_tables_begins_go_on() -> None:
    barrier = ReadBarrier(FollowerDouble().catch_up, "Documents")
    reads = [begin(barrier.refresh_if_available) for _ in range(3)]
    await asyncio.sleep(0)
    barrier.suspend()
    await asyncio.gather(*reads)
    await barrier.refresh_if_available()


async def test_after_an_outage_reads_catch_up_again_at_once() -> None:
    follower = FollowerDouble()
    barrier = ReadBarrier(follower.catch_up, "Documents")
    barrier.suspend()
    barrier.resume()
    follower.applied.set()
    await barrier.refresh_if_available()
    assert follower.calls == 1
