"""Settings lock: changes of one setting follow one another, and barriers see every earlier change."""

import asyncio
from collections.abc import Mapping

import pytest

from pipeline.errors import OutageError
from pipeline.runtime.settings_lock import SettingsLock
from schemas.events import OrganizationChanged, SettingsChanged
from schemas.topics import SETTINGS_CHANGED
from tests.support.fakes import EPOCH, RecordingPublisher

pytestmark = pytest.mark.anyio


class SettingsLogDouble:
    """Log of settings written by other processes, with the offset applied here."""

    def __init__(self) -> None:
        self.published_offset = 0
        self.applied_offset = 0
        self.calls = 0
        self.call_started = asyncio.Event()
        self.released = asyncio.Event()
        self.released.set()

    async def catch_up(self) -> None:
        self.calls += 1
        self.call_started.set()
        seen = self.published_offset
        await self.released.wait()
        self.applied_offset = max(self.applied_offset, seen)


async def test_the_lock_holder_has_applied_every_earlier_change() -> None:
    log = SettingsLogDouble()
    settings_lock = SettingsLock(catch_up=log.catch_up)
    log.published_offset = 3
    async with settings_lock.acquire("organization"):
        assert log.applied_offset == 3


async def test_concurrent_changes_are_not_lost() -> None:
    log = SettingsLogDouble()
    settings_lock = SettingsLock(catch_up=log.catch_up)

    async def add() -> None:
        async with settings_lock.acquire("organization"):
            value = log.applied_offset
            await asyncio.sleep(0)
            log.published_offset = value + 1

    await asyncio.gather(*(add() for _ in range(20)))
    await settings_lock.catch_up()
    assert log.applied_offset == 20


async def test_changes_of_different_settings_overlap_and_those_of_one_do_not() -> None:
    settings_lock = SettingsLock()
    alice, bob = "namespace/alice", "namespace/bob"
    async with settings_lock.acquire(alice):
        async with asyncio.timeout(5), settings_lock.acquire(bob):
            pass
        with pytest.raises(OutageError):
            async with SettingsLock(settings_lock._locks, timeout_seconds=0.01).acquire(bob, alice):
                pass


async def test_two_that_need_the_same_settings_do_not_wait_for_each_other() -> None:
    settings_lock, done = SettingsLock(timeout_seconds=5), list[str]()

    async def change(*settings: str) -> None:
        async with settings_lock.acquire(*settings):
            await asyncio.sleep(0)
            done.append(settings[0])

    names = [f"namespace/{number}" for number in range(6)]
    await asyncio.gather(*(change(*order) for _ in range(20) for order in (names, names[::-1])))
    assert len(done) == 40


async def test_a_change_is_applied_when_its_publication_returns() -> None:
    publisher, applied = RecordingPublisher(), list[dict[int, int]]()

    async def wait_for(ends: Mapping[int, int]) -> None:
        applied.append(dict(ends))

    change = SettingsChanged(change=OrganizationChanged(context="we", updated_at=EPOCH))
    await SettingsLock(wait_for=wait_for).publish(publisher, [("organization", change)] * 3)
    assert (applied, len(publisher.events(SETTINGS_CHANGED))) == ([{0: 3}], 3)


async def test_a_change_that_can_not_be_shown_in_time_is_an_outage() -> None:
    async def wait_for(_: Mapping[int, int]) -> None:
        await asyncio.Event().wait()

    settings_lock = SettingsLock(wait_for=wait_for, timeout_seconds=0.01)
    change = SettingsChanged(change=OrganizationChanged(context="we", updated_at=EPOCH))
    with pytest.raises(OutageError, match="can't show"):
        await settings_lock.publish(RecordingPublisher(), [("organization", change)])


async def test_calls_during_a_catch_up_share_the_next_one() -> None:
    log = SettingsLogDouble()
    settings_lock = SettingsLock(catch_up=log.catch_up)
    log.released.clear()
    first = asyncio.create_task(settings_lock.catch_up())
    await log.call_started.wait()
    log.published_offset = 7
    later = [asyncio.create_task(settings_lock.catch_up()) for _ in range(50)]
    await asyncio.sleep(0)
    log.released.set()
    await asyncio.gather(first, *later)
    assert log.applied_offset == 7
    assert log.calls == 2


async def test_a_cancelled_caller_does_not_cancel_the_shared_catch_up() -> None:
    log = SettingsLogDouble()
    settings_lock = SettingsLock(catch_up=log.catch_up)
    log.released.clear()
    impatient, patient = (
        asyncio.create_task(settings_lock.catch_up()),
        asyncio.create_task(settings_lock.catch_up()),
    )
    await asyncio.sleep(0)
    impatient.cancel()
    log.released.set()
    await patient
    assert log.calls == 1


async def test_in_an_outage_a_read_continues_and_a_change_fails() -> None:
    async def away() -> None:
        raise OutageError("the bus is away")

    settings_lock = SettingsLock(catch_up=away, refresh=away)
    await settings_lock.refresh_if_available()
    with pytest.raises(OutageError):
        async with settings_lock.acquire("organization"):
            pass


async def test_waiting_changes_time_out_together_when_settings_cannot_be_read() -> None:
    log = SettingsLogDouble()
    log.released.clear()
    settings_lock = SettingsLock(catch_up=log.catch_up, timeout_seconds=0.01)

    async def change() -> None:
        async with settings_lock.acquire("organization"):
            pass

    ended = await asyncio.gather(*(change() for _ in range(20)), return_exceptions=True)
    assert {type(error) for error in ended} == {OutageError}
    log.released.set()
    async with SettingsLock(catch_up=log.catch_up).acquire("organization"):
        assert log.applied_offset == 0


async def test_without_other_processes_no_catch_up_is_needed() -> None:
    settings_lock = SettingsLock()
    await settings_lock.refresh_if_available()
    async with settings_lock.acquire("organization"):
        await settings_lock.catch_up()
