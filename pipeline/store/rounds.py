"""The rounds in which one process changes one shard of a shared table, and sees what others changed.

Updates that come while a round waits for the lock are gathered into it: one read, one commit for all.
"""

import asyncio
import logging
import sys
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from pipeline.errors import OutageError, RetryableError
from pipeline.ports import Hold, Locks
from pipeline.store.codec import Codec, among
from pipeline.store.readable import same_rows
from pipeline.store.sharedbase import SharedBase
from pipeline.store.stored import FAILURES, uninterrupted

Row = TypeVar("Row")
Row_contra = TypeVar("Row_contra", contravariant=True)
Change = Callable[[str, list[Row]], Sequence[Row] | None]

_PAUSES = (0.05, 0.2, 1.0)
_FRAGMENTS = 16
_MANY_FRAGMENTS = 64
_BUSY_SECONDS = 2.0
_REST = 10
"""Upkeep may take one part in this many of the time."""
_PURGE_SECONDS = 3600.0
_KEEP_SECONDS = 24 * 3600.0
_CUT_OFF_SECONDS = 1800.0
_FEW_SPACES = 500
"""Up to here spaces are part of a question; to count more, all are counted."""

_log = logging.getLogger(__name__)


class CutOffError(Exception):
    """This process did not hear of others for so long that it may have missed what they deleted."""


class Audience(Protocol[Row_contra]):
    """Who hears of changes, in the order in which they were made."""

    def changed(
        self, before: Mapping[str, Sequence[Row_contra]], after: Mapping[str, Sequence[Row_contra]]
    ) -> None:
        """This process changed these groups."""
        ...

    def followed(self, counts: Mapping[str, int], news: Mapping[str, Sequence[Row_contra]]) -> None:
        """Others (and perhaps this process) changed these groups; so many rows count in these spaces now."""
        ...

    def wanted(self, spaces: Collection[str]) -> list[str]:
        """Those of the spaces whose rows somebody wants to hear of."""
        ...


