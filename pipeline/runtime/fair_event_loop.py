"""Event loop with a low-priority lane, so that requests never queue behind a burst of background work.

An ordinary loop runs callbacks in the order in which they became ready: a request would wait for every
callback of a burst of documents. This loop keeps callbacks scheduled from the background lane in a queue of
their own and runs it in short time slices. RECOLLECT_FAIR_EVENT_LOOP=false turns it off.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

BACKGROUND_SLICE_SECONDS = 0.001
"""Minimum length of a slice: the longest wait of a request that has just arrived."""
BACKGROUND_SHARE = 0.35
"""Length of a slice as a share of the foreground time before it, so that requests never starve the lane."""
_AVERAGE_WINDOW = 8
"""Approximate number of slices in the moving average of the foreground time."""
_IN_BACKGROUND = ContextVar("in_background", default=False)

if TYPE_CHECKING:
    from asyncio import BaseEventLoop as _Base
else:
    _Base = object


async def run_in_background_lane(work: Callable[[], Awaitable[T]]) -> T:
    token = _IN_BACKGROUND.set(True)
    try:
        await asyncio.sleep(0)
        return await work()
    finally:
        _IN_BACKGROUND.reset(token)


async def yield_to_foreground() -> None:
    """Move the current task to the background lane for the rest of its life."""
    _IN_BACKGROUND.set(True)
    await asyncio.sleep(0)


def call_soon_background(work: Callable[[*Ts], object], *args: *Ts) -> None:
    context = copy_context()
    context.run(_IN_BACKGROUND.set, True)
    asyncio.get_running_loop().call_soon(work, *args, context=context)


def new_fair_event_loop(*, fair: bool = True, plain_aiokafka: bool = False) -> asyncio.AbstractEventLoop:
    """Create an event loop: uvloop's if installed, else asyncio's; with a background lane if `fair`.

    A process with `plain_aiokafka` gets asyncio's: on a connection that the broker has just closed, uvloop's `write`
    raises RuntimeError, where aiokafka expects OSError or silence; its sender and fetcher end by it. Where reconnects
    are paced, `pipeline.bus.kafka.reconnects` takes care of that.
    """
    base: type[asyncio.AbstractEventLoop] = asyncio.SelectorEventLoop
    if not plain_aiokafka:
        with suppress(ImportError):
            import uvloop  # noqa: PLC0415 - there may be none

            base = uvloop.Loop
    return _fair_loop_on(base) if fair else base()


def _fair_loop_on(base: type[asyncio.AbstractEventLoop]) -> asyncio.AbstractEventLoop:
    loop: asyncio.AbstractEventLoop = type("FairEventLoop", (_FairEventLoop, base), {})()
    return loop


class _BackgroundHandle(asyncio.Handle):
    """Handle of the background queue. It has a public `run`, since the loop only runs its own handles."""

    def __init__(
        self,
        callback: Callable[..., object],
        args: Sequence[object],
        loop: asyncio.AbstractEventLoop,
        context: Context | None,
    ) -> None:
        context = copy_context() if context is None else context
        super().__init__(callback, args, loop, context)
        self._call = partial(context.run, callback, *args)
        self._owner = loop

    def run(self) -> None:
        """Run the callback in its context; errors go to the loop's exception handler."""
        try:
            self._call()
        except Exception as error:  # noqa: BLE001 - a callback's error must not end other callbacks
            self._owner.call_exception_handler(
                {"message": f"Exception in callback {self!r}", "exception": error, "handle": self}
            )


class _FairEventLoop(_Base):
    """Mixin for an event loop; callbacks outside the background lane keep the loop's own order."""

    def __init__(self) -> None:
        super().__init__()
        self._background_queue = deque[_BackgroundHandle]()
        self._slice_scheduled = False
        self._last_slice_ended = 0.0
        self._average_foreground_seconds = 0.0

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Schedule a callback, in the background queue if its context belongs to the background lane."""
        in_background = _IN_BACKGROUND.get() if context is None else context.get(_IN_BACKGROUND, False)
        if not in_background:
            return super().call_soon(callback, *args, context=context)
        handle = _BackgroundHandle(callback, args, self, context)
        self._background_queue.append(handle)
        if not self._slice_scheduled:
            self._slice_scheduled = True
            self._last_slice_ended = perf_counter()
            self._schedule_slice()
        return handle

    def _schedule_slice(self) -> None:
        # Two iterations later: the next iteration starts before newly arrived requests are read, and in the
        # one after it the slice would still run ahead of them.
        soon = super().call_soon
        soon(soon, soon, self._run_slice)

    def _run_slice(self) -> None:
        now = perf_counter()
        # Averaged, or one slow request would be followed by one long slice.
        self._average_foreground_seconds += (
            now - self._last_slice_ended - self._average_foreground_seconds
        ) / _AVERAGE_WINDOW
        slice_end = now + max(BACKGROUND_SLICE_SECONDS, BACKGROUND_SHARE * self._average_foreground_seconds)
        try:
            while self._background_queue and now < slice_end:
                handle = self._background_queue.popleft()
                if not handle.cancelled():
                    handle.run()
                now = perf_counter()
        finally:
            # Also after SystemExit or KeyboardInterrupt: the cancelled tasks still need slices to clean up.
            self._last_slice_ended = now
            self._slice_scheduled = bool(self._background_queue)
            if self._slice_scheduled:
                self._schedule_slice()
