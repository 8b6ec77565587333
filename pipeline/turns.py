"""An event loop on which work in the background and requests take turns.

A loop runs what is ready in the order in which it became so: a request would wait for all that a burst of
documents has ready. Here what is done `behind` requests has a queue of its own, and its time in each round.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import Context, ContextVar, copy_context
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

SECONDS = 0.001
"""A turn, which a request that just came waits for."""
SHARE = 0.35
"""Or this part of what requests take between two of them, so that many of them stop nobody's work."""
_RECENT = 8
"""Turns, about, that this is the average of."""
_BEHIND = ContextVar("behind", default=False)

if TYPE_CHECKING:
    from asyncio import BaseEventLoop as _Base
else:
    _Base = object


async def behind(work: Callable[[], Awaitable[T]]) -> T:
    """Do this, and all that it starts, in turns with what is done in front."""
    token = _BEHIND.set(True)
    try:
        await asyncio.sleep(0)
        return await work()
    finally:
        _BEHIND.reset(token)


async def step_back() -> None:
    """From here on the task is behind: others that are in front go first."""
    _BEHIND.set(True)
    await asyncio.sleep(0)


def soon(work: Callable[[*Ts], object], *args: *Ts) -> None:
    """Do this behind what is in front."""
    context = copy_context()
    context.run(_BEHIND.set, True)
    asyncio.get_running_loop().call_soon(work, *args, context=context)


def new_loop() -> asyncio.AbstractEventLoop:
    """Such a loop: uvloop's where it is installed, else asyncio's."""
    try:
        import uvloop  # noqa: PLC0415 - there may be none
    except ImportError:
        return _with_turns(asyncio.SelectorEventLoop)
    return _with_turns(uvloop.Loop)


def _with_turns(base: type[asyncio.AbstractEventLoop]) -> asyncio.AbstractEventLoop:
    made: asyncio.AbstractEventLoop = type("TurnsLoop", (_Turns, base), {})()
    return made


class _Turns(_Base):
    """Mixed into a loop, whose own order everything else keeps."""

    def __init__(self) -> None:
        super().__init__()
        self._queue = deque[asyncio.Handle]()
        self._coming = False
        self._ended = 0.0
        self._between = 0.0

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """As any loop's."""
        is_behind = _BEHIND.get() if context is None else context.get(_BEHIND, False)
        if not is_behind:
            return super().call_soon(callback, *args, context=context)
        handle = asyncio.Handle(callback, args, self, context)
        self._queue.append(handle)
        if not self._coming:
            self._coming = True
            self._ended = perf_counter()
            self._arrange()
        return handle

    def _arrange(self) -> None:
        # Not in the next round, which begins before requests that came meanwhile are read, nor in the one
        # after it, where it would be in front of them.
        soon = super().call_soon
        soon(soon, soon, self._turn)

    def _turn(self) -> None:
        now = perf_counter()
        # On average: else a slow request would have the next one wait for a long turn.
        self._between += (now - self._ended - self._between) / _RECENT
        until = now + max(SECONDS, SHARE * self._between)
        try:
            while self._queue and now < until:
                handle = self._queue.popleft()
                if not handle.cancelled():
                    handle._run()  # noqa: SLF001 - what a loop does with it
                now = perf_counter()
        finally:
            # Also when the process is told to end: what is cancelled then is cancelled in turns.
            self._ended = now
            self._coming = bool(self._queue)
            if self._coming:
                self._arrange()
