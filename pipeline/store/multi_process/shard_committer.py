"""Shard committer: changes and maintains one shard of a shared table.

Updates that arrive while a batch waits for the lock join it: one read and one commit for all.
"""

import asyncio
import logging
import sys
import time
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Generic

from pipeline.errors import OutageError, RetryableError
from pipeline.ports import Lease, Locks, Row
from pipeline.runtime.durable_files import disk_failure
from pipeline.store.lancedb.lance_table import STORAGE_ERRORS, run_to_completion
from pipeline.store.lancedb.row_codec import RowCodec
from pipeline.store.lancedb.sharded_table import are_same_rows
from pipeline.store.multi_process.shard_follower import ChangeListener, ShardFollower
from pipeline.store.multi_process.shared_lance_table import SharedLanceTable
from pipeline.store.multi_process.update_queue import Preparation, RowChange, UpdateQueue, UpdateRequest

_RETRY_PAUSES = (0.05, 0.2, 1.0)
_REST_FACTOR = 2
_MAX_REST_SECONDS = 0.3
"""Longest pause between two commits while there is always something to commit."""
_MIN_MERGE_FRAGMENTS = 16
_BUSY_MERGE_FRAGMENTS = 64
_BUSY_SECONDS = 2.0
_MAINTENANCE_REST_FACTOR = 10
"""Maintenance may take one part in this many of the time."""
TOMBSTONE_RETENTION_SECONDS = 3600.0
_SHORT_LIVED_RETENTION_SECONDS = 24 * 3600.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SharingOptions:
    """Locks and intervals of sharing.

    A process maintains one shard at a time (`maintenance_lock`): two would take twice the memory, and both cores.
    """

    locks: Locks
    poll_seconds: float
    maintenance_lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class ShardCommitter(Generic[Row]):
    """Writer of a shard of a shared table. `follower` knows what this and other processes have written."""

    def __init__(
        self,
        name: str,
        lance_table: SharedLanceTable[Row],
        codec: RowCodec[Row],
        sharing: SharingOptions,
        listener: ChangeListener[Row],
        *,
        row_cache_bytes: int,
    ) -> None:
        self.name = name
        self.follower = ShardFollower(name, lance_table, codec, listener, row_cache_bytes=row_cache_bytes)
        self.health_issue: str | None = None
        """Why the last write failed; None if it succeeded."""
        self._lance_table = lance_table
        self._codec = codec
        self._locks = sharing.locks
        self._maintenance_lock = sharing.maintenance_lock
        self._listener = listener
        self._queue = UpdateQueue[Row](self._commit_all)
        self._commit_task: asyncio.Task[None] | None = None
        self._committed_at = 0.0
        self._maintained_at = 0.0
        self._maintenance_seconds = 0.0
        self._checked_version = 0
        self._retention_seconds = _SHORT_LIVED_RETENTION_SECONDS if codec.short_lived else TOMBSTONE_RETENTION_SECONDS
        self._version_history: deque[tuple[float, int]] = deque([(time.monotonic(), 0)])

    async def version(self) -> int:
        """Return the newest version."""
        return await self._lance_table.version()

    async def get_rows(self, entity_keys: Collection[str]) -> dict[str, list[Row]]:
        """Read the newest rows of these keys; absent keys are left out."""
        if not entity_keys:
            return {}
        version, follower = await self._lance_table.version(), self.follower
        if version != follower.seen_version and follower.is_following and not self._is_committing:
            # What others have added since is read sooner than the keys in every fragment.
            await follower.refresh()
            version = follower.seen_version
        return await follower.get_rows_at(version, entity_keys)

    async def update(
        self, entity_keys: Sequence[str], change: RowChange[Row], prepare: Preparation | None = None
    ) -> dict[str, list[Row]]:
        """Read, modify and write keys of this shard; OutageError if it cannot be written."""
        request = UpdateRequest(entity_keys, change, prepare, is_awaited=True)
        self._queue.add(request)
        self._commit_now()
        return await request.done

    def update_soon(self, entity_keys: Sequence[str], change: RowChange[Row]) -> None:
        """Update keys of this shard with the next commit of any of them, or a few seconds later."""
        request = UpdateRequest(entity_keys, change, None, is_awaited=False)
        request.done.add_done_callback(self._log_failure)
        self._queue.add(request)

    async def flush(self) -> None:
        """Write every update and wait for it."""
        self._commit_all()
        while self._commit_task is not None and not self._commit_task.done():
            await asyncio.wait([self._commit_task])

    async def maintain(self) -> None:
        """Merge fragments, update indices, drop old versions and old tombstones now."""
        await self._maintain(0)

    async def maintain_if_due(self) -> None:
        """Maintain if enough fragments wait, and the last maintenance was long enough ago."""
        now = time.monotonic()
        self._record_version(now)
        if (
            now < self._maintained_at + _MAINTENANCE_REST_FACTOR * self._maintenance_seconds
            or self.follower.seen_version - self._checked_version < _MIN_MERGE_FRAGMENTS
        ):
            return
        busy = now - self._committed_at < _BUSY_SECONDS
        least = _BUSY_MERGE_FRAGMENTS if busy else _MIN_MERGE_FRAGMENTS
        if await self._lance_table.small_fragment_count() >= least:
            await self._maintain(least)
        elif not busy:
            self._checked_version = self.follower.seen_version

    async def erase_deleted_rows(self) -> int:
        """Move the rows that share a file with deleted ones; return their number."""
        async with self._maintenance_lock, self._locks.acquire(self.name):
            return await self.follower.rewrite_files(self._lance_table.erase_deleted_rows)

    async def drop_old_versions(self, older_than: timedelta) -> None:
        """Remove the files of versions older than this, which nobody may read any more."""
        async with self._maintenance_lock, self._locks.acquire(self.name):
            await self.follower.rewrite_files(lambda: self._lance_table.drop_old_versions(older_than))

    async def _maintain(self, min_fragments: int) -> None:
        async with self._maintenance_lock, self._locks.acquire(self.name):
            if min_fragments and await self._lance_table.small_fragment_count() < min_fragments:
                return  # another process was quicker
            started = time.monotonic()
            purgeable = self._purgeable_version(started)
            self._checked_version = await self.follower.rewrite_files(lambda: self._lance_table.maintain(purgeable))
            self._maintained_at = time.monotonic()
            self._maintenance_seconds = self._maintained_at - started

    def _record_version(self, now: float) -> None:
        if now - self._version_history[-1][0] > self._retention_seconds / 8:
            self._version_history.append((now, self.follower.seen_version))

    def _purgeable_version(self, now: float) -> int:
        """Newest version that no process can lag behind any more; 0 if none."""
        while len(self._version_history) > 1 and self._version_history[1][0] <= now - self._retention_seconds:
            self._version_history.popleft()
        at, version = self._version_history[0]
        return version if at <= now - self._retention_seconds else 0

    @property
    def _is_committing(self) -> bool:
        return self._commit_task is not None and not self._commit_task.done()

    def _commit_all(self) -> None:
        self._queue.make_all_due()
        self._commit_now()

    def _commit_now(self) -> None:
        if not self._is_committing:
            self._commit_task = asyncio.create_task(self._commit_loop())

    def _log_failure(self, done: asyncio.Future[dict[str, list[Row]]]) -> None:
        if not done.cancelled() and (error := done.exception()) is not None:
            _log.warning("A change that nobody waits for was not written to shard %s: %s", self.name, error)

    async def _commit_loop(self) -> None:
        batch: list[UpdateRequest[Row]] = []
        try:
            while self._queue.is_due:
                started = time.monotonic()
                await self._commit_batch_with_retry(batch)
                batch.clear()
                if self._queue.is_due:
                    # Let more join: a commit for several stages costs as much as one for each.
                    await asyncio.sleep(min(_REST_FACTOR * (time.monotonic() - started), _MAX_REST_SECONDS))
        finally:
            if (ended := sys.exception()) is not None:
                self._fail_all(batch, ended)

    def _fail_all(self, batch: Sequence[UpdateRequest[Row]], ended: BaseException) -> None:
        """Let no request wait for ever, after a cancellation or an unexpected error."""
        stopped = OutageError(f"Shard {self.name} was not written: this process is ending.")
        error = ended if isinstance(ended, Exception) else stopped
        for request in batch:
            request.fail(error)
        self._queue.fail_all(error)

    async def _commit_batch_with_retry(self, batch: list[UpdateRequest[Row]]) -> None:
        for pause in (*_RETRY_PAUSES, None):
            try:
                await self._commit_batch(batch)
            except (*STORAGE_ERRORS, RetryableError) as error:
                self.health_issue = (
                    f"shard {self.name} cannot be written ({disk_failure(error) or type(error).__name__})"
                )
                if pause is None:
                    for request in batch:
                        request.fail(OutageError(f"Shard {self.name} could not be written: {error}"))
                    return
                _log.warning("Shard %s could not be written, next try in %.2f s: %s", self.name, pause, error)
                await asyncio.sleep(pause)
            else:
                self.health_issue = None
                return

    async def _commit_batch(self, batch: list[UpdateRequest[Row]]) -> None:
        # The order lock is taken last, so that others are followed while this waits for the shard's lock.
        async with self._locks.acquire(self.name) as lease, self.follower.order:
            batch += self._queue.take_due()
            requests = [request for request in batch if not request.done.done()]
            # One look at what others changed, instead of one for the rows to change and one to follow.
            follower = self.follower
            version = await (follower.refresh_in_order() if follower.is_following else self._lance_table.version())
            before = await follower.get_rows_at(version, {key for request in requests for key in request.entity_keys})
            after: dict[str, Sequence[Row]] = dict(before)
            for request in requests:
                await self._apply_request(request, after)
            # What one request creates and another one deletes was never there.
            changed = {
                key: rows for key, rows in after.items() if rows is not before.get(key) and (rows or key in before)
            }
            if changed:
                await self._commit(changed, before, version, lease)
            for request in requests:
                request.succeed()

    async def _apply_request(self, request: UpdateRequest[Row], after: dict[str, Sequence[Row]]) -> None:
        # In a task of its own, so that an error of one change does not reach the others in the batch.
        change = asyncio.ensure_future(self._compute_changes(request, after))
        await asyncio.wait([change])
        if (error := change.exception()) is not None:
            request.fail(error)
            return
        after.update(change.result())
        request.after = {key: list(after.get(key, ())) for key in request.entity_keys}

    async def _compute_changes(
        self, request: UpdateRequest[Row], before: Mapping[str, Sequence[Row]]
    ) -> dict[str, Sequence[Row]]:
        if request.prepare is not None:
            await request.prepare()
        changed: dict[str, Sequence[Row]] = {}
        for key in request.entity_keys:
            old = before.get(key, ())
            new = request.change(key, list(old))
            if new is not None and not are_same_rows(old, new):
                changed[key] = list({self._codec.id_of(row): row for row in new}.values())
        return changed

    async def _commit(
        self, changed: Mapping[str, Sequence[Row]], before: Mapping[str, Sequence[Row]], version: int, lease: Lease
    ) -> None:
        are_new = self.follower.may_only_add(version, changed)
        with self.follower.in_flight(version, changed):
            after = await run_to_completion(self._lance_table.commit(changed, before, version, lease, are_new=are_new))
        self.follower.take_over(version, after, changed)
        self._committed_at = time.monotonic()
        self._listener.on_local_change(before, changed)
