"""The loop that carries changes of one shard from the overlay to the base, in groups.

What has to be durable before that is written ahead, where there is a place for it.
"""

import asyncio
import logging
import time
from collections import deque
from typing import Generic, TypeVar

from pipeline.store.ahead import Ahead
from pipeline.store.base import Base
from pipeline.store.overlay import Overlay
from pipeline.store.stored import FAILURES, uninterrupted

Row = TypeVar("Row")

_UNHURRIED_SECONDS = 0.05
_AHEAD_SECONDS = 5.0
"""How long changes gather where they are on disk already: a restart gives them to LanceDB."""
_HURRIED_SECONDS = 0.002
_MANY_GROUPS = 512
_MANY_BYTES = 16 * 1024 * 1024
_BURST_COMMITS = 16
_SUSTAINED_SECONDS = 0.05
_LONGEST_SECONDS = 0.4
_REST = 4
"""After a burst one commit in `_SUSTAINED_SECONDS` at most, for each is a version that later ones pay for.
Where they take long, one in so many times that, up to `_LONGEST_SECONDS`: a busy machine gathers more."""
_IDLE_SECONDS = 0.5
_BACKOFF_SECONDS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_log = logging.getLogger(__name__)


def pace(took: float) -> float:
    """Seconds from one commit to the next under load, where they took so many of late.

    >>> pace(0.005), pace(0.05), pace(3.0)
    (0.05, 0.2, 0.4)
    """
    return min(max(_REST * took, _SUSTAINED_SECONDS), _LONGEST_SECONDS)


