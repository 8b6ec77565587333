"""Memtable flusher: writes the changes of one shard to LanceDB in batches.

Where durability is awaited before that, it appends them to the write-ahead log.
"""

import asyncio
import logging
import time
from collections import deque
from datetime import timedelta
from typing import Generic

from pipeline.ports import Row
from pipeline.runtime.durable_files import disk_failure
from pipeline.store.lancedb.lance_table import STORAGE_ERRORS, run_to_completion
from pipeline.store.lancedb.memtable import MemTable
from pipeline.store.single_process.exclusive_lance_table import ExclusiveLanceTable
from pipeline.store.single_process.write_ahead_log import WriteAheadLog

_RELAXED_FLUSH_SECONDS = 0.05
_LOGGED_FLUSH_SECONDS = 5.0
"""Gathering time with a write-ahead log: changes are recovered from it after a restart."""
_MIN_FLUSH_PAUSE_SECONDS = 0.002
_URGENT_KEYS = 512
_URGENT_BYTES = 16 * 1024 * 1024
_BURST_COMMITS = 16
_MIN_COMMIT_INTERVAL_SECONDS = 0.05
_MAX_COMMIT_INTERVAL_SECONDS = 0.4
_COMMIT_REST_FACTOR = 4
"""Limits commits after a burst to one per `_MIN_COMMIT_INTERVAL_SECONDS`.

Every commit is a version, which makes later commits slower. Where commits take long, the interval is this
many times their duration, up to `_MAX_COMMIT_INTERVAL_SECONDS`, so that a busy machine gathers larger
batches.
"""
_IDLE_SECONDS = 0.5
_BACKOFF_SECONDS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_log = logging.getLogger(__name__)


def commit_interval(commit_seconds: float) -> float:
    """Seconds between two commits under load, where recent commits took `commit_seconds`.

    >>> commit_interval(0.005), commit_interval(0.05), commit_interval(3.0)
    (0.05, 0.2, 0.4)
    """
    return min(max(_COMMIT_REST_FACTOR * commit_seconds, _MIN_COMMIT_INTERVAL_SECONDS), _MAX_COMMIT_INTERVAL_SECONDS)


