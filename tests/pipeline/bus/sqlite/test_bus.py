"""Embedded log: the contract of every bus, durability, retention and compaction."""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from secrets import token_bytes

import pytest

from pipeline.bus.records import ProducerRecord
from pipeline.bus.sqlite import log_database, log_eraser, log_reader
from pipeline.bus.sqlite.bus import LogOpenError, SqliteBus
from pipeline.bus.sqlite.log_database import (
    CommitResult,
    GroupPartition,
    LogDatabase,
    LogFormatError,
    PartitionCountMismatchError,
    TransactionWork,
)
from pipeline.bus.sqlite.log_writer import LogClosedError, LogWriteError
from pipeline.errors import DamagedLogError, DataDirectoryLockedError, RejectedError
from pipeline.ports import Position
from pipeline.runtime import sqlite_connection
from pipeline.stage import Record, Stage
from schemas.topics import Topic
from tests.pipeline.bus.bus_contract import (
    FAST_RETRIES,
    BusContract,
    NumberedEvent,
    RecordingHandler,
    SimulatedCrashError,
    events_across_keys,
    numbered_events,
)
from tests.pipeline.bus.positions_contract import PositionsContract
from tests.support.fakes import FixedClock

pytestmark = pytest.mark.anyio

NOTES = Topic("test.notes.v1", NumberedEvent)
SHORT_RETENTION = Topic("test.brief.v1", NumberedEvent, retention=timedelta(days=7))
COMPACTED = Topic("test.newest.v1", NumberedEvent, compacted=True)


def producer_record(value: bytes) -> ProducerRecord:
    return ProducerRecord(b"key", value, {})


class SqliteHarness:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = FixedClock()
        self.bus: SqliteBus | None = None

    async def open(self) -> SqliteBus:
        await self.close()
        self.bus = await SqliteBus.open(self.folder, partitions=4, clock=self.clock, retry_policy=FAST_RETRIES)
        return self.bus

    async def close(self) -> None:
        if self.bus is not None:
            await self.bus.close()

    def topic(self, name: str) -> Topic[NumberedEvent]:
        return Topic(f"test.{name}.v1", NumberedEvent)

    def stage(self, name: str) -> str:
        return name


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[SqliteHarness]:
    harness = SqliteHarness(tmp_path / "log")
    yield harness
    await harness.close()


@pytest.fixture
async def bus(harness: SqliteHarness) -> SqliteBus:
    return await harness.open()


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[sqlite3.Connection]:
    """Connections that the log opens: the writer's, then the reader's."""
    opened: list[sqlite3.Connection] = []

    def recording_connect(path: Path, *pragmas: str) -> sqlite3.Connection:
        opened.append(sqlite_connection.connect(path, *pragmas))
        return opened[-1]

    monkeypatch.setattr(log_database, "connect", recording_connect)
    return opened


class TestSqliteBus(BusContract, PositionsContract):
    """The contract, on SQLite."""


async def test_a_full_disk_fails_the_publish_and_nothing_else(
    connections: list[sqlite3.Connection], harness: SqliteHarness
) -> None:
    bus = await harness.open()
    writer_connection = connections[0]
    await bus.publish(NOTES, numbered_events([1]))
    (pages,) = writer_connection.execute("PRAGMA page_count").fetchone()
    writer_connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(LogWriteError, match="full"):
        await bus.publish(NOTES, numbered_events(range(1000)))
    writer_connection.execute("PRAGMA max_page_count = 1000000")
    (place,) = await bus.publish(NOTES, numbered_events([2]))
    assert place.offset == 1
    assert await bus.depth(NOTES.name) == 2


async def test_the_lock_error_names_the_process_that_holds_the_directory(
    bus: SqliteBus, harness: SqliteHarness
) -> None:
    with pytest.raises(DataDirectoryLockedError, match=f"process {os.getpid()}.*RECOLLECT_DATA_DIR"):
        await SqliteBus.open(harness.folder, partitions=4, clock=harness.clock)


async def test_closing_releases_the_directory(bus: SqliteBus, harness: SqliteHarness) -> None:
    await bus.close()
    other = await SqliteBus.open(harness.folder, partitions=4, clock=harness.clock)
    await other.close()


