"""Base of provider doubles: an HTTP API over a world, with faults on demand and recorded requests."""

import asyncio
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.support.providers.api_description import ApiDescription, DescriptionViolationError, Operation

if TYPE_CHECKING:
    from tests.support.providers.hostile_mode import HostileMode


@dataclass(frozen=True)
class ReceivedRequest:
    """A request as the double got it."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    operation: Operation

    @property
    def path_parameters(self) -> dict[str, str]:
        """The parameters of the path."""
        return dict(self.operation.path)


@dataclass(frozen=True)
class DoubleResponse:
    """Response of a double; `body` is JSON or raw bytes."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    media_type: str = "application/json"


@dataclass
class Fault:
    """An answer instead of the true one, for the next `times` requests of an operation (None: of any)."""

    answer: DoubleResponse
    operation: str | None = None
    times: int = 1
    successes_before: int = 0
    """Requests that still go well."""


class ProviderDouble:
    """An ASGI application that answers as `handle` says; both sides are judged by the description.

    A violation is answered 500 with its reason and kept in `violations`: a test that uses a double ends with
    `double.assert_no_violations()`.
    """

    def __init__(self, description: ApiDescription) -> None:
        self.description = description
        self.calls: list[ReceivedRequest] = []
        self.violations: list[str] = []
        self.faults: list[Fault] = []
        self.hostile_mode: HostileMode | None = None
        self.broken_paths: dict[str, DoubleResponse] = {}
        """Answers to every request whose path or query contains the text, until it is removed."""
        self.now = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

    def handle(self, call: ReceivedRequest) -> DoubleResponse:
        """The true answer of the world as it is."""
        raise NotImplementedError

    def described_operation(self, method: str, path: str) -> Operation | None:
        """The described operation of a request; None: it is answered by `outside`."""
        return self.description.operation(method, path)

    def answer_undescribed(self, request: Request, body: bytes) -> DoubleResponse:
        """Answer requests outside the description, such as downloads from another host."""
        raise DescriptionViolationError(f"{request.method} {request.url.path} is not described")

    def fail(
        self,
        answer: DoubleResponse,
        operation: str | None = None,
        *,
        times: int = 1,
        successes_before: int = 0,
    ) -> None:
        """Answer so instead, `times` times, `after` so many good answers."""
        self.faults.append(Fault(answer, operation, times, successes_before))

    def advance_clock(self, passed: timedelta = timedelta(minutes=10)) -> datetime:
        """Let time pass in the double's world."""
        self.now += passed
        return self.now

    def drain_operation_ids(self) -> list[str]:
        """The operations asked for since the last time, in order."""
        names = [call.operation.id for call in self.calls]
        self.calls.clear()
        return names

    def assert_no_violations(self) -> None:
        """Fail if anything was asked or answered that the provider's description does not know."""
        assert not self.violations, self.violations

    def _broken(self, address: str) -> DoubleResponse | None:
        return next((answer for text, answer in self.broken_paths.items() if text in address), None)

    def _next_fault(self, operation: str) -> DoubleResponse | None:
        for fault in self.faults:
            if fault.operation in (None, operation):
                if fault.successes_before:
                    fault.successes_before -= 1
                elif fault.times:
                    fault.times -= 1
                    return fault.answer
        return None

    def _answer(self, request: Request, raw: bytes) -> DoubleResponse:
        operation = self.described_operation(request.method, request.url.path)
        if operation is None:
            return self.answer_undescribed(request, raw)
        query = parse_qsl(request.url.query, keep_blank_values=True)
        headers = {name.lower(): value for name, value in request.headers.items()}
        body = json.loads(raw) if raw else None
        self.description.request(operation, query, headers, body)
        call = ReceivedRequest(request.method, request.url.path, dict(query), headers, body, operation)
        self.calls.append(call)
        broken = self._broken(f"{request.url.path}?{request.url.query}")
        answer = broken or self._next_fault(operation.id) or self.handle(call)
        judged = None if isinstance(answer.body, bytes) else answer.body
        self.description.response(operation, answer.status, answer.media_type, judged)
        return answer if self.hostile_mode is None else self.hostile_mode.spoil(call, answer)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            answer = self._answer(request, await request.body())
        except DescriptionViolationError as violation:
            self.violations.append(str(violation))
            answer = DoubleResponse(500, {"message": str(violation)})
        content = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        if answer.status in (204, 304) or answer.body is None:
            content = b""
        response = Response(content, answer.status, answer.headers, answer.media_type)
        await response(scope, receive, send)


def serve_double(app: ASGIApp, arguments: Iterable[str], ready: Callable[[str], object] = print) -> None:
    """Serve a double until it is interrupted: `--port 0` lets the system choose. Says its address first."""
    given = list(arguments)
    port = int(given[given.index("--port") + 1]) if "--port" in given else 0
    asyncio.run(_serve(app, port, ready))


async def _serve(app: ASGIApp, port: int, ready: Callable[[str], object]) -> None:
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", lifespan="off"))
    config = server.config
    listening = config.bind_socket()
    ready(f"http://127.0.0.1:{listening.getsockname()[1]}")
    sys.stdout.flush()
    await server.serve(sockets=[listening])