class MemTableFlusher(Generic[Row]):
    """The only writer of a shard. While nobody waits for durability it gathers larger batches."""

    def __init__(
        self,
        name: str,
        shard: int,
        memtable: MemTable[Row],
        lance_table: ExclusiveLanceTable[Row],
        write_ahead_log: WriteAheadLog | None,
    ) -> None:
        self._name = name
        self._write_ahead_log = write_ahead_log
        self._log_lock = asyncio.Lock()
        self._logged_sequence = 0
        self._shard = shard
        self._memtable = memtable
        self._lance_table = lance_table
        self._commit_lock = asyncio.Lock()
        self._changed = asyncio.Event()
        self._urgent = asyncio.Event()
        self._stopping = False
        self._running = False
        self._flushed_sequence = 0
        self.health_issue: str | None = None
        """Why pending changes cannot be flushed now; None if they can."""
        self._in_flight = False
        self._commit_times: deque[float] = deque(maxlen=_BURST_COMMITS)
        self._commit_seconds = 0.0
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []

    def notify_change(self) -> None:
        self._changed.set()
        memtable, shard = self._memtable, self._shard
        if memtable.pending_count(shard) >= _URGENT_KEYS or memtable.pending_bytes(shard) >= _URGENT_BYTES:
            self._urgent.set()

    def is_durable(self, sequence: int) -> bool:
        """True if every change up to `sequence` is on disk."""
        if self._flushed_sequence >= sequence or not (self._in_flight or self._memtable.pending_count(self._shard)):
            return True
        ahead = self._running and self._write_ahead_log is not None and not self._log_lock.locked()
        return ahead and self._memtable.is_fully_logged(self._shard)

    async def wait_until_durable(self, sequence: int) -> None:
        """Wait until every change up to `sequence` is on disk; flushes here if `run` is not running."""
        if self.is_durable(sequence):
            return
        if not self._running:
            await self.flush()
            return
        if self._write_ahead_log is not None and await self._append_to_log(self._write_ahead_log):
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append((sequence, waiter))
        self._urgent.set()
        await waiter

    async def run(self) -> None:
        """Flush and maintain until stopped."""
        self._running = True
        try:
            while not self._stopping:
                changed = await self._wait_for_change()
                if changed:
                    await self._wait_for_batch()
                    await self._flush_with_retry()
                await self._maintain_if_due(idle=not changed)
        finally:
            self._running = False
            self._fail_waiters()

    def stop(self) -> None:
        """Let `run` return after what it is doing."""
        self._stopping = True
        self._changed.set()
        self._urgent.set()

    async def flush(self) -> None:
        """Write all pending changes in one commit."""
        async with self._commit_lock:
            await run_to_completion(self._flush())

    async def delete_incarnations(self, incarnations: frozenset[str]) -> None:
        async with self._commit_lock:
            if self._write_ahead_log is not None:
                # Flush first, which empties the log: after a restart it must not bring deleted rows back.
                await run_to_completion(self._flush())
                await self._write_ahead_log.history.untrack(incarnations)
            await run_to_completion(self._lance_table.delete_incarnations(incarnations))
        self._changed.set()  # it may be time for maintenance

    async def maintain(self, *, full: bool = True) -> None:
        """Like `ExclusiveLanceTable.maintain`, never at the same time as a flush."""
        async with self._commit_lock:
            await run_to_completion(self._lance_table.maintain(full=full))

    async def erase_deleted_rows(self) -> int:
        """Flush, then move what shares files with deleted rows."""
        async with self._commit_lock:
            await run_to_completion(self._flush())
            return await run_to_completion(self._lance_table.erase_deleted_rows())

    async def drop_old_versions(self, older_than: timedelta) -> None:
        """Like `ExclusiveLanceTable.drop_old_versions`, never at the same time as a flush."""
        async with self._commit_lock:
            await run_to_completion(self._lance_table.drop_old_versions(older_than))

    async def _append_to_log(self, write_ahead_log: WriteAheadLog) -> bool:
        """Log every change that is not on disk. False: only a flush can make it durable."""
        async with self._log_lock:
            changes = self._memtable.drain_unlogged(self._shard)
            if not changes:
                return True
            changed = {key: change.rows for key, change in changes.items()}
            # Set before the append, so that a concurrent flush truncates the log afterwards.
            self._logged_sequence = sequence = max(change.sequence for change in changes.values())
            try:
                await run_to_completion(write_ahead_log.append(self._name, sequence, changed, self._lance_table.codec))
            except STORAGE_ERRORS as error:
                self._memtable.requeue_unlogged(self._shard, changes)
                _log.warning(
                    "Changes of table %s could not be appended to the log and are flushed instead: %s",
                    self._name,
                    error,
                )
                return False
            return True

    async def _flush(self) -> None:
        sequence = self._memtable.sequence
        changes = self._memtable.drain(self._shard)
        self._in_flight = True
        try:
            if changes:
                began = time.monotonic()
                self._commit_times.append(began)
                if self._write_ahead_log is not None:
                    changed = ((change.incarnation, key) for key, change in changes.items())
                    await self._write_ahead_log.history.record(self._lance_table.codec.table, changed)
                await self._lance_table.commit({key: change.rows for key, change in changes.items()})
                self._commit_seconds += (time.monotonic() - began - self._commit_seconds) / _BURST_COMMITS
            self._memtable.drop_flushed(changes)
            await self._truncate_log(sequence)
        finally:
            self._in_flight = False
            self._memtable.requeue(self._shard, changes)
        self._flushed_sequence = sequence
        self._release_waiters()

    async def _truncate_log(self, sequence: int) -> None:
        """Remove flushed changes from the log, which a restart would otherwise put over newer ones."""
        if self._write_ahead_log is not None and self._logged_sequence:
            await self._write_ahead_log.truncate(self._name, sequence)
            if self._logged_sequence <= sequence:
                self._logged_sequence = 0

    async def _wait_for_change(self) -> bool:
        due = self._lance_table.seconds_until_maintenance(idle=True)
        try:
            async with asyncio.timeout(None if due is None else max(_IDLE_SECONDS, due)):
                await self._changed.wait()
        except TimeoutError:
            return False
        self._changed.clear()
        return True

    async def _wait_for_batch(self) -> None:
        if not self._waiters:
            self._urgent.clear()
            try:
                async with asyncio.timeout(0 if self._stopping else self._relaxed_pause):
                    await self._urgent.wait()
            except TimeoutError:
                return
        await asyncio.sleep(self._commit_pause())

    @property
    def _relaxed_pause(self) -> float:
        return _RELAXED_FLUSH_SECONDS if self._write_ahead_log is None else _LOGGED_FLUSH_SECONDS

    def _commit_pause(self) -> float:
        times = self._commit_times
        if len(times) < _BURST_COMMITS or self._stopping:
            return _MIN_FLUSH_PAUSE_SECONDS
        step = commit_interval(self._commit_seconds)
        due = times[0] + _BURST_COMMITS * step
        return min(max(due - time.monotonic(), _MIN_FLUSH_PAUSE_SECONDS), step)

    async def _flush_with_retry(self) -> None:
        attempt = 0
        while True:
            try:
                await self.flush()
            except STORAGE_ERRORS as error:
                self.health_issue = (
                    f"table {self._name} cannot be written ({disk_failure(error) or type(error).__name__})"
                )
                pause = _BACKOFF_SECONDS[min(attempt, len(_BACKOFF_SECONDS) - 1)]
                attempt += 1
                _log.warning(
                    "Table %s could not be written (attempt %d). %d changed keys stay in memory "
                    "and in the log; next try in %.1f s: %s",
                    self._name, attempt, self._memtable.pending_count(self._shard), pause, error,
                )  # fmt: skip
                if self._stopping:
                    return
                await asyncio.sleep(pause)
            else:
                self.health_issue = None
                return

    async def _maintain_if_due(self, *, idle: bool) -> None:
        # Do not wait for the maintenance lock: new changes would wait as well.
        if (
            self._stopping
            or self._lance_table.seconds_until_maintenance(idle=idle) != 0
            or self._lance_table.is_maintenance_locked
        ):
            return
        try:
            await self.maintain(full=False)
            if idle:
                self._memtable.clear_row_cache()
        except STORAGE_ERRORS as error:
            _log.warning("Maintenance of table %s failed; it will be retried: %s", self._name, error)

    def _release_waiters(self) -> None:
        for sequence, waiter in self._waiters:
            if sequence <= self._flushed_sequence and not waiter.done():
                waiter.set_result(None)
        self._waiters = [(sequence, waiter) for sequence, waiter in self._waiters if not waiter.done()]
        if self._waiters:
            self._changed.set()

    def _fail_waiters(self) -> None:
        waiting, self._waiters = self._waiters, []
        for _, waiter in waiting:
            if not waiter.done():
                waiter.set_exception(RuntimeError(f"The store was closed before table {self._name} was flushed."))
