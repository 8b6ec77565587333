"""The bus on one machine: a partitioned log in SQLite, in the process that uses it."""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from pipeline import tracing
from pipeline.bus.consumers import Consumers, LogFeed, Places
from pipeline.bus.following import following
from pipeline.bus.journal import Journal, Reader, Seat, Stream, Transaction
from pipeline.bus.lock import DirectoryLock
from pipeline.bus.port import Follower, Handle
from pipeline.bus.upkeep import CHUNK, Upkeep
from pipeline.bus.writer import Writer
from pipeline.delivery import Delivery, Patience
from pipeline.observing import Observer
from pipeline.ports import Clock, Position
from pipeline.records import DeadLetter, Entry, RawRecord, decoded
from pipeline.stage import Stage
from schemas.base import Event
from schemas.topics import Topic

E = TypeVar("E", bound=Event)
T = TypeVar("T")
log = logging.getLogger(__name__)


class LogBus:
    """Publisher, runner and keeper of a log. One process at a time; a topic by name where bytes are meant."""

    def __init__(
        self,
        *,
        lock: DirectoryLock,
        journal: Journal,
        reader: Reader,
        clock: Clock,
        patience: Patience,
        observer: Observer | None = None,
    ) -> None:
        self._lock = lock
        self._journal = journal
        self._reader = reader
        self._clock = clock
        self._threads = ThreadPoolExecutor(max_workers=1, thread_name_prefix="recollect-log-reader")
        self._writer = Writer(journal, self._arrived)
        self._places = Places(dict(journal.heads), journal.positions(), self._writer.move)
        self._delivery = Delivery(self, clock, patience, observer=observer)
        self._consumers = Consumers(self._places, self._delivery, self._fetch, journal.partitions)
        self._closed = False

    @classmethod
    async def open(
        cls,
        directory: Path,
        *,
        partitions: int,
        clock: Clock,
        patience: Patience | None = None,
        observer: Observer | None = None,
    ) -> "LogBus":
        """The log in this directory, made if missing.

        Raises DataDirectoryLockedError while another process has it, PartitionsFixedError when it was made
        with another number of partitions.
        """
        lock, journal, reader = await asyncio.to_thread(_open, directory, partitions)
        return cls(
            lock=lock,
            journal=journal,
            reader=reader,
            clock=clock,
            patience=patience or Patience(),
            observer=observer,
        )

    @property
    def partitions(self) -> int:
        return self._journal.partitions

    @property
    def transactions(self) -> int:
        """How many transactions were committed since the log was opened."""
        return self._writer.transactions

    @property
    def description(self) -> str:
        """What it is and where, for people."""
        return f"embedded log in {self._journal.path.parent}"

    @property
    def trouble(self) -> str | None:
        """Why nothing can be written now; None: it can."""
        return "the log is closed" if self._closed else self._writer.trouble

    @property
    def nbytes(self) -> int:
        """Bytes on disk. Looks at a few files: call it rarely, or in a thread."""
        return sum(path.stat().st_size for path in self._journal.path.parent.glob("log.db*"))

    async def publish(self, topic: Topic[E], entries: Sequence[tuple[str, E]]) -> list[Position]:
        """Append events; on disk and synced on return. LogWriteError when the log can't be written."""
        raw = [
            Entry(key.encode(), event.model_dump_json().encode(), tracing.headers(event))
            for key, event in entries
        ]
        return await self.append(topic.name, raw)

    async def append(self, topic: str, entries: Sequence[Entry]) -> list[Position]:
        """Append raw bytes, as `publish` does."""
        if not entries:
            return []
        at = self._now()
        places: list[Position] = await self._writer.submit(lambda log: log.append(topic, at, entries))
        return places

    async def run(self, stages: Sequence[Stage[Any]], *, until_idle: bool = False) -> None:
        """Feed the stages until cancelled, or until every one has consumed all there is.

        An unforeseen error of a stage ends the run with that error.
        """
        await self._consumers.run(stages, until_idle=until_idle)

    async def drain(self) -> None:
        """As `Bus.drain`."""
        await self._consumers.drain()

    async def foresee(self, stages: Sequence[Stage[Any]]) -> None:
        """Let these stages, in this order, show what they have yet to handle. Before `run`."""
        for stage in stages:
            for partition in range(self.partitions):
                await self._foresee(stage, partition)

    async def _foresee(self, stage: Stage[E], partition: int) -> None:
        if stage.foresee is None:
            return
        stream = (stage.source.name, partition)
        after, end = self._places.positions.get((stage.group, *stream), 0), self._places.head(stream)
        while after < end and (batch := await self._fetch(stream, after, CHUNK)):
            await stage.foresee(decoded(stage, batch))
            after = batch[-1].offset + 1

    async def reached(self, group: str, topic: str, partition: int, offset: int) -> None:
        """Wait until the group has handled (or parked) the record at this offset."""
        await self._places.reached((group, topic, partition), offset)

    async def lag(self, stages: Sequence[Stage[Any]] = ()) -> dict[str, dict[Stream, int]]:
        """As `Bus.lag`."""
        positions = await self._unread(stages) | self._places.positions
        lag: dict[str, dict[Stream, int]] = {}
        for (group, topic, partition), offset in positions.items():
            lag.setdefault(group, {})[topic, partition] = self._places.head((topic, partition)) - offset
        return lag

    async def _unread(self, stages: Sequence[Stage[Any]]) -> dict[Seat, int]:
        """Where groups that have no position begin."""
        heads = {
            seat: self._places.head(seat[1:])
            for stage in stages
            for partition in range(self.partitions)
            if (seat := (stage.group, stage.source.name, partition)) not in self._places.positions
        }
        written = [seat for seat, head in heads.items() if head]
        if not written:
            return heads
        firsts = await self._read(lambda reader: [reader.first(*seat[1:]) for seat in written])
        return heads | {seat: at for seat, at in zip(written, firsts, strict=True) if at is not None}

    async def ends(self, topic: str) -> dict[int, int]:
        """Per partition of the topic, the offset that its next record will get."""
        return {one: self._places.head((topic, one)) for one in range(self.partitions)}

    async def depth(self, topic: str) -> int:
        """How many records the topic holds now."""
        return await self._read(lambda reader: reader.count(topic))

    async def rewind(self, group: str, topic: str) -> None:
        """Let the group read the topic again from its start. Durable on return."""
        for partition in range(self.partitions):
            self._places.rewind((group, topic, partition))
        await self._flush()

    async def adopt(self, group: str, topic: str, other: str) -> None:
        """Let a group that does not run begin where another one is now. Durable on return."""
        self._consumers.refuse(group)
        for partition in range(self.partitions):
            offset = self._places.positions.get((other, topic, partition), 0)
            self._places.place((group, topic, partition), offset)
        await self._flush()

    async def forget(self, group: str) -> None:
        """Drop a group that will not come back; retention no longer waits for it."""
        self._consumers.forget(group)
        # A position that still waits to be saved would bring the group back.
        await self._flush()
        await self._writer.submit(lambda log: log.forget(group))

    async def read(
        self, topic: str, partition: int | None = None, start: int = 0, end: int | None = None
    ) -> AsyncGenerator[RawRecord, None]:
        """What there was when asked, partition by partition, each from offset `start` to before `end`."""
        partitions = range(self.partitions) if partition is None else [partition]
        heads = {one: self._places.head((topic, one)) for one in partitions}
        for one, head in heads.items():
            after, until = start, head if end is None else min(head, end)
            while after < until:
                records = await self._fetch((topic, one), after, CHUNK)
                for record in records:
                    if record.offset < until:
                        yield record
                after = records[-1].offset + 1 if records else until

    async def record(self, topic: str, key: str, offset: int) -> RawRecord | None:
        """The record at this offset of the key's partition; None where there is none, or none any more."""
        found = await self._fetch((topic, self._journal.partition(key.encode())), offset, 1)
        return found[0] if found and found[0].offset == offset else None

    async def since(self, topic: str, key: str, moment: datetime) -> AsyncGenerator[RawRecord, None]:
        """The records of the key's partition from the first one written at that moment or later."""
        partition = self._journal.partition(key.encode())
        at = int(moment.timestamp() * 1000)
        start = await self._read(lambda reader: reader.begin(topic, partition, at))
        async for record in self.read(topic, partition, start):
            yield record

    def follow(self, topic: Topic[E], handle: Handle[E]) -> AbstractAsyncContextManager[Follower]:
        """Hand every record of the topic over, from its start, and go on with what is published."""
        return following(LogFeed(self._places, self._fetch, topic.name, self.partitions), topic, handle)

    async def dead_letters(self, topic: str | None = None, limit: int = 100) -> list[DeadLetter]:
        """Parked records of a topic (its own name, not the `.dlq`), or of all; oldest first per topic."""
        return await self._letters(topic, limit, None)

    async def redrive(
        self, topic: str | None = None, limit: int = 1000, *, only: Collection[str] | None = None
    ) -> int:
        """Give parked records back to their topic, in one transaction; how many there were.

        Each keeps its first place in the log: stages see it as a late redelivery, not as something new.
        """
        return await self._settle(await self._letters(topic, limit, only), again=True)

    async def drop(
        self, topic: str | None = None, limit: int = 1000, *, only: Collection[str] | None = None
    ) -> int:
        """Remove parked records, in one transaction; how many there were."""
        return await self._settle(await self._letters(topic, limit, only), again=False)

    async def _letters(self, topic: str | None, limit: int, only: Collection[str] | None) -> list[DeadLetter]:
        letters: list[DeadLetter] = []
        for name in await self._parked(topic):
            async for record in self.read(name):
                if len(letters) == limit:
                    return letters
                letter = DeadLetter.read(record)
                if only is None or letter.id in only:
                    letters.append(letter)
        return letters

    async def _settle(self, letters: Sequence[DeadLetter], *, again: bool) -> int:
        at = self._now()

        def move(log: Transaction) -> int:
            settled = 0
            for letter in letters:
                # Somebody else may have been faster.
                if log.remove(letter.record.topic, letter.record.partition, [letter.record.offset]):
                    settled += 1
                    if again:
                        log.append(letter.origin[0], at, [letter.redriven()])
            return settled

        return int(await self._writer.submit(move))

    async def maintain(self, topics: Sequence[Topic[Any]]) -> int:
        """Apply retention and compaction and give space back; how many records went."""
        return await Upkeep(self._journal, self._writer, self._places, self._read).run(topics, self._now())

    async def close(self) -> None:
        """Write what waits, positions included, and release the directory. Stop `run` first."""
        if self._closed:
            return
        self._closed = True
        await self._writer.close()
        await asyncio.to_thread(self._threads.shutdown)
        self._reader.close()
        try:
            await asyncio.to_thread(self._journal.close)
        except sqlite3.Error as error:
            log.warning("The log stays in two files until the next start: %s", error)
        self._lock.release()

    def _arrived(self, heads: Mapping[Stream, int]) -> None:
        self._places.arrived(heads)

    async def _fetch(self, stream: Stream, start: int, limit: int) -> list[RawRecord]:
        topic, partition = stream
        return await self._read(lambda reader: reader.read(topic, partition, start, limit))

    async def _read(self, query: Callable[[Reader], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, query, self._reader)

    async def _parked(self, topic: str | None) -> list[str]:
        if topic is not None:
            return [f"{topic}.dlq"]
        return [name for name in await self._read(Reader.topics) if name.endswith(".dlq")]

    async def _flush(self) -> None:
        await self._writer.submit(lambda _: None)

    def _now(self) -> int:
        return round(self._clock.now().timestamp() * 1000)


class LogOpenError(ValueError):
    """The log can't be opened; the message is for the operator."""


def _open(directory: Path, partitions: int) -> tuple[DirectoryLock, Journal, Reader]:
    try:
        return _opened(directory, partitions)
    except (OSError, sqlite3.Error) as error:
        raise LogOpenError(
            f"The log in {directory.absolute()} can't be opened: {error}. See that the folder can be written"
            " and that its disk has space left."
        ) from error


def _opened(directory: Path, partitions: int) -> tuple[DirectoryLock, Journal, Reader]:
    # The data directory, where it is made here: what people wrote is for nobody else on this machine.
    directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory.mkdir(exist_ok=True)
    path = directory / "log.db"
    with ExitStack() as undo:
        lock = DirectoryLock(directory)
        undo.callback(lock.release)
        journal = Journal(path, partitions)
        reader = Reader(path)
        undo.pop_all()
    return lock, journal, reader
