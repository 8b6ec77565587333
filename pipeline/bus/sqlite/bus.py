"""Embedded bus: a partitioned log in SQLite, inside the process that uses it."""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from pipeline.bus.delivery import Delivery, RetryPolicy
from pipeline.bus.observer import Observer
from pipeline.bus.port import TopicPartition
from pipeline.bus.records import DeadLetter, ProducerRecord, RawRecord, encode, select_dead_letters
from pipeline.bus.sealing.sealed_records import SEALED_TOPICS, stays_plain
from pipeline.bus.sealing.sealer import Sealer
from pipeline.bus.sqlite.consumers import ConsumerPositions, StageConsumers
from pipeline.bus.sqlite.directory_lock import DirectoryLock
from pipeline.bus.sqlite.log_database import (
    LOG_FILE,
    CommitResult,
    GroupPartition,
    LogDatabase,
    LogTransaction,
    partition_of_key,
)
from pipeline.bus.sqlite.log_eraser import RECORDS_PER_BATCH, LogEraser
from pipeline.bus.sqlite.log_reader import LogReader
from pipeline.bus.sqlite.log_writer import LogWriter
from pipeline.bus.sqlite.recent_records import RecentRecords
from pipeline.bus.sqlite.topic_feed import SqliteTopicFeed
from pipeline.bus.stage_consumers import apply_backlog
from pipeline.bus.topic_follower import RecordHandler, TopicFollower, follow_topic
from pipeline.errors import DamagedLogError
from pipeline.ports import Clock, Position
from pipeline.runtime.durable_files import is_damage
from pipeline.stage import Stage
from schemas.topics import E, Topic

T = TypeVar("T")
log = logging.getLogger(__name__)