class Writer(Generic[Row]):
    """The one writer of a shard. While nobody waits for durability it gathers a little longer."""

    def __init__(
        self, name: str, shard: int, overlay: Overlay[Row], base: Base[Row], ahead: Ahead | None
    ) -> None:
        self._name = name
        self._ahead = ahead
        self._keeping = asyncio.Lock()
        self._kept_to = 0
        self._shard = shard
        self._overlay = overlay
        self._base = base
        self._lock = asyncio.Lock()
        self._changed = asyncio.Event()
        self._urgent = asyncio.Event()
        self._stopping = False
        self._running = False
        self._flushed = 0
        self.trouble: str | None = None
        """Why what waits can't be flushed now; None: it can."""
        self._in_flight = False
        self._commit_times: deque[float] = deque(maxlen=_BURST_COMMITS)
        self._took = 0.0
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []

    def wake(self) -> None:
        """Something waits to be flushed."""
        self._changed.set()
        waiting, weight = self._overlay.waiting(self._shard), self._overlay.weight(self._shard)
        if waiting >= _MANY_GROUPS or weight >= _MANY_BYTES:
            self._urgent.set()

    def is_durable(self, number: int) -> bool:
        """Whether every change up to this number is on disk."""
        if self._flushed >= number or not (self._in_flight or self._overlay.waiting(self._shard)):
            return True
        ahead = self._running and self._ahead is not None and not self._keeping.locked()
        return ahead and self._overlay.all_kept(self._shard)

    async def durable(self, number: int) -> None:
        """Wait until every change up to this number is on disk. Without a running loop, flush here."""
        if self.is_durable(number):
            return
        if not self._running:
            await self.flush()
            return
        if self._ahead is not None and await self._kept(self._ahead):
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append((number, waiter))
        self._urgent.set()
        await waiter

    async def run(self) -> None:
        """Flush and maintain until stopped."""
        self._running = True
        try:
            while not self._stopping:
                came = await self._something_came()
                if came:
                    await self._gather()
                    await self._flush_until_it_works()
                await self._maintain_if_due(idle=not came)
        finally:
            self._running = False
            self._release_to_flushers()

    def stop(self) -> None:
        """Let `run` return after what it is doing."""
        self._stopping = True
        self._changed.set()
        self._urgent.set()

    async def flush(self) -> None:
        """Everything that waits now, to disk, in one go."""
        async with self._lock:
            await uninterrupted(self._flush())

    async def remove_spaces(self, spaces: frozenset[str]) -> None:
        """Delete all rows of these spaces from the base."""
        async with self._lock:
            if self._ahead is not None:
                # What is written ahead must not bring rows back: after a flush nothing is.
                await uninterrupted(self._flush())
            await uninterrupted(self._base.remove_spaces(spaces))

    async def maintain(self, *, whole: bool = True) -> None:
        """As `Base.maintain`; never beside a flush."""
        async with self._lock:
            await uninterrupted(self._base.maintain(whole=whole))

    async def _kept(self, ahead: Ahead) -> bool:
        """Write ahead whatever is nowhere on disk. False: only a flush can make it durable."""
        async with self._keeping:
            taken = self._overlay.unkept(self._shard)
            if not taken:
                return True
            changed = {group: change.rows for group, change in taken.items()}
            # Before it is there: a flush meanwhile has to take it away again.
            self._kept_to = number = max(change.number for change in taken.values())
            try:
                await uninterrupted(ahead.keep(self._name, number, changed, self._base.codec))
            except FAILURES as error:
                self._overlay.not_kept(self._shard, taken)
                _log.warning(
                    "Changes of table %s could not be written ahead, and are flushed: %s", self._name, error
                )
                return False
            return True

    async def _flush(self) -> None:
        number = self._overlay.number
        taken = self._overlay.take(self._shard)
        self._in_flight = True
        try:
            if taken:
                began = time.monotonic()
                self._commit_times.append(began)
                await self._base.commit({group: change.rows for group, change in taken.items()})
                self._took += (time.monotonic() - began - self._took) / _BURST_COMMITS
            self._overlay.settle(taken)
            await self._let_go(number)
        finally:
            self._in_flight = False
            self._overlay.restore(self._shard, taken)
        self._flushed = number
        self._release()

    async def _let_go(self, number: int) -> None:
        """Of what was written ahead. Else a restart might put it over what came later."""
        if self._ahead is not None and self._kept_to:
            await self._ahead.passed(self._name, number)
            if self._kept_to <= number:
                self._kept_to = 0

    async def _something_came(self) -> bool:
        due = self._base.upkeep_in(idle=True)
        try:
            async with asyncio.timeout(None if due is None else max(_IDLE_SECONDS, due)):
                await self._changed.wait()
        except TimeoutError:
            return False
        self._changed.clear()
        return True

    async def _gather(self) -> None:
        if not self._waiters:
            self._urgent.clear()
            try:
                async with asyncio.timeout(0 if self._stopping else self._unhurried):
                    await self._urgent.wait()
            except TimeoutError:
                return
        await asyncio.sleep(self._pause())

    @property
    def _unhurried(self) -> float:
        return _UNHURRIED_SECONDS if self._ahead is None else _AHEAD_SECONDS

    def _pause(self) -> float:
        times = self._commit_times
        if len(times) < _BURST_COMMITS or self._stopping:
            return _HURRIED_SECONDS
        step = pace(self._took)
        due = times[0] + _BURST_COMMITS * step
        return min(max(due - time.monotonic(), _HURRIED_SECONDS), step)

    async def _flush_until_it_works(self) -> None:
        attempt = 0
        while True:
            try:
                await self.flush()
            except FAILURES as error:
                self.trouble = f"table {self._name} can't be written ({type(error).__name__})"
                pause = _BACKOFF_SECONDS[min(attempt, len(_BACKOFF_SECONDS) - 1)]
                attempt += 1
                _log.exception(
                    "Table %s could not be written (attempt %d). %d changed groups stay in memory "
                    "and in the log; next try in %.1f s.",
                    self._name, attempt, self._overlay.waiting(self._shard), pause,
                )  # fmt: skip
                if self._stopping:
                    return
                await asyncio.sleep(pause)
            else:
                self.trouble = None
                return

    async def _maintain_if_due(self, *, idle: bool) -> None:
        # Not waiting for the turn: changes that come meanwhile would wait with it.
        if self._stopping or self._base.upkeep_in(idle=idle) != 0 or self._base.others_turn:
            return
        try:
            await self.maintain(whole=False)
            if idle:
                self._overlay.forget_recent()
        except FAILURES:
            _log.exception("Upkeep of table %s failed; it is tried again later.", self._name)

    def _release(self) -> None:
        for number, waiter in self._waiters:
            if number <= self._flushed and not waiter.done():
                waiter.set_result(None)
        self._waiters = [(number, waiter) for number, waiter in self._waiters if not waiter.done()]
        if self._waiters:
            self._changed.set()

    def _release_to_flushers(self) -> None:
        waiting, self._waiters = self._waiters, []
        for _, waiter in waiting:
            if not waiter.done():
                waiter.set_exception(
                    RuntimeError(f"The store was closed before table {self._name} was flushed.")
                )
