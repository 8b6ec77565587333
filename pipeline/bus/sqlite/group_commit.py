"""Writer thread of the log with group commit: queued work shares a transaction."""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from queue import Empty, SimpleQueue
from sqlite3 import Error
from time import monotonic
from typing import Any

from pipeline.bus.sqlite.log_database import CommitResult, GroupPartition, LogDatabase, TransactionWork
from pipeline.errors import OutageError

log = logging.getLogger(__name__)

MAX_GROUP_SIZE = 512
"""Maximum number of jobs in one transaction."""
POSITION_FLUSH_SECONDS = 0.1
"""Maximum time a position waits for a transaction to join."""
RETRY_SECONDS = 1.0


class LogWriteError(OutageError):
    """The log could not be written, for example because the disk is full. Nothing was acknowledged."""


class LogClosedError(Exception):
    """The log was closed or its writer thread has died: nothing can be written until a restart."""


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    work: TransactionWork
    done: asyncio.Future[Any]


@dataclass(frozen=True, slots=True, eq=False)
class _MaintenanceTask:
    action: Callable[[], object]
    done: asyncio.Future[Any]


class _Signal(Enum):
    POSITION_PENDING = auto()
    STOP = auto()


class GroupCommitWriter:
    """Commits jobs in a thread. Call it from the event loop only.

    `on_commit` gets the result of a transaction before the futures of the transaction's jobs resolve.
    """

    def __init__(self, database: LogDatabase, on_commit: Callable[[CommitResult], None]) -> None:
        self._database = database
        self._on_commit = on_commit
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[_Job | _MaintenanceTask | _Signal] = SimpleQueue()
        self._pending: set[asyncio.Future[Any]] = set()
        self._positions: dict[GroupPartition, int] = {}
        self._lock = threading.Lock()
        self._deadline: float | None = None
        self._stopped = False
        self.transaction_count = 0
        self.health_issue: str | None = None
        """Error of the last transaction; None if it was written."""
        self._thread = threading.Thread(target=self._run, name="recollect-log-writer", daemon=True)
        self._thread.start()

    def submit(self, work: TransactionWork) -> asyncio.Future[Any]:
        """Queue a job; its future resolves with the result once it is on disk. LogWriteError if it fails."""
        return self._enqueue(_Job(work, self._loop.create_future()))

    def run_between_transactions(self, action: Callable[[], object]) -> asyncio.Future[Any]:
        """Queue an action on the database to run outside transactions; its future resolves with the result."""
        return self._enqueue(_MaintenanceTask(action, self._loop.create_future()))

    def save_position(self, group_partition: GroupPartition, offset: int) -> None:
        """Save a position with the next transaction, at most POSITION_FLUSH_SECONDS later."""
        with self._lock:
            first = not self._positions
            self._positions[group_partition] = offset
        if first:
            self._queue.put(_Signal.POSITION_PENDING)

    async def close(self) -> None:
        """Commit everything that was submitted and end the thread."""
        if self._thread.is_alive():
            self._queue.put(_Signal.STOP)
            await asyncio.to_thread(self._thread.join)

    def _enqueue(self, item: _Job | _MaintenanceTask) -> asyncio.Future[Any]:
        done = item.done
        if self._stopped:
            done.set_exception(LogClosedError("the log is closed"))
            return done
        self._pending.add(done)
        done.add_done_callback(self._pending.discard)
        self._queue.put(item)
        return done

    def _run(self) -> None:
        try:
            while self._run_once():
                pass
        finally:
            self._loop.call_soon_threadsafe(self._fail_pending)

    def _run_once(self) -> bool:
        """Run one round of the thread and tell whether there is another."""
        jobs, maintenance_tasks, stop = self._take_queued()
        due = self._deadline is not None and monotonic() >= self._deadline
        if jobs or stop or due:
            self._commit(jobs)
        for task in maintenance_tasks:
            self._run_maintenance(task)
        self._checkpoint()
        return not stop

    def _take_queued(self) -> tuple[list[_Job], list[_MaintenanceTask], bool]:
        jobs: list[_Job] = []
        maintenance_tasks: list[_MaintenanceTask] = []
        timeout = None if self._deadline is None else max(0.0, self._deadline - monotonic())
        try:
            item = self._queue.get(timeout=timeout)
            while True:
                if item is _Signal.STOP:
                    return jobs, maintenance_tasks, True
                if isinstance(item, _Job):
                    jobs.append(item)
                elif isinstance(item, _MaintenanceTask):
                    maintenance_tasks.append(item)
                elif self._deadline is None:
                    self._deadline = monotonic() + POSITION_FLUSH_SECONDS
                if len(jobs) >= MAX_GROUP_SIZE:
                    break
                item = self._queue.get_nowait()
        except Empty:
            pass
        return jobs, maintenance_tasks, False

    def _commit(self, jobs: Sequence[_Job]) -> None:
        self._deadline = None
        with self._lock:
            positions, self._positions = self._positions, {}
        if not jobs and not positions:
            return
        try:
            committed = self._database.commit([job.work for job in jobs], positions)
        except (Error, OutageError) as error:  # of the log, or of the keys that seal it
            self._requeue_positions(positions)
            self._commit_individually(jobs, error)
            return
        self.transaction_count += 1
        self.health_issue = None
        self._loop.call_soon_threadsafe(self._complete, jobs, committed)

    def _commit_individually(self, jobs: Sequence[_Job], error: Exception) -> None:
        """Retry each job of a failed transaction by itself: one job may have failed the others."""
        if len(jobs) > 1:
            for job in jobs:
                self._commit([job])
            return
        self.health_issue = f"the log can't be written: {error}"
        log.error("%s", self.health_issue)
        if jobs:
            failure = LogWriteError(f"The log {self._database.path} can't be written: {error}.")
            self._loop.call_soon_threadsafe(_fail, jobs[0].done, failure)

    def _requeue_positions(self, positions: Mapping[GroupPartition, int]) -> None:
        with self._lock:
            self._positions = {**positions, **self._positions}
        if positions:
            self._deadline = monotonic() + RETRY_SECONDS

    def _run_maintenance(self, task: _MaintenanceTask) -> None:
        try:
            result = task.action()
        except Error as error:
            self._loop.call_soon_threadsafe(_fail, task.done, LogWriteError(str(error)))
        else:
            self._loop.call_soon_threadsafe(_resolve, task.done, result)

    def _checkpoint(self) -> None:
        try:
            self._database.checkpoint(idle=self._queue.empty())
        except Error as error:
            log.warning("The checkpoint of the log failed and will be retried: %s", error)

    def _complete(self, jobs: Sequence[_Job], committed: CommitResult) -> None:
        self._on_commit(committed)
        for job, result in zip(jobs, committed.results, strict=True):
            _resolve(job.done, result)

    def _fail_pending(self) -> None:
        """Fail the futures that are still pending when the thread ends with an error."""
        self._stopped = True
        self.health_issue = "the writer of the log has stopped"
        for done in list(self._pending):
            _fail(done, LogClosedError("The writer of the log has stopped; see the error logged before."))


def _resolve(done: asyncio.Future[Any], result: object) -> None:
    if not done.done():
        done.set_result(result)


def _fail(done: asyncio.Future[Any], failure: Exception) -> None:
    if not done.done():
        done.set_exception(failure)