async def test_publishing_to_a_closed_log_is_an_error(bus: SqliteBus) -> None:
    await bus.close()
    with pytest.raises(LogClosedError, match="closed"):
        await bus.publish(NOTES, numbered_events([1]))


async def test_the_number_of_partitions_cannot_change(bus: SqliteBus, harness: SqliteHarness) -> None:
    await bus.close()
    with pytest.raises(PartitionCountMismatchError, match="RECOLLECT_LOG_PARTITIONS=4"):
        await SqliteBus.open(harness.folder, partitions=8, clock=harness.clock)
    assert (await harness.open()).partitions == 4


async def test_a_log_of_an_older_format_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    with closing(sqlite3.connect(tmp_path / "log" / "log.db")) as db:
        db.execute("CREATE TABLE records(position INTEGER PRIMARY KEY)")
        db.commit()
    with pytest.raises(LogFormatError, match="RECOLLECT_DATA_DIR to a new directory"):
        await SqliteBus.open(tmp_path / "log", partitions=2, clock=FixedClock())


async def test_the_error_of_a_log_that_cannot_be_opened_names_the_place_and_the_remedy(
    tmp_path: Path,
) -> None:
    (tmp_path / "log").touch()
    with pytest.raises(LogOpenError, match=r"log can't be opened: .*folder is writable"):
        await SqliteBus.open(tmp_path / "log", partitions=2, clock=FixedClock())


async def test_the_error_of_a_damaged_log_asks_for_a_backup(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "log.db").write_bytes(b"no database at all " * 1000)
    with pytest.raises(LogOpenError, match=r"log\.db is damaged: file is not a database\. .*backup"):
        await SqliteBus.open(tmp_path / "log", partitions=2, clock=FixedClock())


async def test_a_damaged_page_of_the_log_asks_for_a_backup(harness: SqliteHarness) -> None:
    bus = await harness.open()
    await bus.append(NOTES.name, [producer_record(token_bytes(2000)) for _ in range(100)])
    await harness.close()
    file = harness.folder / "log.db"
    content = file.read_bytes()
    sound = len(content) // 2
    file.write_bytes(content[:sound] + b"\xff" * (len(content) - sound))
    bus = await harness.open()
    with pytest.raises(DamagedLogError, match=r"log\.db is damaged: .*backup"):
        _ = [record async for record in bus.read(NOTES.name)]


async def test_commits_are_synced_to_disk(connections: list[sqlite3.Connection], harness: SqliteHarness) -> None:
    await harness.open()
    assert connections[0].execute("PRAGMA synchronous").fetchone() == (2,)
    assert connections[0].execute("PRAGMA journal_mode").fetchone() == ("wal",)


async def test_waiting_until_consumed_ends_at_the_given_offset(bus: SqliteBus) -> None:
    places = await bus.publish(NOTES, numbered_events(range(3)))
    waiting = [
        asyncio.create_task(bus.wait_until_consumed("recollect.slow", NOTES.name, place.partition, place.offset))
        for place in places
    ]
    done_per_batch: list[list[bool]] = []

    async def handle(batch: Sequence[Record[NumberedEvent]]) -> None:
        await asyncio.sleep(0)
        done_per_batch.append([task.done() for task in waiting])

    await bus.run([Stage("slow", NOTES, handle, batch_size=1)], until_idle=True)
    await asyncio.gather(*waiting)
    assert [sum(done) for done in done_per_batch] == [0, 1, 2]


async def test_a_read_of_large_values_is_split(bus: SqliteBus) -> None:
    large = Topic("test.large.v1", NumberedEvent)
    handler = RecordingHandler()
    value = NumberedEvent(number=1).model_dump_json().encode().ljust(3_000_000)
    await bus.append(large.name, [producer_record(value)] * 4)
    await bus.run([Stage("large", large, handler.handle)], until_idle=True)
    assert [len(batch) for batch in handler.batches] == [2, 2]