@dataclass(eq=False, slots=True)
class _Request(Generic[Row]):
    groups: Sequence[str]
    change: Change[Row]
    done: asyncio.Future[dict[str, list[Row]]]
    after: dict[str, list[Row]] = field(default_factory=dict)

    def succeed(self) -> None:
        if not self.done.done():
            self.done.set_result(self.after)

    def fail(self, error: BaseException) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class Shard(Generic[Row]):
    """One shard as this process sees it."""

    def __init__(
        self,
        name: str,
        base: SharedBase[Row],
        codec: Codec[Row],
        locks: Locks,
        audience: Audience[Row],
    ) -> None:
        self.name = name
        self._base = base
        self._codec = codec
        self._locks = locks
        self._audience = audience
        self.trouble: str | None = None
        """Why the shard could not be written when it was last tried; None: it could."""
        self._seen = -1
        self._seen_at = time.monotonic()
        self._changed_at = 0.0
        self._upkept_at = 0.0
        self._upkeep_took = 0.0
        self._looked_at = 0
        self._keep_seconds = _KEEP_SECONDS if codec.fleeting else _PURGE_SECONDS
        self._milestones: deque[tuple[float, int]] = deque([(self._seen_at, 0)])
        self._queue: list[_Request[Row]] = []
        self._serving: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        """Rounds and refreshes take turns, so that listeners hear of changes in their order."""

    async def update(self, groups: Sequence[str], change: Change[Row]) -> dict[str, list[Row]]:
        """Read-modify-write of groups that live in this shard; OutageError when it can't be written."""
        request = _Request(groups, change, asyncio.get_running_loop().create_future())
        self._queue.append(request)
        if self._serving is None or self._serving.done():
            self._serving = asyncio.create_task(self._serve())
        return await request.done

    async def settled(self) -> None:
        """Wait until no update is under way."""
        while self._serving is not None and not self._serving.done():
            await asyncio.wait([self._serving])

    async def refresh(self) -> None:
        """See what others changed up to now."""
        async with self._turn:
            version = await self._base.version()
            now = time.monotonic()
            if version != self._seen:
                if now - self._seen_at > _CUT_OFF_SECONDS:
                    raise CutOffError(
                        f"Shard {self.name} could not be followed for {now - self._seen_at:.0f} s, and what "
                        "was deleted meanwhile may still be in memory. Start this process again."
                    )
                await (self._begin() if self._seen < 0 else self._catch_up())
                self._seen = version
            self._seen_at = now

    async def maintain(self) -> None:
        """Merge fragments, update indices, drop old versions and old tombstones, now."""
        await self._maintain(0)

    async def maintain_if_due(self) -> None:
        """The same if there is enough to merge, and this process has rested from the last time."""
        now = time.monotonic()
        self._mark(now)
        if now < self._upkept_at + _REST * self._upkeep_took or self._seen - self._looked_at < _FRAGMENTS:
            return
        busy = now - self._changed_at < _BUSY_SECONDS
        least = _MANY_FRAGMENTS if busy else _FRAGMENTS
        if await self._base.small_fragments() >= least:
            await self._maintain(least)
        elif not busy:
            self._looked_at = self._seen

    async def _maintain(self, least: int) -> None:
        async with self._locks.hold(self.name):
            if least and await self._base.small_fragments() < least:
                return  # another process was quicker
            started = time.monotonic()
            version = await self._base.version()
            after = await uninterrupted(self._base.maintain(self._purgeable(started)))
            if version == self._seen:
                self._seen = after
            self._looked_at = after
            self._upkept_at = time.monotonic()
            self._upkeep_took = self._upkept_at - started

    def _mark(self, now: float) -> None:
        if now - self._milestones[-1][0] > self._keep_seconds / 8:
            self._milestones.append((now, self._seen))

    def _purgeable(self, now: float) -> int:
        """The newest stamp that is surely older than any process may lag behind; 0: none."""
        while len(self._milestones) > 1 and self._milestones[1][0] <= now - self._keep_seconds:
            self._milestones.popleft()
        at, version = self._milestones[0]
        return version if at <= now - self._keep_seconds else 0

    async def _begin(self) -> None:
        self._audience.followed(await self._counts(None), {})

    async def _catch_up(self) -> None:
        news = await self._base.news(self._seen)
        if not news.num_rows:
            return
        spaces: list[str] = news.column("space").unique().to_pylist()
        wanted = self._audience.wanted(spaces)
        live = await self._base.fresh(self._seen, wanted) if wanted else {}
        heard = frozenset(wanted)
        pairs = zip(*(news.column(name).to_pylist() for name in (self._codec.group, "space")), strict=True)
        groups = {group: live.get(group, []) for group, space in pairs if space in heard}
        self._audience.followed(await self._counts(spaces), groups | live)

    async def _counts(self, spaces: Sequence[str] | None) -> dict[str, int]:
        few = [] if spaces is None or len(spaces) > _FEW_SPACES else [among("space", spaces)]
        where = " AND ".join([*few, self._codec.counted_where or "true"])
        found = (await self._base.scan(where, ["space"])).column(0).value_counts().to_pylist()
        return dict.fromkeys(spaces or (), 0) | {one["values"]: one["counts"] for one in found}

    async def _serve(self) -> None:
        taken: list[_Request[Row]] = []
        try:
            while self._queue:
                await self._round_until_it_works(taken)
                taken.clear()
        finally:  # ended by a cancellation or an error that nobody foresaw: nobody may wait for ever
            ended = sys.exception()
            stopped = OutageError(f"Shard {self.name} was not written: this process is ending.")
            for request in [*taken, *self._queue]:
                request.fail(ended if isinstance(ended, Exception) else stopped)
            self._queue.clear()

    async def _round_until_it_works(self, taken: list[_Request[Row]]) -> None:
        for pause in (*_PAUSES, None):
            try:
                await self._round(taken)
            except (*FAILURES, RetryableError) as error:
                self.trouble = f"shard {self.name} can't be written ({type(error).__name__})"
                if pause is None:
                    for request in taken:
                        request.fail(OutageError(f"Shard {self.name} could not be written: {error}"))
                    return
                _log.warning("Shard %s could not be written, next try in %.2f s: %s", self.name, pause, error)
                await asyncio.sleep(pause)
            else:
                self.trouble = None
                return

    async def _round(self, taken: list[_Request[Row]]) -> None:
        # The turn is taken last: while this waits for the lock, others are followed.
        async with self._locks.hold(self.name) as hold, self._turn:
            taken += self._queue
            self._queue.clear()
            requests = [request for request in taken if not request.done.done()]
            version = await self._base.version()
            before = await self._base.fetch({group for request in requests for group in request.groups})
            after: dict[str, Sequence[Row]] = dict(before)
            for request in requests:
                await self._apply(request, after)
            changed = {group: rows for group, rows in after.items() if rows is not before.get(group)}
            if changed:
                await self._commit(changed, before, version, hold)
            for request in requests:
                request.succeed()

    async def _apply(self, request: _Request[Row], after: dict[str, Sequence[Row]]) -> None:
        # In a task of its own, for an error of one change must not reach those that share the round.
        change = asyncio.ensure_future(self._changes(request, after))
        await asyncio.wait([change])
        if (error := change.exception()) is not None:
            request.fail(error)
            return
        after.update(change.result())
        request.after = {group: list(after.get(group, ())) for group in request.groups}

    async def _changes(
        self, request: _Request[Row], before: Mapping[str, Sequence[Row]]
    ) -> dict[str, Sequence[Row]]:
        changed: dict[str, Sequence[Row]] = {}
        for group in request.groups:
            old = before.get(group, ())
            new = request.change(group, list(old))
            if new is not None and not same_rows(old, new):
                changed[group] = list({self._codec.id_of(row): row for row in new}.values())
        return changed

    async def _commit(
        self,
        changed: Mapping[str, Sequence[Row]],
        before: Mapping[str, Sequence[Row]],
        version: int,
        hold: Hold,
    ) -> None:
        after = await uninterrupted(self._base.commit(changed, before, version, hold))
        if version == self._seen:
            self._seen = after
        self._changed_at = time.monotonic()
        self._audience.changed(before, changed)
