"""Admission control: limits concurrency, event-loop lag, idle time and body size; excess gets 503 or 413."""

import asyncio
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.dependencies.authentication import PRINCIPAL_SCOPE_KEY
from api.middleware.exception_handlers import error_response, too_large

EXEMPT_PATHS: Final = frozenset({"/health", "/ready", "/metrics"})
"""Paths that orchestrators and monitoring need during an overload."""
LAG_PROBE_INTERVAL_SECONDS: Final = 0.1
OVERLOAD_RETRY_AFTER_SECONDS: Final = 1
TIMEOUT_RETRY_AFTER_SECONDS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class UnauthenticatedLimits:
    """Budget for bodies of requests without a valid key, apart from all other requests.

    `max_concurrent`: requests whose body is awaited or answered. `body_seconds`: total time for one body.
    `max_bytes`: of all these bodies together; the largest delivery of a provider has 25 MB.
    """

    max_concurrent: int = 32
    body_seconds: float = 5.0
    max_bytes: int = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """Limits of one process.

    `max_concurrent`: requests without a response yet. `max_loop_lag_seconds`: event-loop lag above which new
    requests get 503. `idle_timeout_seconds`: time without progress. `max_body_bytes`: of one request.
    """

    max_concurrent: int = 256
    max_loop_lag_seconds: float = 10.0
    idle_timeout_seconds: float = 60.0
    max_body_bytes: int = 64 * 1024 * 1024
    unauthenticated: UnauthenticatedLimits = field(default_factory=UnauthenticatedLimits)


