"""Shard committer: changes one shard of a shared table in batches, and follows other processes.

Updates that arrive while a batch waits for the lock join it: one read and one commit for all.
"""

import asyncio
import logging
import sys
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import OutageError, RetryableError
from pipeline.ports import Lease, Locks, Row
from pipeline.store.lancedb.key_filter import KeyFilter, NoKeyFilter
from pipeline.store.lancedb.lance_table import STORAGE_ERRORS, run_to_completion
from pipeline.store.lancedb.row_cache import RowCache
from pipeline.store.lancedb.row_codec import RowCodec, in_condition
from pipeline.store.lancedb.sharded_table import are_same_rows, read_errors_as_outages
from pipeline.store.multi_process.shared_lance_table import SharedLanceTable
from pipeline.store.multi_process.version_stamped_table import DELETED

Row_contra = TypeVar("Row_contra", contravariant=True)
Result = TypeVar("Result")
RowChange = Callable[[str, list[Row]], Sequence[Row] | None]
Preparation = Callable[[], Awaitable[None]]
"""Awaited under the lock of a shard, before the changes of an update."""

_RETRY_PAUSES = (0.05, 0.2, 1.0)
_REST_FACTOR = 2
_MAX_REST_SECONDS = 0.3
"""Longest pause between two commits while there is always something to commit."""
_SOON_SECONDS = 5.0
"""Longest time that a change waits for one of the same keys to be committed with."""
_MIN_MERGE_FRAGMENTS = 16
_BUSY_MERGE_FRAGMENTS = 64
_BUSY_SECONDS = 2.0
_MAINTENANCE_REST_FACTOR = 10
"""Maintenance may take one part in this many of the time."""
_FOLLOW_REST_FACTOR = 10
_MAX_FOLLOW_REST_SECONDS = 0.5
TOMBSTONE_RETENTION_SECONDS = 3600.0
_SHORT_LIVED_RETENTION_SECONDS = 24 * 3600.0
_MAX_FOLLOW_GAP_SECONDS = 1800.0
_MAX_INCARNATIONS_IN_FILTER = 500
"""Maximum number of incarnations in one condition; to count more, all rows are counted."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SharingOptions:
    """Locks and intervals of sharing.

    A process maintains one shard at a time (`maintenance_lock`): two would take twice the memory, and both cores.
    """

    locks: Locks
    poll_seconds: float
    maintenance_lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class StaleFollowerError(Exception):
    """The process was cut off for so long that it may have missed deletions."""


class ChangeListener(Protocol[Row_contra]):
    """Receiver of changes, in the order in which they were made."""

    def on_local_change(
        self, before: Mapping[str, Sequence[Row_contra]], after: Mapping[str, Sequence[Row_contra]]
    ) -> None:
        """Handle a change by this process."""
        ...

    def on_remote_change(
        self, counts: Mapping[str, int], added: Mapping[str, int], changes: Mapping[str, Sequence[Row_contra]]
    ) -> None:
        """Handle changes by others (and perhaps this process), and by incarnation new row counts, and added rows."""
        ...

    def subscribed_incarnations(self, incarnations: Collection[str]) -> list[str]:
        """Return the incarnations whose rows a listener wants."""
        ...


@dataclass(eq=False, slots=True)
class _UpdateRequest(Generic[Row]):
    entity_keys: Sequence[str]
    change: RowChange[Row]
    prepare: Preparation | None
    done: asyncio.Future[dict[str, list[Row]]]
    is_awaited: bool
    after: dict[str, list[Row]] = field(default_factory=dict)

    def succeed(self) -> None:
        if not self.done.done():
            self.done.set_result(self.after)

    def fail(self, error: BaseException) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class ShardCommitter(Generic[Row]):
    """Shard of a shared table as this process sees it."""

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
        self._lance_table = lance_table
        self._codec = codec
        self._locks = sharing.locks
        self._maintenance_lock = sharing.maintenance_lock
        self._listener = listener
        self.health_issue: str | None = None
        """Why the last write failed; None if it succeeded."""
        self._seen_version = -1
        self._row_cache = RowCache(codec.size_bytes, row_cache_bytes)
        """Rows as of `_seen_version`."""
        self._key_filter: KeyFilter[str] | NoKeyFilter[str] = NoKeyFilter()
        """Keys with rows at `_seen_version` or before, deleted ones too, once they are known."""
        self._uncertain_keys = KeyFilter[str]()
        """Keys whose change does not tell the count: deleted before, or changed before this process heard of them."""
        self._counted_ahead: Collection[str] = ()
        """Incarnations whose counts may hold rows that others added after `_seen_version`."""
        self._in_flight: Mapping[str, Sequence[Row]] = {}
        """Changes that are being committed on top of `_seen_version`."""
        self._seen_at = time.monotonic()
        self._follow_at = 0.0
        self._committed_at = 0.0
        self._maintained_at = 0.0
        self._maintenance_seconds = 0.0
        self._checked_version = 0
        self._retention_seconds = _SHORT_LIVED_RETENTION_SECONDS if codec.short_lived else TOMBSTONE_RETENTION_SECONDS
        self._version_history: deque[tuple[float, int]] = deque([(self._seen_at, 0)])
        self._queue: list[_UpdateRequest[Row]] = []
        self._deadline: asyncio.TimerHandle | None = None
        """Begins the commit of changes that nobody waits for."""
        self._is_all_due = False
        """True if these wait no longer."""
        self._commit_task: asyncio.Task[None] | None = None
        self._order_lock = asyncio.Lock()
        """Orders commits and refreshes, so that listeners see changes in their order."""

    @property
    def seen_version(self) -> int:
        """Version up to which listeners heard of every change; negative at first."""
        return self._seen_version

    async def version(self) -> int:
        """Return the newest version."""
        return await self._lance_table.version()

    async def get_rows(self, entity_keys: Collection[str]) -> dict[str, list[Row]]:
        """Read the newest rows of these keys; absent keys are left out."""
        if not entity_keys:
            return {}
        version = await self._lance_table.version()
        if version != self._seen_version and self._is_following and not self._is_committing:
            # What others have added since is read sooner than the keys in every fragment.
            await self.refresh()
            version = self._seen_version
        return await self._get_rows_at(version, entity_keys)

    @property
    def _is_following(self) -> bool:
        """True if the changes since the version that was seen are known to be there still."""
        return self._seen_version >= 0 and time.monotonic() - self._seen_at < _MAX_FOLLOW_GAP_SECONDS

    @property
    def _is_committing(self) -> bool:
        return self._commit_task is not None and not self._commit_task.done()

    async def _get_rows_at(self, version: int, entity_keys: Collection[str]) -> dict[str, list[Row]]:
        """Read the rows of these keys at the newest version, which is this one."""
        if not self._knows(version, entity_keys):
            return await self._lance_table.get_rows(entity_keys)
        cached = {key: rows for key in entity_keys if (rows := self._row_cache.get(key)) is not None}
        missing = self._key_filter.may_contain(key for key in entity_keys if key not in cached)
        read = await self._lance_table.get_rows(missing)
        if version == self._seen_version:
            self._cache_rows({key: read.get(key, []) for key in missing})
        return {key: list(rows) for key, rows in cached.items() if rows} | read

    def _knows(self, version: int, entity_keys: Collection[str]) -> bool:
        """Return whether the rows in memory are those of this version."""
        if version == self._seen_version:
            return True
        # While this process holds the lock of a folder, the next version is that of its commit.
        is_own = bool(self._in_flight) and version == self._seen_version + 1
        return is_own and not any(key in self._in_flight for key in entity_keys)

    def _cache_rows(self, rows_by_key: Mapping[str, Sequence[Row]]) -> None:
        """Keep rows as of `_seen_version`."""
        for key, rows in rows_by_key.items():
            self._row_cache.put(key, tuple(rows))

    @read_errors_as_outages
    async def changed_since(self, version: int, incarnations: Collection[str]) -> set[str] | None:
        """Entity keys of these incarnations written or deleted after a version; None if the table is older."""
        if await self._lance_table.version() < version:
            return None
        changes = await self._lance_table.changes_since(version, incarnations)
        return set(changes.column(self._codec.entity_key_column).to_pylist())

    async def update(
        self, entity_keys: Sequence[str], change: RowChange[Row], prepare: Preparation | None = None
    ) -> dict[str, list[Row]]:
        """Read, modify and write keys of this shard; OutageError if it cannot be written."""
        request = self._enqueue(entity_keys, change, prepare, is_awaited=True)
        self._commit_now()
        return await request.done

    def update_soon(self, entity_keys: Sequence[str], change: RowChange[Row]) -> None:
        """Update keys of this shard with the next commit of any of them, or within `_SOON_SECONDS`."""
        self._enqueue(entity_keys, change, None, is_awaited=False).done.add_done_callback(self._log_failure)
        if self._deadline is None:
            self._deadline = asyncio.get_running_loop().call_later(_SOON_SECONDS, self._commit_all)

    def _enqueue(
        self, entity_keys: Sequence[str], change: RowChange[Row], prepare: Preparation | None, *, is_awaited: bool
    ) -> _UpdateRequest[Row]:
        done: asyncio.Future[dict[str, list[Row]]] = asyncio.get_running_loop().create_future()
        request = _UpdateRequest(entity_keys, change, prepare, done, is_awaited)
        self._queue.append(request)
        return request

    def _commit_all(self) -> None:
        self._cancel_deadline()
        self._is_all_due = bool(self._queue)
        self._commit_now()

    def _commit_now(self) -> None:
        if not self._is_committing:
            self._commit_task = asyncio.create_task(self._commit_loop())

    def _log_failure(self, done: asyncio.Future[dict[str, list[Row]]]) -> None:
        if not done.cancelled() and (error := done.exception()) is not None:
            _log.warning("A change that nobody waits for was not written to shard %s: %s", self.name, error)

    async def flush(self) -> None:
        """Write every update and wait for it."""
        self._commit_all()
        while self._commit_task is not None and not self._commit_task.done():
            await asyncio.wait([self._commit_task])

    def is_due_to_follow(self) -> bool:
        """Return whether there may be changes, and catching up took no more than a tenth of the time so far."""
        now = time.monotonic()
        if now < self._follow_at:
            return False
        if not self._lance_table.is_known_to_be(self._seen_version):
            return True
        self._seen_at = now
        return False

    async def follow(self) -> None:
        """Catch up like `refresh`, and rest, half a second at most."""
        version, started = self._seen_version, time.monotonic()
        await self.refresh()
        if version != self._seen_version:
            now = time.monotonic()
            self._follow_at = now + min(_FOLLOW_REST_FACTOR * (now - started), _MAX_FOLLOW_REST_SECONDS)

    async def refresh(self) -> None:
        """Catch up with changes by other processes."""
        if self._lance_table.is_known_to_be(self._seen_version):
            self._seen_at = time.monotonic()
            return
        async with self._order_lock:
            await self._refresh()

    async def _refresh(self) -> int:
        """Catch up; return the version that is seen now."""
        version = await self._lance_table.version()
        now = time.monotonic()
        if version != self._seen_version:
            if now - self._seen_at > _MAX_FOLLOW_GAP_SECONDS:
                raise StaleFollowerError(
                    f"Shard {self.name} could not be followed for {now - self._seen_at:.0f} s, and what "
                    "was deleted meanwhile may still be in memory. Start this process again."
                )
            changed = await (self._load_counts() if self._seen_version < 0 else self._catch_up(version))
            # Now, so that no read of the older version can follow.
            self._key_filter.add(changed)
            for key in changed:
                self._row_cache.remove(key)
            self._seen_version = version
        self._seen_at = now
        return version

    async def maintain(self) -> None:
        """Merge fragments, update indices, drop old versions and old tombstones now."""
        await self._maintain(0)

    async def maintain_if_due(self) -> None:
        """Maintain if enough fragments wait, and the last maintenance was long enough ago."""
        now = time.monotonic()
        self._record_version(now)
        if (
            now < self._maintained_at + _MAINTENANCE_REST_FACTOR * self._maintenance_seconds
            or self._seen_version - self._checked_version < _MIN_MERGE_FRAGMENTS
        ):
            return
        busy = now - self._committed_at < _BUSY_SECONDS
        least = _BUSY_MERGE_FRAGMENTS if busy else _MIN_MERGE_FRAGMENTS
        if await self._lance_table.small_fragment_count() >= least:
            await self._maintain(least)
        elif not busy:
            self._checked_version = self._seen_version

    async def erase_deleted_rows(self) -> int:
        """Move the rows that share a file with deleted ones; return their number."""
        async with self._maintenance_lock, self._locks.acquire(self.name):
            return await self._rewrite_files(self._lance_table.erase_deleted_rows)

    async def drop_old_versions(self, older_than: timedelta) -> None:
        """Remove the files of versions older than this, which nobody may read any more."""
        async with self._maintenance_lock, self._locks.acquire(self.name):
            await self._rewrite_files(lambda: self._lance_table.drop_old_versions(older_than))

    async def _rewrite_files(self, rewrite: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """Write a new version with the same rows, which followers need not read again."""
        version = await self._lance_table.version()
        result = await run_to_completion(rewrite())
        if version == self._seen_version:
            self._seen_version = await self._lance_table.version()
        return result

    async def _maintain(self, min_fragments: int) -> None:
        async with self._maintenance_lock, self._locks.acquire(self.name):
            if min_fragments and await self._lance_table.small_fragment_count() < min_fragments:
                return  # another process was quicker
            started = time.monotonic()
            purgeable = self._purgeable_version(started)
            self._checked_version = await self._rewrite_files(lambda: self._lance_table.maintain(purgeable))
            self._maintained_at = time.monotonic()
            self._maintenance_seconds = self._maintained_at - started

    def _record_version(self, now: float) -> None:
        if now - self._version_history[-1][0] > self._retention_seconds / 8:
            self._version_history.append((now, self._seen_version))

    def _purgeable_version(self, now: float) -> int:
        """Newest version that no process can lag behind any more; 0 if none."""
        while len(self._version_history) > 1 and self._version_history[1][0] <= now - self._retention_seconds:
            self._version_history.popleft()
        at, version = self._version_history[0]
        return version if at <= now - self._retention_seconds else 0

    async def _load_counts(self) -> Collection[str]:
        """Tell listeners how many rows there are; return the entity keys of all."""
        stored = await self._lance_table.changes_since(-1)
        counts = await self._count_rows(None) if self._codec.counted_filter else _count_live(stored)
        self._listener.on_remote_change(counts, {}, {})
        self._key_filter = KeyFilter()
        self._uncertain_keys.add(self._keys(stored.filter(stored.column(DELETED.name))))
        return self._keys(stored)

    def _keys(self, rows: pa.Table) -> list[str]:
        keys: list[str] = rows.column(self._codec.entity_key_column).to_pylist()
        return keys

    async def _catch_up(self, version: int) -> Collection[str]:
        """Tell listeners what others changed up to a version, and return the entity keys of it."""
        read = await self._lance_table.changes_after(
            self._seen_version, version, self._listener.subscribed_incarnations
        )
        changes = read.written
        if not changes.num_rows:
            return ()
        keys = self._keys(changes)
        of_key = zip(keys, changes.column("incarnation").to_pylist(), strict=True)
        rows_by_key = {key: read.rows.get(key, []) for key, incarnation in of_key if incarnation in read.wanted}
        self._uncertain_keys.add(self._keys(changes.filter(changes.column(DELETED.name))))
        uncounted, added = self._count_added(changes)
        counts = await self._count_rows(uncounted) if uncounted else {}
        self._counted_ahead = uncounted if uncounted and await self._lance_table.version() != version else ()
        self._listener.on_remote_change(counts, added, {**rows_by_key, **read.rows})
        return keys

    def _count_added(self, changes: pa.Table) -> tuple[Sequence[str], Mapping[str, int]]:
        """Return the incarnations whose rows have to be counted, and the added rows of the others.

        Every row of a new key is added, and a key of one row that was there before adds none.
        """
        incarnations: list[str] = changes.column("incarnation").to_pylist()
        if self._codec.counted_filter is not None:
            return list(set(incarnations)), {}
        keys = self._keys(changes)
        known, uncertain = set(self._key_filter.may_contain(keys)), set(self._uncertain_keys.may_contain(keys))
        uncounted = set(self._counted_ahead).intersection(incarnations)
        added: Counter[str] = Counter()
        for key, incarnation in zip(keys, incarnations, strict=True):
            if key in uncertain or (key in known and not self._codec.has_single_rows):
                uncounted.add(incarnation)
            elif key not in known:
                added[incarnation] += 1
        return list(uncounted), {name: count for name, count in added.items() if name not in uncounted}

    async def _count_rows(self, incarnations: Sequence[str] | None) -> dict[str, int]:
        incarnation_filter = (
            []
            if incarnations is None or len(incarnations) > _MAX_INCARNATIONS_IN_FILTER
            else [in_condition("incarnation", incarnations)]
        )
        where = " AND ".join([*incarnation_filter, self._codec.counted_filter or "true"])
        found = (await self._lance_table.scan(where, ["incarnation"])).column(0).value_counts().to_pylist()
        return dict.fromkeys(incarnations or (), 0) | {entry["values"]: entry["counts"] for entry in found}

    async def _commit_loop(self) -> None:
        batch: list[_UpdateRequest[Row]] = []
        try:
            while self._must_commit():
                started = time.monotonic()
                await self._commit_batch_with_retry(batch)
                batch.clear()
                if self._must_commit():
                    # Let more join: a commit for several stages costs as much as one for each.
                    await asyncio.sleep(min(_REST_FACTOR * (time.monotonic() - started), _MAX_REST_SECONDS))
        finally:
            if (ended := sys.exception()) is not None:
                self._fail_all(batch, ended)

    def _fail_all(self, batch: Sequence[_UpdateRequest[Row]], ended: BaseException) -> None:
        """Let no request wait for ever, after a cancellation or an unexpected error."""
        stopped = OutageError(f"Shard {self.name} was not written: this process is ending.")
        for request in [*batch, *self._queue]:
            request.fail(ended if isinstance(ended, Exception) else stopped)
        self._queue.clear()

    def _must_commit(self) -> bool:
        """Return whether somebody waits, or the time of the changes that nobody waits for is over."""
        return bool(self._queue) and (self._is_all_due or any(request.is_awaited for request in self._queue))

    def _take_due(self) -> list[_UpdateRequest[Row]]:
        """Take the requests that somebody waits for, and those before them that change the same keys.

        The others wait on: what follows them will replace the rows that they change, and with them no commit only adds.
        """
        due: deque[_UpdateRequest[Row]] = deque()
        others: deque[_UpdateRequest[Row]] = deque()
        keys: set[str] = set()
        for request in reversed(self._queue):
            if self._is_all_due or request.is_awaited or not keys.isdisjoint(request.entity_keys):
                due.appendleft(request)
                keys.update(request.entity_keys)
            else:
                others.appendleft(request)
        self._queue = list(others)
        self._is_all_due = False
        if not others:
            self._cancel_deadline()
        return list(due)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    async def _commit_batch_with_retry(self, batch: list[_UpdateRequest[Row]]) -> None:
        for pause in (*_RETRY_PAUSES, None):
            try:
                await self._commit_batch(batch)
            except (*STORAGE_ERRORS, RetryableError) as error:
                self.health_issue = f"shard {self.name} cannot be written ({type(error).__name__})"
                if pause is None:
                    for request in batch:
                        request.fail(OutageError(f"Shard {self.name} could not be written: {error}"))
                    return
                _log.warning("Shard %s could not be written, next try in %.2f s: %s", self.name, pause, error)
                await asyncio.sleep(pause)
            else:
                self.health_issue = None
                return

    async def _commit_batch(self, batch: list[_UpdateRequest[Row]]) -> None:
        # The order lock is taken last, so that others are followed while this waits for the shard's lock.
        async with self._locks.acquire(self.name) as lease, self._order_lock:
            batch += self._take_due()
            requests = [request for request in batch if not request.done.done()]
            # One look at what others changed, instead of one for the rows to change and one to follow.
            version = await (self._refresh() if self._is_following else self._lance_table.version())
            before = await self._get_rows_at(version, {key for request in requests for key in request.entity_keys})
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

    async def _apply_request(self, request: _UpdateRequest[Row], after: dict[str, Sequence[Row]]) -> None:
        # In a task of its own, so that an error of one change does not reach the others in the batch.
        change = asyncio.ensure_future(self._compute_changes(request, after))
        await asyncio.wait([change])
        if (error := change.exception()) is not None:
            request.fail(error)
            return
        after.update(change.result())
        request.after = {key: list(after.get(key, ())) for key in request.entity_keys}

    async def _compute_changes(
        self, request: _UpdateRequest[Row], before: Mapping[str, Sequence[Row]]
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
        are_new = version == self._seen_version and not self._key_filter.may_contain(changed)
        self._in_flight = changed if version == self._seen_version and self._lance_table.is_local else {}
        try:
            after = await run_to_completion(self._lance_table.commit(changed, before, version, lease, are_new=are_new))
        finally:
            self._in_flight = {}
        if version == self._seen_version:
            self._seen_version = after
            self._key_filter.add(changed)
            self._cache_rows(changed)
            self._uncertain_keys.add(key for key, rows in changed.items() if not rows)
        else:
            self._uncertain_keys.add(changed)
        self._committed_at = time.monotonic()
        self._listener.on_local_change(before, changed)


def _count_live(rows: pa.Table) -> dict[str, int]:
    """Count the rows of each incarnation that are not deleted."""
    live = rows.filter(pc.invert(rows.column(DELETED.name))).column("incarnation").value_counts()
    return {entry["values"]: entry["counts"] for entry in live.to_pylist()}
