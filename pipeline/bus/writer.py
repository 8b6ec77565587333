"""The one thread that writes the log: what waits together is committed together."""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from sqlite3 import Error
from time import monotonic
from typing import Any

from pipeline.bus.journal import Committed, Journal, Seat, Stream, Work
from pipeline.errors import OutageError

log = logging.getLogger(__name__)

GROUP = 512
"""Pieces of work in one transaction, at most."""
LAZY_SECONDS = 0.1
"""How long a position may wait for a transaction to travel with."""
RETRY_SECONDS = 1.0


class LogWriteError(OutageError):
    """The log could not be written, for example because the disk is full. Nothing was acknowledged."""


class LogClosedError(Exception):
    """The log was closed, or its writer has died: nothing can be written until the process starts anew."""


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    work: Work
    done: asyncio.Future[Any]


@dataclass(frozen=True, slots=True, eq=False)
class _Chore:
    """Something outside a transaction."""

    act: Callable[[], object]
    done: asyncio.Future[Any]


@dataclass(frozen=True, slots=True)
class _Wake:
    """Positions have begun to wait."""


@dataclass(frozen=True, slots=True)
class _Stop:
    """The last item of the queue."""


class Writer:
    """Submit from the event loop only. `committed` is told the new heads before any future resolves."""

    def __init__(self, journal: Journal, committed: Callable[[Mapping[Stream, int]], None]) -> None:
        self._journal = journal
        self._committed = committed
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[_Job | _Chore | _Wake | _Stop] = SimpleQueue()
        self._open: set[asyncio.Future[Any]] = set()
        self._positions: dict[Seat, int] = {}
        self._lock = threading.Lock()
        self._deadline: float | None = None
        self._stopped = False
        self.transactions = 0
        self.trouble: str | None = None
        """Why the last transaction could not be written; None: it was."""
        self._thread = threading.Thread(target=self._run, name="recollect-log-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Work) -> asyncio.Future[Any]:
        """Resolves with the work's result once it is on disk; LogWriteError when it can't be written."""
        return self._put(lambda done: _Job(work, done))

    def between(self, act: Callable[[], object]) -> asyncio.Future[Any]:
        """Run something of the journal's outside a transaction."""
        return self._put(lambda done: _Chore(act, done))

    def move(self, seat: Seat, offset: int) -> None:
        """Write a position with the next transaction, or soon."""
        with self._lock:
            first = not self._positions
            self._positions[seat] = offset
        if first:
            self._queue.put(_Wake())

    async def close(self) -> None:
        """Write everything that was submitted, and end the thread."""
        if self._thread.is_alive():
            self._queue.put(_Stop())
            await asyncio.to_thread(self._thread.join)

    def _put(self, make: Callable[[asyncio.Future[Any]], _Job | _Chore]) -> asyncio.Future[Any]:
        done: asyncio.Future[Any] = self._loop.create_future()
        if self._stopped:
            done.set_exception(LogClosedError("the log is closed"))
            return done
        self._open.add(done)
        done.add_done_callback(self._open.discard)
        self._queue.put(make(done))
        return done

    def _run(self) -> None:
        try:
            while self._turn():
                pass
        finally:
            self._loop.call_soon_threadsafe(self._abandon)

    def _turn(self) -> bool:
        """One round of the thread; False: it was the last."""
        jobs, chores, stop = self._gather()
        due = self._deadline is not None and monotonic() >= self._deadline
        if jobs or stop or due:
            self._commit(jobs)
        for chore in chores:
            self._do(chore)
        self._checkpoint()
        return not stop

    def _gather(self) -> tuple[list[_Job], list[_Chore], bool]:
        jobs: list[_Job] = []
        chores: list[_Chore] = []
        timeout = None if self._deadline is None else max(0.0, self._deadline - monotonic())
        try:
            item = self._queue.get(timeout=timeout)
            while True:
                if isinstance(item, _Stop):
                    return jobs, chores, True
                if isinstance(item, _Job):
                    jobs.append(item)
                elif isinstance(item, _Chore):
                    chores.append(item)
                elif self._deadline is None:
                    self._deadline = monotonic() + LAZY_SECONDS
                if len(jobs) >= GROUP:
                    break
                item = self._queue.get_nowait()
        except Empty:
            pass
        return jobs, chores, False

    def _commit(self, jobs: Sequence[_Job]) -> None:
        self._deadline = None
        with self._lock:
            positions, self._positions = self._positions, {}
        if not jobs and not positions:
            return
        try:
            committed = self._journal.commit([job.work for job in jobs], positions)
        except Error as error:
            self._put_back(positions)
            self._fall_back(jobs, error)
            return
        self.transactions += 1
        self.trouble = None
        self._loop.call_soon_threadsafe(self._settle, jobs, committed)

    def _fall_back(self, jobs: Sequence[_Job], error: Error) -> None:
        """One piece of work may have spoilt the others' transaction: give each its own."""
        if len(jobs) > 1:
            for job in jobs:
                self._commit([job])
            return
        self.trouble = f"the log can't be written: {error}"
        log.error("%s", self.trouble)
        if jobs:
            failure = LogWriteError(f"The log {self._journal.path} can't be written: {error}.")
            self._loop.call_soon_threadsafe(_fail, jobs[0].done, failure)

    def _put_back(self, positions: Mapping[Seat, int]) -> None:
        with self._lock:
            self._positions = {**positions, **self._positions}
        if positions:
            self._deadline = monotonic() + RETRY_SECONDS

    def _do(self, chore: _Chore) -> None:
        try:
            chore.act()
        except Error as error:
            self._loop.call_soon_threadsafe(_fail, chore.done, LogWriteError(str(error)))
        else:
            self._loop.call_soon_threadsafe(_resolve, chore.done, None)

    def _checkpoint(self) -> None:
        try:
            self._journal.checkpoint(quiet=self._queue.empty())
        except Error as error:
            log.warning("the log's checkpoint failed and will be tried again: %s", error)

    def _settle(self, jobs: Sequence[_Job], committed: Committed) -> None:
        self._committed(committed.heads)
        for job, result in zip(jobs, committed.results, strict=True):
            _resolve(job.done, result)

    def _abandon(self) -> None:
        """After a clean end nothing is open; after a fault nobody may wait for ever."""
        self._stopped = True
        self.trouble = "the log's writer has stopped"
        for done in list(self._open):
            _fail(done, LogClosedError("The log's writer has stopped; see the error above."))


def _resolve(done: asyncio.Future[Any], result: object) -> None:
    if not done.done():
        done.set_result(result)


def _fail(done: asyncio.Future[Any], failure: Exception) -> None:
    if not done.done():
        done.set_exception(failure)
