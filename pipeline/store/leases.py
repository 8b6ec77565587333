"""Locks among processes that share an object store: an object per lock, replaced on condition of its etag.

Whoever holds a lock rewrites its object again and again. Who waits may take it over when it has seen the
very same object for `ttl` seconds of its own steady clock: then the holder is dead or cut off, and knows the
latter by the same measure. No two clocks are ever compared.
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
from pipeline.locks import LocalLocks, plain_name
from pipeline.ports import Hold
from pipeline.store.conditional import look, replaced
from pipeline.store.objects import reason
from pipeline.store.stored import uninterrupted

TTL_SECONDS = 15.0
_LOOK_SECONDS = 0.04
_PATIENT_SECONDS = 0.4
"""Between two looks at a lock that one holder keeps."""
_TURN_SECONDS = 1.0
_POLITE_SECONDS = 0.1
"""After a turn of its own a busy process leaves a lock alone for longer than others wait between looks."""
_FREE = b"free "

_log = logging.getLogger(__name__)


class Lease:
    """`ports.Hold` of a lock that is lost when its object can't be rewritten in time."""

    def __init__(self, store: ObjectStore, path: str, etag: str, written_at: float) -> None:
        self._store = store
        self._path = path
        self._etag = etag
        self._written_at = written_at
        self._lost = False
        self._ended = asyncio.Event()

    def check(self) -> None:
        """LockLostError when a third of the time or less is left in which nobody may take the lock over."""
        if self._lost or time.monotonic() - self._written_at > TTL_SECONDS * 2 / 3:
            raise LockLostError(f"Lock {self._path} could not be kept: its object was not rewritten in time.")

    async def renew(self) -> None:
        """Rewrite the object until `end`."""
        while not await self._ended_within(TTL_SECONDS / 4):
            try:
                await self._rewrite(secrets.token_bytes(16))
            except PreconditionError:
                self._lost = True
                _log.warning("Lock %s was taken over while it was held.", self._path)
                return
            except BaseError as error:
                _log.warning("Lock %s could not be renewed, it is tried again: %s", self._path, reason(error))

    def end(self) -> None:
        """Let `renew` return, after what it is doing."""
        self._ended.set()

    async def release(self) -> str | None:
        """Say that the lock is free; the etag of having said so, None when that failed. After `renew`."""
        if self._lost:
            return None
        try:
            await self._rewrite(_free())
        except BaseError as error:
            _log.warning("Lock %s could not be released, it ends by itself: %s", self._path, reason(error))
            return None
        return self._etag

    async def _rewrite(self, body: bytes) -> None:
        self._etag, self._written_at = await replaced(self._store, self._path, self._etag, body)

    async def _ended_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        except TimeoutError:
            return False
        return True


def _free() -> bytes:
    return _FREE + secrets.token_bytes(16)


class LeaseLocks:
    """`ports.Locks` on objects below a prefix. A dead holder's lock is free `TTL_SECONDS` later."""

    def __init__(self, store: ObjectStore, prefix: str = "locks") -> None:
        self._store = store
        self._prefix = prefix
        self._local = LocalLocks()
        self._left: dict[str, str] = {}
        self._turns: dict[str, float] = {}

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[Hold]:
        """Wait for the lock of this name, then hold it. OutageError when the object store does not answer."""
        path = f"{self._prefix}/{plain_name(name)}"
        async with self._local.hold(name):
            await self._leave_to_others(path)
            try:
                lease = Lease(self._store, path, *await self._taken(path))
            except BaseError as error:
                raise OutageError(
                    f"Lock {path} can't be had, the object store failed: {reason(error)}"
                ) from error
            renewing = asyncio.create_task(lease.renew())
            try:
                yield lease
            finally:
                await uninterrupted(self._release(path, lease, renewing))

    async def _release(self, path: str, lease: Lease, renewing: "asyncio.Task[None]") -> None:
        lease.end()
        # A renewal under way ends first: its etag is the one that the release must name.
        await asyncio.wait([renewing])
        if (etag := await lease.release()) is not None:
            self._left[path] = etag

    async def _leave_to_others(self, path: str) -> None:
        now = time.monotonic()
        if now - self._turns.setdefault(path, now) > _TURN_SECONDS:
            await asyncio.sleep(_POLITE_SECONDS)
            self._turns[path] = time.monotonic()

    async def _taken(self, path: str) -> tuple[str, float]:
        """Take the lock when it is free, new, or left by a dead holder; its etag, and since when."""
        try:
            return await self._take(path, self._left.pop(path, None))
        except (PreconditionError, AlreadyExistsError):
            pass
        seen, since = "", 0.0
        while True:
            found = await look(self._store, path)
            now = time.monotonic()
            etag, body = found if found is not None else (None, _FREE)
            if body.startswith(_FREE) or (etag == seen and now - since >= TTL_SECONDS):
                try:
                    return await self._take(path, etag)
                except (PreconditionError, AlreadyExistsError):
                    continue
            if etag is not None and etag != seen:
                seen, since = etag, now
            await asyncio.sleep(_LOOK_SECONDS if now - since < _TURN_SECONDS else _PATIENT_SECONDS)

    async def _take(self, path: str, etag: str | None) -> tuple[str, float]:
        taking = asyncio.ensure_future(replaced(self._store, path, etag, secrets.token_bytes(16)))
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            # Whoever gives up waiting must not leave behind a lock that nobody holds.
            await asyncio.wait([taking])
            if taking.exception() is None:
                await replaced(self._store, path, taking.result()[0], _free())
            raise
