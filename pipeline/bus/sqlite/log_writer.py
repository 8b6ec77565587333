"""Writer of the log: jobs, and positions of consumers with them, by group commit."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from sqlite3 import Error
from threading import Lock
from typing import Any

from pipeline.bus.sqlite.log_database import CommitResult, GroupPartition, LogDatabase, LogTransaction, TransactionWork
from pipeline.errors import OutageError
from pipeline.runtime.group_commit import GroupCommit

log = logging.getLogger(__name__)

POSITION_FLUSH_SECONDS = 0.1
"""Maximum time a position waits for a transaction to join."""
RETRY_SECONDS = 1.0


class LogWriteError(OutageError):
    """The log could not be written, for example because the disk is full. Nothing was acknowledged."""


class LogClosedError(Exception):
    """The log was closed: nothing can be written until a restart."""


class LogWriter:
    """Commits jobs in a thread. Call it from the event loop only.

    `on_commit` gets the result of a transaction before the futures of the transaction's jobs resolve.
    """

    def __init__(self, database: LogDatabase, on_commit: Callable[[CommitResult], None]) -> None:
        self._database = database
        self._on_commit = on_commit
        self._loop = asyncio.get_running_loop()
        self._commits = GroupCommit[LogTransaction](
            "recollect-log-writer", self._commit, self._checkpoint, self._announce
        )
        self._committed: deque[CommitResult] = deque()
        self._positions: dict[GroupPartition, int] = {}
        self._lock = Lock()
        self._closed = False
        self.transaction_count = 0
        self.health_issue: str | None = None
        """Error of the last transaction; None if it was written."""

    def submit(self, work: TransactionWork) -> "asyncio.Future[Any]":
        """Queue a job; its future resolves with the result once it is on disk. LogWriteError if it fails."""
        if not self._closed:
            return self._commits.submit(work)
        refused: asyncio.Future[Any] = self._loop.create_future()
        refused.set_exception(LogClosedError("the log is closed"))
        return refused

    def run_between_transactions(self, action: Callable[[], object]) -> "asyncio.Future[Any]":
        """Queue an action on the database to run outside transactions; its future resolves with the result."""

        def act() -> object:
            try:
                return action()
            except Error as error:
                raise LogWriteError(str(error)) from error

        return self._commits.run(act)

    def save_position(self, group_partition: GroupPartition, offset: int) -> None:
        """Save a position with the next transaction, at most POSITION_FLUSH_SECONDS later."""
        with self._lock:
            first = not self._positions
            self._positions[group_partition] = offset
        if first:
            self._save_positions_after(POSITION_FLUSH_SECONDS)

    async def close(self) -> None:
        """Commit everything that was submitted and end the thread."""
        if not self._closed:
            self._closed = True
            await self._commits.close()

    def _save_positions_after(self, seconds: float) -> None:
        self._loop.call_later(seconds, self._save_positions)

    def _save_positions(self) -> None:
        if self._positions and not self._closed:
            # Its error is that of `_commit`, which saves them again.
            self._commits.submit(lambda _: None).add_done_callback(asyncio.Future.exception)

    def _commit(self, jobs: Sequence[TransactionWork]) -> Sequence[Any]:
        with self._lock:
            positions, self._positions = self._positions, {}
        try:
            committed = self._database.commit(jobs, positions)
        except Exception as error:
            self._requeue(positions)
            if not isinstance(error, Error | OutageError):  # of the log, or of the keys that seal it
                raise
            if len(jobs) == 1:  # else each is tried by itself
                self._report(error)
            raise LogWriteError(f"The log {self._database.path} can't be written: {error}.") from error
        self.transaction_count += 1
        self.health_issue = None
        self._committed.append(committed)
        return committed.results

    def _announce(self) -> None:
        while self._committed:
            self._on_commit(self._committed.popleft())

    def _report(self, error: Exception) -> None:
        self.health_issue = f"the log can't be written: {error}"
        log.error("%s", self.health_issue)

    def _requeue(self, positions: Mapping[GroupPartition, int]) -> None:
        with self._lock:
            self._positions = {**positions, **self._positions}
        if positions:
            self._loop.call_soon_threadsafe(self._save_positions_after, RETRY_SECONDS)

    def _checkpoint(self) -> None:
        try:
            self._database.checkpoint(idle=self._commits.is_idle)
        except Error as error:
            log.warning("The checkpoint of the log failed and will be retried: %s", error)
