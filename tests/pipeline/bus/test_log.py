"""The embedded log: the contract of every bus, and what only a log in a folder can promise."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from sqlite3 import OperationalError

import pytest

from pipeline.bus.journal import Committed, PartitionsFixedError, Seat, Work
from pipeline.bus.log import LogBus, LogOpenError
from pipeline.bus.writer import LogClosedError, LogWriteError
from pipeline.errors import DataDirectoryLockedError, RejectedError
from pipeline.ports import Position
from pipeline.records import Entry
from pipeline.stage import Record, Stage
from schemas.topics import Topic
from tests.fakes import FixedClock
from tests.pipeline.bus.contract import (
    QUICK,
    BusContract,
    EndError,
    Notebook,
    Noted,
    noted,
    spread,
)
from tests.pipeline.bus.keeping import KeepingContract

pytestmark = pytest.mark.anyio

NOTES = Topic("test.notes.v1", Noted)
BRIEF = Topic("test.brief.v1", Noted, keep=timedelta(days=7))
NEWEST = Topic("test.newest.v1", Noted, compacted=True)


def entry_of(value: bytes) -> Entry:
    return Entry(b"key", value, {})


class LogHarness:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = FixedClock()
        self.bus: LogBus | None = None

    async def open(self) -> LogBus:
        await self.close()
        self.bus = await LogBus.open(self.folder, partitions=4, clock=self.clock, patience=QUICK)
        return self.bus

    async def close(self) -> None:
        if self.bus is not None:
            await self.bus.close()

    def topic(self, name: str) -> Topic[Noted]:
        return Topic(f"test.{name}.v1", Noted)

    def stage(self, name: str) -> str:
        return name


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[LogHarness]:
    harness = LogHarness(tmp_path / "log")
    yield harness
    await harness.close()


@pytest.fixture
async def bus(harness: LogHarness) -> LogBus:
    return await harness.open()


class TestLogBus(BusContract, KeepingContract):
    """The contract, on SQLite."""


async def test_publishers_that_wait_together_share_a_transaction(bus: LogBus) -> None:
    free = threading.Event()
    blocked = bus._writer.between(free.wait)
    publishing = asyncio.gather(*(bus.publish(NOTES, noted([number])) for number in range(200)))
    await asyncio.sleep(0)
    before = bus.transactions
    free.set()
    await blocked
    places = await publishing
    assert bus.transactions == before + 1
    assert sorted(place.offset for (place,) in places) == list(range(200))


async def test_work_that_fails_does_not_take_its_companions_along(bus: LogBus) -> None:
    free = threading.Event()
    blocked = bus._writer.between(free.wait)
    spoilt = bus._writer.submit(lambda log: log._db.execute("nonsense"))
    good = asyncio.ensure_future(bus.publish(NOTES, noted([1])))
    await asyncio.sleep(0)
    free.set()
    await blocked
    with pytest.raises(LogWriteError, match="nonsense"):
        await spoilt
    assert [place.offset for place in await good] == [0]


async def test_a_full_disk_fails_the_publish_and_nothing_else(bus: LogBus) -> None:
    await bus.publish(NOTES, noted([1]))
    (pages,) = bus._journal._db.execute("PRAGMA page_count").fetchone()
    bus._journal._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(LogWriteError, match="full"):
        await bus.publish(NOTES, noted(range(1000)))
    bus._journal._db.execute("PRAGMA max_page_count = 1000000")
    (place,) = await bus.publish(NOTES, noted([2]))
    assert place.offset == 1
    assert await bus.depth(NOTES.name) == 2


async def test_a_second_process_is_told_who_holds_the_directory(bus: LogBus, harness: LogHarness) -> None:
    with pytest.raises(DataDirectoryLockedError, match=f"process {os.getpid()}.*RECOLLECT_DATA_DIR"):
        await LogBus.open(harness.folder, partitions=4, clock=harness.clock)


async def test_closing_releases_the_directory(bus: LogBus, harness: LogHarness) -> None:
    await bus.close()
    other = await LogBus.open(harness.folder, partitions=4, clock=harness.clock)
    await other.close()


async def test_publishing_to_a_closed_log_is_an_error(bus: LogBus) -> None:
    await bus.close()
    with pytest.raises(LogClosedError, match="closed"):
        await bus.publish(NOTES, noted([1]))


async def test_the_number_of_partitions_cannot_change(bus: LogBus, harness: LogHarness) -> None:
    await bus.close()
    with pytest.raises(PartitionsFixedError, match="RECOLLECT_PARTITIONS=4"):
        await LogBus.open(harness.folder, partitions=8, clock=harness.clock)
    assert (await harness.open()).partitions == 4


async def test_a_log_that_cannot_be_opened_says_where_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "log.db").write_bytes(b"no database at all " * 1000)
    with pytest.raises(LogOpenError, match=r"log can't be opened: file is not a database\. See"):
        await LogBus.open(tmp_path / "log", partitions=2, clock=FixedClock())


async def test_a_commit_is_synced(bus: LogBus) -> None:
    assert bus._journal._db.execute("PRAGMA synchronous").fetchone() == (2,)
    assert bus._journal._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


async def test_reached_waits_for_its_own_offset(bus: LogBus) -> None:
    places = await bus.publish(NOTES, noted(range(3)))
    waiting = [
        asyncio.create_task(bus.reached("recollect.slow", NOTES.name, place.partition, place.offset))
        for place in places
    ]
    seen: list[list[bool]] = []

    async def handle(batch: Sequence[Record[Noted]]) -> None:
        await asyncio.sleep(0)
        seen.append([task.done() for task in waiting])

    await bus.run([Stage("slow", NOTES, handle, batch=1)], until_idle=True)
    await asyncio.gather(*waiting)
    assert [sum(done) for done in seen] == [0, 1, 2]


async def test_a_read_of_large_values_is_split(bus: LogBus) -> None:
    large = Topic("test.large.v1", Noted)
    book = Notebook()
    value = Noted(number=1).model_dump_json().encode().ljust(3_000_000)
    await bus.append(large.name, [entry_of(value)] * 4)
    await bus.run([Stage("large", large, book.handle)], until_idle=True)
    assert [len(batch) for batch in book.batches] == [2, 2]


async def test_retention_removes_what_is_old_and_read(bus: LogBus, harness: LogHarness) -> None:
    await bus.publish(BRIEF, noted(range(1200)))
    await bus.run([Stage("reader", BRIEF, Notebook().handle)], until_idle=True)
    harness.clock.advance(6 * 86400)
    await bus.publish(BRIEF, noted([2000]))
    harness.clock.advance(2 * 86400)
    assert await bus.maintain([BRIEF, NOTES]) == 1200
    assert [Noted.model_validate_json(one.value).number async for one in bus.read(BRIEF.name)] == [2000]


async def test_retention_never_passes_a_record_that_a_group_has_yet_to_read(
    bus: LogBus, harness: LogHarness
) -> None:
    book = Notebook(failures={5: [EndError()]})
    slow, fast = Stage("slow", BRIEF, book.handle, batch=1), Stage("fast", BRIEF, Notebook().handle)
    await bus.publish(BRIEF, noted(range(10)))
    await bus.run([fast], until_idle=True)
    with pytest.raises(EndError):
        await bus.run([slow])
    harness.clock.advance(30 * 86400)
    assert await bus.maintain([BRIEF]) == 5
    await bus.run([slow], until_idle=True)
    assert book.numbers == list(range(10))


async def test_a_forgotten_group_holds_nothing_back(bus: LogBus, harness: LogHarness) -> None:
    await bus.run([Stage("gone", BRIEF, Notebook().handle)], until_idle=True)
    await bus.publish(BRIEF, noted(range(10)))
    await bus.forget("recollect.gone")
    harness.clock.advance(30 * 86400)
    assert await bus.maintain([BRIEF]) == 10
    bus = await harness.open()
    assert await bus.lag() == {}


async def test_what_is_gone_is_no_lag_of_a_stage_that_never_ran(bus: LogBus, harness: LogHarness) -> None:
    late = Stage("late", BRIEF, Notebook().handle)
    await bus.publish(BRIEF, noted(range(10)))
    assert sum((await bus.lag([late]))[late.group].values()) == 10
    harness.clock.advance(30 * 86400)
    assert await bus.maintain([BRIEF]) == 10
    assert sum((await bus.lag([late]))[late.group].values()) == 0
    await bus.publish(BRIEF, noted([10]))
    assert sum((await bus.lag([late]))[late.group].values()) == 1


async def test_offsets_are_not_reused_after_everything_was_removed(bus: LogBus, harness: LogHarness) -> None:
    await bus.publish(BRIEF, noted(range(10)))
    harness.clock.advance(30 * 86400)
    await bus.maintain([BRIEF])
    bus = await harness.open()
    (place,) = await bus.publish(BRIEF, noted([1]))
    assert place.offset == 10


async def test_a_group_steps_over_what_retention_removed(bus: LogBus, harness: LogHarness) -> None:
    await bus.publish(BRIEF, noted(range(10)))
    harness.clock.advance(30 * 86400)
    await bus.maintain([BRIEF])
    book = Notebook()
    late = Stage("late", BRIEF, book.handle)
    await bus.run([late], until_idle=True)
    await bus.publish(BRIEF, noted([11]))
    await bus.run([late], until_idle=True)
    assert book.numbers == [11]


async def test_compaction_keeps_the_newest_of_each_key_at_its_offset(
    bus: LogBus, harness: LogHarness
) -> None:
    places = await bus.publish(NEWEST, spread(1500))
    assert await bus.maintain([NEWEST]) == 1500 - 17
    expected = dict(zip([key for key, _ in spread(1500)], places, strict=True))
    bus = await harness.open()
    found = {
        record.key.decode(): Position(record.partition, record.offset)
        async for record in bus.read(NEWEST.name)
    }
    assert found == expected
    assert await bus.maintain([NEWEST]) == 0


async def test_removed_records_give_their_space_back(bus: LogBus, harness: LogHarness) -> None:
    await bus.append(BRIEF.name, [entry_of(b"x" * 100_000)] * 20)
    pages = "PRAGMA page_count"
    (before,) = bus._journal._db.execute(pages).fetchone()
    harness.clock.advance(30 * 86400)
    await bus.maintain([BRIEF])
    (after,) = bus._journal._db.execute(pages).fetchone()
    assert after < before / 4


async def test_dead_letters_are_listed_over_all_topics_up_to_a_limit(bus: LogBus) -> None:
    book = Notebook(failures={number: [RejectedError("no")] * 10 for number in range(6)})
    for topic in (NOTES, NEWEST):
        await bus.publish(topic, spread(6))
        await bus.run([Stage(f"of-{topic.name}", topic, book.handle)], until_idle=True)
    assert len(await bus.dead_letters()) == 12
    assert len(await bus.dead_letters(limit=7)) == 7
    assert {letter.origin[0] for letter in await bus.dead_letters(NEWEST.name)} == {NEWEST.name}


async def test_positions_are_saved_without_any_further_write(bus: LogBus) -> None:
    commit, saved = bus._journal.commit, asyncio.Event()
    loop = asyncio.get_running_loop()

    def watch(works: Sequence[Work], positions: Mapping[Seat, int]) -> Committed:
        committed = commit(works, positions)
        if 1 in positions.values():
            loop.call_soon_threadsafe(saved.set)
        return committed

    await bus.publish(NOTES, noted([1]))
    bus._journal.commit = watch  # type: ignore[method-assign]  # to see the writer's own transactions
    await bus.run([Stage("saved", NOTES, Notebook().handle)], until_idle=True)
    await saved.wait()
    assert max(bus._journal.positions().values()) == 1


async def test_a_position_that_cannot_be_saved_now_is_saved_later(bus: LogBus, harness: LogHarness) -> None:
    commit, refused = bus._journal.commit, asyncio.Event()
    loop = asyncio.get_running_loop()

    def refuse(*_: object) -> None:
        loop.call_soon_threadsafe(refused.set)
        raise OperationalError("disk I/O error")

    await bus.publish(NOTES, noted([1]))
    bus._journal.commit = refuse  # type: ignore[assignment, method-assign]  # a disk that fails for a while
    await bus.run([Stage("later", NOTES, Notebook().handle)], until_idle=True)
    await refused.wait()
    bus._journal.commit = commit  # type: ignore[method-assign]
    bus = await harness.open()
    assert set((await bus.lag())["recollect.later"].values()) == {0}


async def test_a_moment_is_found_among_records_of_which_some_are_gone(harness: LogHarness) -> None:
    bus = await harness.open()
    for number in range(20):
        harness.clock.advance(1)
        await bus.publish(NOTES, [("k", Noted(number=number))])
    every = [record async for record in bus.read(NOTES.name)]
    gone = {0, 1, 7, 8, 9, 15}
    await bus._writer.submit(lambda log: log.remove(NOTES.name, every[0].partition, gone))
    for moment in (record.at + timedelta(seconds=half / 2) for record in every for half in (-1, 0, 1)):
        found = [record.offset async for record in bus.since(NOTES.name, "k", moment)]
        assert found == [one.offset for one in every if one.at >= moment and one.offset not in gone]