async def test_retention_removes_records_that_are_expired_and_consumed(bus: SqliteBus, harness: SqliteHarness) -> None:
    await bus.publish(SHORT_RETENTION, numbered_events(range(1200)))
    await bus.run([Stage("reader", SHORT_RETENTION, RecordingHandler().handle)], until_idle=True)
    harness.clock.advance(6 * 86400)
    await bus.publish(SHORT_RETENTION, numbered_events([2000]))
    harness.clock.advance(2 * 86400)
    assert await bus.maintain([SHORT_RETENTION, NOTES]) == 1200
    assert [
        NumberedEvent.model_validate_json(record.value).number async for record in bus.read(SHORT_RETENTION.name)
    ] == [2000]


async def test_retention_keeps_records_that_a_group_has_yet_to_read(bus: SqliteBus, harness: SqliteHarness) -> None:
    handler = RecordingHandler(failures={5: [SimulatedCrashError()]})
    slow, fast = (
        Stage("slow", SHORT_RETENTION, handler.handle, batch_size=1),
        Stage("fast", SHORT_RETENTION, RecordingHandler().handle),
    )
    await bus.publish(SHORT_RETENTION, numbered_events(range(10)))
    await bus.run([fast], until_idle=True)
    with pytest.raises(SimulatedCrashError):
        await bus.run([slow])
    harness.clock.advance(30 * 86400)
    assert await bus.maintain([SHORT_RETENTION]) == 5
    await bus.run([slow], until_idle=True)
    assert handler.numbers == list(range(10))


async def test_a_deleted_group_does_not_hold_back_retention(bus: SqliteBus, harness: SqliteHarness) -> None:
    await bus.run([Stage("gone", SHORT_RETENTION, RecordingHandler().handle)], until_idle=True)
    await bus.publish(SHORT_RETENTION, numbered_events(range(10)))
    await bus.delete_group("recollect.gone")
    harness.clock.advance(30 * 86400)
    assert await bus.maintain([SHORT_RETENTION]) == 10
    bus = await harness.open()
    assert await bus.lag() == {}


async def test_removed_records_do_not_count_as_lag_of_a_stage_that_never_ran(
    bus: SqliteBus, harness: SqliteHarness
) -> None:
    late = Stage("late", SHORT_RETENTION, RecordingHandler().handle)
    await bus.publish(SHORT_RETENTION, numbered_events(range(10)))
    assert sum((await bus.lag([late]))[late.group].values()) == 10
    harness.clock.advance(30 * 86400)
    assert await bus.maintain([SHORT_RETENTION]) == 10
    assert sum((await bus.lag([late]))[late.group].values()) == 0
    await bus.publish(SHORT_RETENTION, numbered_events([10]))
    assert sum((await bus.lag([late]))[late.group].values()) == 1


async def test_offsets_are_not_reused_after_all_records_were_removed(bus: SqliteBus, harness: SqliteHarness) -> None:
    await bus.publish(SHORT_RETENTION, numbered_events(range(10)))
    harness.clock.advance(30 * 86400)
    await bus.maintain([SHORT_RETENTION])
    bus = await harness.open()
    (place,) = await bus.publish(SHORT_RETENTION, numbered_events([1]))
    assert place.offset == 10


async def test_a_group_skips_records_removed_by_retention(bus: SqliteBus, harness: SqliteHarness) -> None:
    await bus.publish(SHORT_RETENTION, numbered_events(range(10)))
    harness.clock.advance(30 * 86400)
    await bus.maintain([SHORT_RETENTION])
    handler = RecordingHandler()
    late = Stage("late", SHORT_RETENTION, handler.handle)
    await bus.run([late], until_idle=True)
    await bus.publish(SHORT_RETENTION, numbered_events([11]))
    await bus.run([late], until_idle=True)
    assert handler.numbers == [11]


async def test_compaction_keeps_the_newest_of_each_key_at_its_offset(bus: SqliteBus, harness: SqliteHarness) -> None:
    places = await bus.publish(COMPACTED, events_across_keys(1500))
    assert await bus.maintain([COMPACTED]) == 1500 - 17
    expected = dict(zip([key for key, _ in events_across_keys(1500)], places, strict=True))
    bus = await harness.open()
    found = {
        record.key.decode(): Position(record.partition, record.offset) async for record in bus.read(COMPACTED.name)
    }
    assert found == expected
    assert await bus.maintain([COMPACTED]) == 0