class SqliteBus:
    """`pipeline.bus.port.Bus` on a log in a directory that one process at a time may open."""

    def __init__(
        self,
        lock: DirectoryLock,
        database: LogDatabase,
        reader: LogReader,
        *,
        clock: Clock,
        retry_policy: RetryPolicy,
        observer: Observer | None,
        sealer: Sealer | None,
    ) -> None:
        self._lock = lock
        self._database = database
        self._reader = reader
        self._clock = clock
        self._reader_executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="recollect-log-reader")
        self._writer = LogWriter(database, self._on_append)
        self._positions = ConsumerPositions(
            dict(database.end_offsets), database.positions(), self._writer.save_position
        )
        self._delivery = Delivery(self, clock, retry_policy, observer=observer)
        self._consumers = StageConsumers(self._positions, self._delivery, self._fetch_recent, database.partitions)
        self.erasable = LogEraser(database, self._writer, self._positions, self._query, sealer)
        self._recent = RecentRecords()
        self._sealer = sealer
        if sealer is not None:
            database.opener = reader.opener = sealer.open
        self._closed = False

    @classmethod
    async def open(
        cls,
        directory: Path,
        *,
        partitions: int,
        clock: Clock,
        retry_policy: RetryPolicy | None = None,
        observer: Observer | None = None,
        sealer: Sealer | None = None,
    ) -> "SqliteBus":
        """Open the log in this directory, creating it if missing.

        DataDirectoryLockedError while another process has it open, PartitionCountMismatchError if it was
        created with another number of partitions, LogOpenError for other failures.
        """
        files = await asyncio.to_thread(_open_files, directory, partitions)
        policy = retry_policy or RetryPolicy()
        return cls(*files, clock=clock, retry_policy=policy, observer=observer, sealer=sealer)

    @property
    def partitions(self) -> int:
        return self._database.partitions

    @property
    def transaction_count(self) -> int:
        """Number of transactions committed since the log was opened."""
        return self._writer.transaction_count

    @property
    def description(self) -> str:
        return f"embedded log in {self._database.path.parent}"

    @property
    def content_keys(self) -> Sealer | None:
        return self._sealer

    @property
    def health_issue(self) -> str | None:
        return "the log is closed" if self._closed else self._writer.health_issue

    @property
    def disk_bytes(self) -> int:
        return sum(path.stat().st_size for path in self._database.path.parent.glob("log.db*"))

    def partition_of(self, key: str, partitions: int) -> int:
        return partition_of_key(key.encode(), partitions)

    async def publish(self, topic: Topic[E], entries: Sequence[tuple[str, E]]) -> list[Position]:
        """Append events; synced to disk on return. LogWriteError if the log can't be written."""
        sealer, encoded = self._sealer, encode(entries)
        if sealer is None or not sealer.seals or topic.name not in SEALED_TOPICS or not entries:
            return await self.append(topic.name, encoded)
        timestamp_ms, plain = self._now_ms(), [stays_plain(event) for _, event in entries]
        # In the writer's thread: it compresses values and syncs a new block of keys.
        appended = self._writer.submit(lambda log: log.append(topic.name, timestamp_ms, sealer.seal(encoded, plain)))
        positions: list[Position] = await appended
        return positions

    async def append(self, topic: str, entries: Sequence[ProducerRecord]) -> list[Position]:
        if not entries:
            return []
        timestamp_ms = self._now_ms()
        appended = self._writer.submit(lambda log: log.append(topic, timestamp_ms, entries))
        positions: list[Position] = await appended
        return positions

    async def run(self, stages: Sequence[Stage[Any]], *, until_idle: bool = False) -> None:
        self._database.followed_topics.update(stage.source.name for stage in stages)
        await self._consumers.run(stages, until_idle=until_idle)

    async def drain(self) -> None:
        await self._consumers.drain()

    async def apply_optimistically(self, stages: Sequence[Stage[Any]]) -> None:
        for stage in stages:
            topic = stage.source.name
            for partition in range(self.partitions):
                start = self._positions.offsets.get((stage.group, topic, partition), 0)
                await apply_backlog(stage, self.read(topic, partition, start))

    async def wait_until_consumed(self, group: str, topic: str, partition: int, offset: int) -> None:
        await self._positions.wait_until_consumed((group, topic, partition), offset)

    async def positions(self, group: str, topic: str) -> dict[int, int]:
        return {
            partition: offset
            for (name, source, partition), offset in self._positions.offsets.items()
            if (name, source) == (group, topic)
        }

    async def lag(self, stages: Sequence[Stage[Any]] = ()) -> dict[str, dict[TopicPartition, int]]:
        positions = await self._initial_positions(stages) | self._positions.offsets
        lag: dict[str, dict[TopicPartition, int]] = {}
        for (group, topic, partition), offset in positions.items():
            end = self._positions.end_offset((topic, partition))
            lag.setdefault(group, {})[topic, partition] = end - offset
        return lag

    async def _initial_positions(self, stages: Sequence[Stage[Any]]) -> dict[GroupPartition, int]:
        """Return the first remaining offsets for groups without a position."""
        ends = {
            key: self._positions.end_offset(key[1:])
            for stage in stages
            for partition in range(self.partitions)
            if (key := (stage.group, stage.source.name, partition)) not in self._positions.offsets
        }
        nonempty = [key for key, end in ends.items() if end]
        if not nonempty:
            return ends
        starts = await self._query(lambda reader: [reader.first_offset(*key[1:]) for key in nonempty])
        return ends | {key: start for key, start in zip(nonempty, starts, strict=True) if start is not None}

    async def end_offsets(self, topic: str) -> dict[int, int]:
        return {partition: self._positions.end_offset((topic, partition)) for partition in range(self.partitions)}

    async def depth(self, topic: str) -> int:
        return await self._query(lambda reader: reader.count_records(topic))

    async def rewind(self, group: str, topic: str) -> None:
        for partition in range(self.partitions):
            self._positions.rewind((group, topic, partition))
        await self._flush()

    async def copy_offsets(self, group: str, topic: str, source_group: str) -> None:
        self._consumers.ensure_not_running(group)
        for partition in range(self.partitions):
            offset = self._positions.offsets.get((source_group, topic, partition), 0)
            self._positions.set_position((group, topic, partition), offset)
        await self._flush()

    async def delete_group(self, group: str) -> None:
        self._consumers.delete_group(group)
        # First write queued positions: one of the group would bring it back.
        await self._flush()
        await self._writer.submit(lambda log: log.delete_group(group))

    async def read(
        self, topic: str, partition: int | None = None, start: int = 0, end: int | None = None
    ) -> AsyncGenerator[RawRecord, None]:
        partitions = range(self.partitions) if partition is None else [partition]
        ends = {number: self._positions.end_offset((topic, number)) for number in partitions}
        for number, partition_end in ends.items():
            offset, read_end = start, partition_end if end is None else min(partition_end, end)
            while offset < read_end:
                records = await self._fetch((topic, number), offset, RECORDS_PER_BATCH)
                for record in records:
                    if record.offset < read_end:
                        yield record
                offset = records[-1].offset + 1 if records else read_end

    async def read_record(self, topic: str, key: str, offset: int) -> RawRecord | None:
        records = await self._fetch((topic, self._database.partition_for(key.encode())), offset, 1)
        return records[0] if records and records[0].offset == offset else None

    async def records_since(self, topic: str, key: str, moment: datetime) -> AsyncGenerator[RawRecord, None]:
        partition = self._database.partition_for(key.encode())
        timestamp_ms = int(moment.timestamp() * 1000)
        start = await self._query(lambda reader: reader.offset_for_time(topic, partition, timestamp_ms))
        async for record in self.read(topic, partition, start):
            yield record

    @asynccontextmanager
    async def follow(
        self, topic: Topic[E], handle: RecordHandler[E], start: Mapping[int, int] | None = None
    ) -> AsyncIterator[TopicFollower[E]]:
        start = start or {}
        feed = SqliteTopicFeed(self._positions, self._fetch_recent, topic.name, self.partitions, start)
        self._database.followed_topics.add(topic.name)
        async with follow_topic(feed, topic, handle, start) as follower:
            yield follower

    async def dead_letters(self, topic: str | None = None, limit: int = 100) -> list[DeadLetter]:
        return await select_dead_letters(self._read_dead_letters(topic), limit)

    async def redrive(self, topic: str | None = None, limit: int = 1000, *, ids: Collection[str] | None = None) -> int:
        return await self._remove_dead_letters(topic, limit, ids, redrive=True)

    async def drop_dead_letters(
        self, topic: str | None = None, limit: int = 1000, *, ids: Collection[str] | None = None
    ) -> int:
        return await self._remove_dead_letters(topic, limit, ids, redrive=False)

    async def _read_dead_letters(self, topic: str | None) -> AsyncGenerator[DeadLetter, None]:
        names = await self._query(LogReader.topics) if topic is None else [f"{topic}.dlq"]
        for name in names:
            if name.endswith(".dlq"):
                async for record in self.read(name):
                    yield DeadLetter.from_record(record)

    async def _remove_dead_letters(
        self, topic: str | None, limit: int, ids: Collection[str] | None, *, redrive: bool
    ) -> int:
        """Remove dead letters, and append them to their topics to redrive them, in one transaction; return how many."""
        letters = await select_dead_letters(self._read_dead_letters(topic), limit, ids)
        timestamp_ms = self._now_ms()

        def move(log: LogTransaction) -> int:
            removed = 0
            for letter in letters:
                record = letter.record
                # Another call may have removed it meanwhile.
                if log.remove(record.topic, record.partition, [record.offset]):
                    removed += 1
                    if redrive:
                        log.append(letter.origin[0], timestamp_ms, [letter.to_redriven()])
            return removed

        return int(await self._writer.submit(move))

    async def maintain(self, topics: Sequence[Topic[Any]]) -> int:
        return await self.erasable.clean(topics, self._now_ms())

    async def close(self) -> None:
        """Write queued records and positions and release the directory. Stop `run` first."""
        if self._closed:
            return
        self._closed = True
        await self._writer.close()
        await asyncio.to_thread(self._reader_executor.shutdown)
        self._reader.close()
        try:
            await asyncio.to_thread(self._database.close)
        except sqlite3.Error as error:
            log.warning("The log's last checkpoint failed; its write-ahead log stays until the next start: %s", error)
        self._lock.release()

    def _on_append(self, committed: CommitResult) -> None:
        self._recent.push(committed.followed)
        self._recent.forget(committed.removed)
        self._positions.on_append(committed.end_offsets)

    async def _fetch(self, topic_partition: TopicPartition, start: int, limit: int) -> list[RawRecord]:
        return await self._query(lambda reader: reader.read(*topic_partition, start, limit))

    async def _fetch_recent(self, topic_partition: TopicPartition, start: int, limit: int) -> list[RawRecord]:
        recent = self._recent.since(topic_partition, start, limit)
        return recent or await self._fetch(topic_partition, start, limit)

    async def _query(self, query: Callable[[LogReader], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._reader_executor, query, self._reader)
        except sqlite3.DatabaseError as error:
            if is_damage(error):
                raise DamagedLogError(_damage_message(self._database.path, error)) from error
            raise

    async def _flush(self) -> None:
        await self._writer.submit(lambda _: None)

    def _now_ms(self) -> int:
        return round(self._clock.now().timestamp() * 1000)


class LogOpenError(ValueError):
    """The log can't be opened; the message is for the operator."""


def _open_files(directory: Path, partitions: int) -> tuple[DirectoryLock, LogDatabase, LogReader]:
    try:
        return _lock_and_open(directory, partitions)
    except (OSError, sqlite3.OperationalError) as error:
        raise LogOpenError(
            f"The log in {directory.absolute()} can't be opened: {error}. See that the folder is writable"
            " and that its disk has space left."
        ) from error
    except sqlite3.DatabaseError as error:
        raise LogOpenError(_damage_message(directory / LOG_FILE, error)) from error


def _damage_message(file: Path, error: sqlite3.Error) -> str:
    return (
        f"{file.absolute()} is damaged: {error}. Put back the data directory from a backup, or start with a new one and"
        " import an export."
    )


def _lock_and_open(directory: Path, partitions: int) -> tuple[DirectoryLock, LogDatabase, LogReader]:
    # 0700: the data directory holds private texts.
    directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory.mkdir(exist_ok=True)
    path = directory / LOG_FILE
    with ExitStack() as undo:
        lock = DirectoryLock(directory)
        undo.callback(lock.release)
        database = LogDatabase(path, partitions)
        reader = LogReader(path)
        undo.pop_all()
    return lock, database, reader
