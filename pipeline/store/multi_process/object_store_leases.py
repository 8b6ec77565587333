"""Leases among processes that share an object store: an object per lock, replaced only if its etag matches.

The holder rewrites its object periodically. A waiter may take over after it has seen the same object for
`TTL_SECONDS` of its own monotonic clock: then the holder is dead or cut off, and a holder that is cut off
knows by the same measure. Clocks of two machines are never compared.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import ObjectStore

from pipeline.errors import LockLostError, OutageError
from pipeline.ports import Lease
from pipeline.runtime.local_locks import LocalLocks, encode_lock_name
from pipeline.runtime.outage_retry import is_set_within
from pipeline.store.blobs.conditional_put import read_with_etag, replace_if_unchanged
from pipeline.store.blobs.object_store_client import error_summary
from pipeline.store.lancedb.lance_table import run_to_completion

TTL_SECONDS = 15.0
_POLL_SECONDS = 0.04
_SLOW_POLL_SECONDS = 0.4
"""Pause between two looks at a lock that one holder keeps for long."""
_MAX_STREAK_SECONDS = 1.0
_FAIRNESS_PAUSE_SECONDS = 0.1
"""Pause of a busy process after a streak: longer than others wait between two looks."""
_FREE_PREFIX = b"free "

_log = logging.getLogger(__name__)


class ObjectLease:
    """`ports.Lease` that is lost if its object cannot be rewritten in time."""

    def __init__(self, store: ObjectStore, path: str, etag: str, written_at: float) -> None:
        self._store = store
        self._path = path
        self._etag = etag
        self._written_at = written_at
        self._lost = False
        self._renewal_stopped = asyncio.Event()

    def ensure_valid(self) -> None:
        """Raise LockLostError if a third or less of the time is left before others may take the lock."""
        if self._lost or time.monotonic() - self._written_at > TTL_SECONDS * 2 / 3:
            raise LockLostError(f"Lock {self._path} could not be kept: its object was not rewritten in time.")

    async def keep_renewed(self) -> None:
        """Rewrite the object until `stop_renewal`."""
        while not await is_set_within(self._renewal_stopped, TTL_SECONDS / 4):
            try:
                await self._rewrite(secrets.token_bytes(16))
            except PreconditionError:
                self._lost = True
                _log.warning("Lock %s was taken over while it was held.", self._path)
                return
            except BaseError as error:
                _log.warning("Lock %s could not be renewed; this will be retried: %s", self._path, error_summary(error))

    def stop_renewal(self) -> None:
        """Make `keep_renewed` return after the current write."""
        self._renewal_stopped.set()

    async def release(self) -> str | None:
        """Mark the lock as free, after `keep_renewed` ended; the new etag, None if that failed."""
        if self._lost:
            return None
        try:
            await self._rewrite(_free_body())
        except BaseError as error:
            _log.warning("Lock %s could not be released; it will expire: %s", self._path, error_summary(error))
            return None
        return self._etag

    async def _rewrite(self, body: bytes) -> None:
        self._etag, self._written_at = await replace_if_unchanged(self._store, self._path, self._etag, body)


def _free_body() -> bytes:
    return _FREE_PREFIX + secrets.token_bytes(16)


class ObjectLeaseLocks:
    """`ports.Locks` on objects below `locks/`. A dead holder's lock is free `TTL_SECONDS` later."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._local = LocalLocks()
        self._released_etags: dict[str, str] = {}
        self._streak_started_at: dict[str, float] = {}

    @asynccontextmanager
    async def acquire(self, name: str) -> AsyncIterator[Lease]:
        """Wait for the lock of this name, then hold it. OutageError if the object store does not answer."""
        path = f"locks/{encode_lock_name(name)}"
        async with self._local.acquire(name):
            await self._yield_to_others(path)
            try:
                lease = ObjectLease(self._store, path, *await self._acquire_object(path))
            except BaseError as error:
                raise OutageError(
                    f"Lock {path} could not be acquired, the object store failed: {error_summary(error)}"
                ) from error
            renewing = asyncio.create_task(lease.keep_renewed())
            try:
                yield lease
            finally:
                await run_to_completion(self._release(path, lease, renewing))

    async def _release(self, path: str, lease: ObjectLease, renewing: "asyncio.Task[None]") -> None:
        lease.stop_renewal()
        # Let a renewal in progress end first: the release must name its etag.
        await asyncio.wait([renewing])
        if (etag := await lease.release()) is not None:
            self._released_etags[path] = etag

    async def _yield_to_others(self, path: str) -> None:
        now = time.monotonic()
        if now - self._streak_started_at.setdefault(path, now) > _MAX_STREAK_SECONDS:
            await asyncio.sleep(_FAIRNESS_PAUSE_SECONDS)
            self._streak_started_at[path] = time.monotonic()

    async def _acquire_object(self, path: str) -> tuple[str, float]:
        """Take the lock when it is free, new, or left by a dead holder; its etag, and since when."""
        try:
            return await self._try_acquire(path, self._released_etags.pop(path, None))
        except (PreconditionError, AlreadyExistsError):
            pass
        seen, since = "", 0.0
        while True:
            found = await read_with_etag(self._store, path)
            now = time.monotonic()
            etag, body = found if found is not None else (None, _FREE_PREFIX)
            if body.startswith(_FREE_PREFIX) or (etag == seen and now - since >= TTL_SECONDS):
                try:
                    return await self._try_acquire(path, etag)
                except (PreconditionError, AlreadyExistsError):
                    continue
            if etag is not None and etag != seen:
                seen, since = etag, now
            await asyncio.sleep(_POLL_SECONDS if now - since < _MAX_STREAK_SECONDS else _SLOW_POLL_SECONDS)

    async def _try_acquire(self, path: str, etag: str | None) -> tuple[str, float]:
        taking = asyncio.ensure_future(replace_if_unchanged(self._store, path, etag, secrets.token_bytes(16)))
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            # A cancelled waiter must not leave behind a lock that nobody holds.
            await asyncio.wait([taking])
            if taking.exception() is None:
                await replace_if_unchanged(self._store, path, taking.result()[0], _free_body())
            raise