async def test_removing_records_frees_disk_space(bus: SqliteBus, harness: SqliteHarness) -> None:
    await bus.append(SHORT_RETENTION.name, [producer_record(token_bytes(100_000))] * 20)
    with closing(sqlite3.connect(harness.folder / "log.db")) as db:
        (before,) = db.execute("PRAGMA page_count").fetchone()
        harness.clock.advance(30 * 86400)
        await bus.maintain([SHORT_RETENTION])
        (after,) = db.execute("PRAGMA page_count").fetchone()
    assert after < before / 4


async def test_dead_letters_of_all_topics_are_listed_up_to_a_limit(bus: SqliteBus) -> None:
    handler = RecordingHandler(failures={number: [RejectedError("no")] * 10 for number in range(6)})
    for topic in (NOTES, COMPACTED):
        await bus.publish(topic, events_across_keys(6))
        await bus.run([Stage(f"of-{topic.name}", topic, handler.handle)], until_idle=True)
    assert len(await bus.dead_letters()) == 12
    assert len(await bus.dead_letters(limit=7)) == 7
    assert {letter.origin[0] for letter in await bus.dead_letters(COMPACTED.name)} == {COMPACTED.name}


async def test_positions_are_saved_without_any_further_write(
    bus: SqliteBus, harness: SqliteHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit, saved = LogDatabase.commit, asyncio.Event()
    loop = asyncio.get_running_loop()

    def watch(
        database: LogDatabase, works: Sequence[TransactionWork], positions: Mapping[GroupPartition, int]
    ) -> CommitResult:
        committed = commit(database, works, positions)
        if 1 in positions.values():
            loop.call_soon_threadsafe(saved.set)
        return committed

    await bus.publish(NOTES, numbered_events([1]))
    monkeypatch.setattr(LogDatabase, "commit", watch)
    await bus.run([Stage("saved", NOTES, RecordingHandler().handle)], until_idle=True)
    await saved.wait()
    with closing(sqlite3.connect(harness.folder / "log.db")) as db:
        assert db.execute("SELECT max(offset) FROM positions").fetchone() == (1,)


async def test_saving_a_position_is_retried_after_a_failure(
    bus: SqliteBus, harness: SqliteHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = asyncio.Event()
    loop = asyncio.get_running_loop()

    def refuse(*_: object) -> None:
        loop.call_soon_threadsafe(refused.set)
        raise sqlite3.OperationalError("disk I/O error")

    await bus.publish(NOTES, numbered_events([1]))
    with monkeypatch.context() as patch:
        patch.setattr(LogDatabase, "commit", refuse)
        await bus.run([Stage("later", NOTES, RecordingHandler().handle)], until_idle=True)
        await refused.wait()
    bus = await harness.open()
    assert set((await bus.lag())["recollect.later"].values()) == {0}


async def test_a_time_is_found_among_records_with_gaps(harness: SqliteHarness) -> None:
    bus = await harness.open()
    for number in range(20):
        harness.clock.advance(1)
        await bus.publish(NOTES, [("k", NumberedEvent(number=number))])
    all_records = [record async for record in bus.read(NOTES.name)]
    removed = {0, 1, 7, 8, 9, 15}
    with closing(sqlite3.connect(harness.folder / "log.db")) as db, db:
        db.executemany("DELETE FROM records WHERE offset = ?", [(offset,) for offset in removed])
    for moment in (record.timestamp + timedelta(seconds=half / 2) for record in all_records for half in (-1, 0, 1)):
        found = [record.offset async for record in bus.records_since(NOTES.name, "k", moment)]
        assert found == [
            record.offset for record in all_records if record.timestamp >= moment and record.offset not in removed
        ]


async def test_erased_records_are_in_no_byte_and_unread_ones_stay(tmp_path: Path) -> None:
    harness = SqliteHarness(tmp_path)
    bus = await harness.open()
    await bus.append(NOTES.name, [producer_record(b"erased " + b"secret" * 2000), producer_record(b"kept")])
    await bus.append(NOTES.name, [producer_record(b"unread")])
    ((name, partition), first, key) = await anext(bus.erasable.read_keys(NOTES.name))
    assert [found async for found in bus.erasable.read_keys(NOTES.name, b"kept")] == [
        ((name, partition), first + 1, key)
    ]
    harness_positions = bus._positions
    harness_positions.set_position(("reader", name, partition), first + 2)
    assert await bus.erasable.erase((name, partition), [first, first + 2]) == {first + 2}
    await bus.erasable.shrink()
    assert [record.value async for record in bus.read(NOTES.name)] == [b"kept", b"unread"]
    assert not files_with(tmp_path, b"secret")
    await harness.close()


async def test_records_at_scattered_offsets_are_read_together_however_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_reader, "MAX_READ_BYTES", 100)
    monkeypatch.setattr(log_eraser, "RECORDS_PER_READ", 4)
    monkeypatch.setattr(log_eraser, "KEYS_PER_READ", 3)
    harness = SqliteHarness(tmp_path)
    bus = await harness.open()
    await bus.append(NOTES.name, [producer_record(b"%d" % number * 60) for number in range(20)])
    place = next(iter([found async for found in bus.erasable.read_keys(NOTES.name)]))[0]
    end = (await bus.end_offsets(NOTES.name))[place[1]]
    bus._positions.set_position(("reader", *place), end)
    await bus.erasable.erase(place, [2, 3, 4, 5, 6, 7, 9])
    wanted = [19, 0, 2, 3, 4, 5, 6, 7, 8, 9, 11, 25]
    assert [record.offset async for record in bus.erasable.read_records(place, wanted)] == [0, 8, 11, 19]
    found = [offset async for _, offset, _ in bus.erasable.read_keys(NOTES.name, b"1717")]
    assert found == [17]
    await harness.close()


def files_with(folder: Path, data: bytes) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and data in path.read_bytes()]