class _LoopLagMonitor:
    """Event-loop lag, measured by a timer that is due and has not fired.

    A search never awaits anything, so at most one search is in flight however many arrive: the others wait
    in the loop's own queue, where the concurrency limit cannot count them.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._due = 0.0
        self._read_since_probe = False

    def lag_seconds(self) -> float:
        """Return the lag in seconds; negative while the timer is not due yet."""
        self._read_since_probe = True
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._schedule_probe(loop)
        # Not loop.time(): uvloop updates it only once per iteration.
        return monotonic() - self._due

    def _schedule_probe(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._due = monotonic() + LAG_PROBE_INTERVAL_SECONDS
        loop.call_later(LAG_PROBE_INTERVAL_SECONDS, self._on_probe, loop)

    def _on_probe(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._read_since_probe:
            self._read_since_probe = False
            self._schedule_probe(loop)
        else:
            self._loop = None


@dataclass(slots=True)
class _RequestLimiter:
    """State shared by the requests of a process. `in_flight`: requests without a response yet.

    `unauthenticated` and `unauthenticated_bytes`: those among them that sent a body without a valid key.
    """

    limits: RequestLimits
    in_flight: int = 0
    unauthenticated: int = 0
    unauthenticated_bytes: int = 0
    lag_monitor: _LoopLagMonitor = field(default_factory=_LoopLagMonitor)

    def is_overloaded(self) -> bool:
        """Return whether a new request would only queue."""
        return (
            self.in_flight >= self.limits.max_concurrent
            or self.lag_monitor.lag_seconds() > self.limits.max_loop_lag_seconds
        )


class AdmissionControlMiddleware:
    """Counts a request from its arrival until its response starts; streaming a body is not counted.

    On timeout the client gets 503; the handler keeps running and keeps its place, so that no write is left
    half done.
    """

    def __init__(self, app: ASGIApp, limits: RequestLimits) -> None:
        self._app = app
        self._limiter = _RequestLimiter(limits)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in EXEMPT_PATHS:
            await self._app(scope, receive, send)
        elif self._limiter.is_overloaded():
            response = error_response(
                503,
                "The service is busy",
                "Too many requests are waiting. Try again in a moment.",
                {"retry-after": str(OVERLOAD_RETRY_AFTER_SECONDS)},
            )
            await response(scope, receive, send)
        else:
            request = _InFlightRequest(self._limiter, scope, receive, send)
            request.acquire()
            try:
                await self._app(scope, request.receive, request.send)
            finally:
                request.release()
                await request.wait_for_timeout_response()


@dataclass(slots=True, eq=False)
class _InFlightRequest:
    _limiter: _RequestLimiter
    _scope: Scope
    _receive: Receive
    _send: Send
    _loop: asyncio.AbstractEventLoop = field(init=False)
    _last_progress: float = field(init=False)
    _body_bytes: int = 0
    _timeout_response: asyncio.Task[None] | None = None
    """Set after the idle timeout; the handler's own response is then discarded."""
    _timer: asyncio.TimerHandle | None = None
    _unauthenticated_body: "_UnauthenticatedBody | None" = None

    def acquire(self) -> None:
        self._limiter.in_flight += 1
        self._loop = asyncio.get_running_loop()
        self._last_progress = self._loop.time()
        self._timer = self._loop.call_later(self._limiter.limits.idle_timeout_seconds, self._check_progress)

    def release(self) -> None:
        """Stop counting the request: its response starts, or it ends without one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._limiter.in_flight -= 1
        if self._unauthenticated_body is not None:
            self._unauthenticated_body.release()
            self._unauthenticated_body = None

    async def receive(self) -> Message:
        """Receive the next body part; HTTPException 413 above the size limit.

        Without a valid key also 503, by the limits of unauthenticated bodies.
        """
        message = await self._receive_part()
        self._last_progress = self._loop.time()
        self._body_bytes += len(message.get("body", b""))
        if self._body_bytes > self._limiter.limits.max_body_bytes:
            raise too_large(self._limiter.limits.max_body_bytes)
        return message

    async def _receive_part(self) -> Message:
        is_answered = self._timer is None
        if is_answered or PRINCIPAL_SCOPE_KEY in self._scope:
            return await self._receive()
        if self._unauthenticated_body is None:
            self._unauthenticated_body = _UnauthenticatedBody(self._limiter, self._loop.time())
        return await self._unauthenticated_body.receive(self._receive)

    async def send(self, message: Message) -> None:
        """Send a message, unless the timeout response was sent already."""
        if message["type"] == "http.response.start":
            self.release()
        if self._timeout_response is None:
            await self._send(message)

    async def wait_for_timeout_response(self) -> None:
        """Wait until a started timeout response has been sent."""
        if self._timeout_response is not None:
            await self._timeout_response

    def _check_progress(self) -> None:
        """Start the timeout response, or reschedule the check after progress."""
        remaining = self._last_progress + self._limiter.limits.idle_timeout_seconds - self._loop.time()
        if remaining > 0:
            self._timer = self._loop.call_later(remaining, self._check_progress)
            return
        self._timeout_response = self._loop.create_task(self._send_timeout_response())

    async def _send_timeout_response(self) -> None:
        seconds = self._limiter.limits.idle_timeout_seconds
        response = error_response(
            503,
            "The request timed out",
            f"No progress for {seconds:g} s. The request continues in the background and is idempotent; you may retry.",
            {"retry-after": str(TIMEOUT_RETRY_AFTER_SECONDS), "connection": "close"},
        )
        await response(self._scope, self._receive, self._send)


class _UnauthenticatedBody:
    """Body of a request without a valid key: its place among few, its deadline and its bytes."""

    __slots__ = ("_bytes", "_deadline", "_limiter")

    def __init__(self, limiter: _RequestLimiter, now: float) -> None:
        limits = limiter.limits.unauthenticated
        if limiter.unauthenticated >= limits.max_concurrent:
            raise _refusal("Too many requests without an API key are waiting. Try again in a moment.")
        limiter.unauthenticated += 1
        self._limiter = limiter
        self._deadline = now + limits.body_seconds
        self._bytes = 0

    async def receive(self, receive: Receive) -> Message:
        """Receive the next part; HTTPException 503 after the deadline or above the common size limit."""
        limits = self._limiter.limits.unauthenticated
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await receive()
        except TimeoutError:
            raise _refusal(f"The body took longer than {limits.body_seconds:g} s. Send it faster.") from None
        size = len(message.get("body", b""))
        self._bytes += size
        self._limiter.unauthenticated_bytes += size
        if self._limiter.unauthenticated_bytes > limits.max_bytes:
            raise _refusal("Requests without an API key hold too many bytes. Try again in a moment.")
        return message

    def release(self) -> None:
        """Give the place and the bytes back."""
        self._limiter.unauthenticated -= 1
        self._limiter.unauthenticated_bytes -= self._bytes


def _refusal(reason: str) -> HTTPException:
    # The rest of the body is not read: the connection can't be used again.
    headers = {"retry-after": str(OVERLOAD_RETRY_AFTER_SECONDS), "connection": "close"}
    return HTTPException(503, reason, headers)
