"""Barrier before reads: a slow process lets reads wait, an outage lets them go on."""

import asyncio
import gc
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
        self.called = asyncio.Event()
        self.is_away = False

    async def catch_up(self) -> None:
        if self.is_away:
            raise OutageError("the bus does not answer")
        self.called.set()
        await self.applied.wait()


def begin(read: Callable[[], Awaitable[bool]]) -> asyncio.Future[bool]:
    return asyncio.ensure_future(read())


async def test_a_read_of_a_process_that_is_behind_waits_instead_of_showing_less_than_an_earlier_one() -> None:
    follower = FollowerDouble()
    reading = begin(ReadBarrier(follower.catch_up, "Documents").refresh_if_available)
    await asyncio.sleep(0)
    assert not reading.done()
    follower.applied.set()
    assert await reading


async def test_a_read_of_a_process_that_stays_behind_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_barrier, "APPLY_TIMEOUT_SECONDS", 0.001)
    barrier = ReadBarrier(FollowerDouble().catch_up, "Documents")
    for _ in range(2):
        with pytest.raises(OutageError, match="Documents are not up to date"):
            await barrier.refresh_if_available()


async def test_in_an_outage_of_the_bus_reads_go_on_and_it_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    follower = FollowerDouble()
    follower.is_away = True
    barrier = ReadBarrier(follower.catch_up, "Documents")
    for _ in range(3):
        assert not await barrier.refresh_if_available()
    assert [record.message for record in caplog.records] == [
        "Documents may be out of date, the bus does not answer: the bus does not answer"
    ]


async def test_the_first_read_after_an_outage_of_the_bus_waits_for_what_was_published() -> None:
    follower = FollowerDouble()
    follower.is_away = True
    barrier = ReadBarrier(follower.catch_up, "Documents")
    assert not await barrier.refresh_if_available()
    follower.is_away = False
    reading = begin(barrier.refresh_if_available)
    await follower.called.wait()
    assert not reading.done()
    follower.applied.set()
    assert await reading


async def test_a_bus_that_is_silent_makes_reads_wait_for_a_moment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_barrier, "OUTAGE_WAIT_SECONDS", 0.001)
    follower = FollowerDouble()
    barrier = ReadBarrier(follower.catch_up, "Documents")
    barrier.suspend()
    assert not await barrier.refresh_if_available()
    # What came too late for that read ends the outage all the same.
    follower.applied.set()
    monkeypatch.setattr(read_barrier, "OUTAGE_WAIT_SECONDS", 60)
    assert await barrier.refresh_if_available()


async def test_reads_that_wait_when_an_outage_of_the_tables_begins_go_on() -> None:
    barrier = ReadBarrier(FollowerDouble().catch_up, "Documents")
    reads = [begin(barrier.refresh_if_available) for _ in range(3)]
    await asyncio.sleep(0)
    barrier.suspend()
    assert not any(await asyncio.gather(*reads))


async def test_after_an_outage_reads_catch_up_again_at_once() -> None:
    follower = FollowerDouble()
    barrier = ReadBarrier(follower.catch_up, "Documents")
    barrier.suspend()
    barrier.resume()
    reading = begin(barrier.refresh_if_available)
    await follower.called.wait()
    assert not reading.done()
    follower.applied.set()
    assert await reading


async def test_an_outage_that_no_read_waits_for_any_more_leaves_no_error_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unhandled: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unhandled.append(context))
    follower = FollowerDouble()

    async def answer_late() -> None:
        await follower.applied.wait()
        await follower.catch_up()

    barrier = ReadBarrier(answer_late, "Documents")
    with monkeypatch.context() as patch:
        patch.setattr(read_barrier, "APPLY_TIMEOUT_SECONDS", 0.001)
        with pytest.raises(OutageError, match="not up to date"):
            await barrier.refresh_if_available()
    follower.is_away = True
    follower.applied.set()
    assert not await barrier.refresh_if_available()
    follower.is_away = False
    assert await barrier.refresh_if_available()
    gc.collect()
    assert unhandled == []