async def test_a_stage_that_keeps_up_handles_records_without_reading_the_log(
    bus: SqliteBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    handler = RecordingHandler()
    running = asyncio.create_task(bus.run([Stage("reader", NOTES, handler.handle)]))
    await asyncio.sleep(0)
    monkeypatch.setattr(log_reader.LogReader, "read", None)
    for place in [*await bus.publish(NOTES, numbered_events([1])), *await bus.publish(NOTES, numbered_events([2]))]:
        await bus.wait_until_consumed("recollect.reader", NOTES.name, place.partition, place.offset)
    running.cancel()
    assert sorted(handler.numbers) == [1, 2]


async def test_a_group_that_begins_later_gets_no_record_that_was_erased_meanwhile(bus: SqliteBus) -> None:
    first, later = RecordingHandler(), RecordingHandler()
    running = asyncio.create_task(bus.run([Stage("first", NOTES, first.handle)]))
    await asyncio.sleep(0)
    (erased,) = await bus.publish(NOTES, [("key", NumberedEvent(number=1))])
    await bus.publish(NOTES, [("key", NumberedEvent(number=2))])
    await bus.wait_until_consumed("recollect.first", NOTES.name, erased.partition, erased.offset + 1)
    assert await bus.erasable.erase((NOTES.name, erased.partition), [erased.offset]) == set()
    await bus.run([Stage("later", NOTES, later.handle)], until_idle=True)
    running.cancel()
    assert (first.numbers, later.numbers) == ([1, 2], [2])


async def test_a_stage_far_behind_reads_what_is_not_kept_from_the_log(bus: SqliteBus) -> None:
    handler, slow = RecordingHandler(), RecordingHandler()
    running = asyncio.create_task(bus.run([Stage("quick", NOTES, handler.handle)]))
    await asyncio.sleep(0)
    for number in range(200):
        await bus.publish(NOTES, [("key", NumberedEvent(number=number))])
    await bus.run([Stage("slow", NOTES, slow.handle, batch_size=7)], until_idle=True)
    running.cancel()
    assert slow.numbers == list(range(200))
