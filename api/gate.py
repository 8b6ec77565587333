"""What every request passes: no more at a time than can be served, within bounded time and size."""

import asyncio
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.errors import failure

EXEMPT: Final = frozenset({"/health", "/ready", "/metrics"})
"""Asked by whoever has to decide what to do about an overload."""
PULSE_SECONDS: Final = 0.1
BUSY_SECONDS: Final = 1
LATE_SECONDS: Final = 5
"""When to come back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """`concurrent`: requests at a time; `seconds` without progress; `body_bytes` of one request.

    `behind`: seconds that the process may be late with what it has begun before it takes more.
    """

    concurrent: int = 256
    behind: float = 10.0
    seconds: float = 60.0
    body_bytes: int = 64 * 1024 * 1024


class _Pulse:
    """How far the event loop is behind: a timer that was due and has not fired.

    A search never waits for anything, so however many come at once, there is one inside: the others wait
    in the loop's own queue, where nobody counts them.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._due = 0.0
        self._wanted = False

    def late(self) -> float:
        """Seconds; negative: not at all."""
        self._wanted = True
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._arm(loop)
        # Not the loop's own time, which uvloop looks at once per turn.
        return monotonic() - self._due

    def _arm(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._due = monotonic() + PULSE_SECONDS
        loop.call_later(PULSE_SECONDS, self._beat, loop)

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._wanted:
            self._wanted = False
            self._arm(loop)
        else:
            self._loop = None


@dataclass(slots=True)
class _Room:
    """What the requests of a process share. `inside`: how many have no answer yet."""

    bounds: Bounds
    inside: int = 0
    pulse: _Pulse = field(default_factory=_Pulse)

    def busy(self) -> bool:
        """Whether one more would only wait."""
        return self.inside >= self.bounds.concurrent or self.pulse.late() > self.bounds.behind


class Gate:
    """A request counts from its first byte until its answer begins; what is streamed then is not work.

    Who takes too long is told so, and what was begun goes on to its end, in its place: nothing is half done.
    """

    def __init__(self, app: ASGIApp, bounds: Bounds) -> None:
        self._app = app
        self._room = _Room(bounds)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in EXEMPT:
            await self._app(scope, receive, send)
        elif self._room.busy():
            busy = "More requests wait than can be answered soon. Try again in a moment."
            refused = failure(503, "The service is busy", busy, {"retry-after": str(BUSY_SECONDS)})
            await refused(scope, receive, send)
        else:
            passage = _Passage(self._room, scope, receive, send)
            passage.enter()
            try:
                await self._app(scope, passage.receive, passage.send)
            finally:
                passage.leave()
                await passage.told()


class _Passage:
    """One request on its way."""

    __slots__ = ("_loop", "_moved", "_receive", "_room", "_scope", "_send", "_size", "_telling", "_timer")

    def __init__(self, room: _Room, scope: Scope, receive: Receive, send: Send) -> None:
        self._room = room
        self._scope = scope
        self._receive = receive
        self._send = send
        self._size = 0
        self._telling: asyncio.Task[None] | None = None
        """Not None: it is too late for an answer of its own."""
        self._timer: asyncio.TimerHandle | None = None

    def enter(self) -> None:
        self._room.inside += 1
        self._loop = asyncio.get_running_loop()
        self._moved = self._loop.time()
        self._timer = self._loop.call_later(self._room.bounds.seconds, self._look)

    def leave(self) -> None:
        """Its answer begins, or it ends without one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._room.inside -= 1

    async def receive(self) -> Message:
        """As it comes, up to so many bytes; HTTPException 413 beyond."""
        message = await self._receive()
        self._moved = self._loop.time()
        self._size += len(message.get("body", b""))
        if self._size > self._room.bounds.body_bytes:
            raise HTTPException(413)
        return message

    async def send(self, message: Message) -> None:
        """Nothing any more where its caller was answered already."""
        if message["type"] == "http.response.start":
            self.leave()
        if self._telling is None:
            await self._send(message)

    async def told(self) -> None:
        """Whoever called gets an answer before this is over."""
        if self._telling is not None:
            await self._telling

    def _look(self) -> None:
        """Whether it has moved for so long."""
        left = self._moved + self._room.bounds.seconds - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._look)
            return
        self._telling = self._loop.create_task(self._tell())

    async def _tell(self) -> None:
        seconds = self._room.bounds.seconds
        answer = failure(
            503,
            "This takes too long",
            f"Nothing moved for {seconds:g} s. What was begun goes on: repeating it changes nothing.",
            {"retry-after": str(LATE_SECONDS), "connection": "close"},
        )
        await answer(self._scope, self._receive, self._send)
