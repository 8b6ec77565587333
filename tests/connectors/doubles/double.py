"""What all doubles share: a world that is asked over HTTP, faults on demand, a count of what was asked."""

import asyncio
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl

import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.connectors.doubles.judge import Judge, Operation, ViolationError


@dataclass(frozen=True)
class Call:
    """A request as the double got it."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    operation: Operation

    @property
    def at(self) -> dict[str, str]:
        """The parameters of the path."""
        return dict(self.operation.path)


@dataclass(frozen=True)
class Answer:
    """What goes back; `body` is JSON, bytes go as they are."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    media: str = "application/json"


@dataclass
class Fault:
    """An answer instead of the true one, for the next `times` requests of an operation (None: of any)."""

    answer: Answer
    operation: str | None = None
    times: int = 1
    after: int = 0
    """Requests that still go well."""


class Double:
    """An ASGI application that answers as `handle` says; both sides are judged by the description.

    A violation is answered 500 with its reason and kept in `violations`: a test that uses a double ends with
    `double.settle()`.
    """

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.calls: list[Call] = []
        self.violations: list[str] = []
        self.faults: list[Fault] = []
        self.now = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

    def handle(self, call: Call) -> Answer:
        """The true answer of the world as it is."""
        raise NotImplementedError

    def locate(self, method: str, path: str) -> Operation | None:
        """The described operation of a request; None: it is answered by `outside`."""
        return self.judge.operation(method, path)

    def outside(self, request: Request, body: bytes) -> Answer:
        """What the description leaves out, such as downloads from another host."""
        raise ViolationError(f"{request.method} {request.url.path} is not described")

    def fail(self, answer: Answer, operation: str | None = None, *, times: int = 1, after: int = 0) -> None:
        """Answer so instead, `times` times, `after` so many good answers."""
        self.faults.append(Fault(answer, operation, times, after))

    def tick(self, passed: timedelta = timedelta(minutes=10)) -> datetime:
        """Let time pass in the double's world."""
        self.now += passed
        return self.now

    def counted(self) -> list[str]:
        """The operations asked for since the last time, in order."""
        names = [call.operation.id for call in self.calls]
        self.calls.clear()
        return names

    def settle(self) -> None:
        """Fail if anything was asked or answered that the provider's description does not know."""
        assert not self.violations, self.violations

    def _fault(self, operation: str) -> Answer | None:
        for fault in self.faults:
            if fault.operation in (None, operation):
                if fault.after:
                    fault.after -= 1
                elif fault.times:
                    fault.times -= 1
                    return fault.answer
        return None

    def _answer(self, request: Request, raw: bytes) -> Answer:
        operation = self.locate(request.method, request.url.path)
        if operation is None:
            return self.outside(request, raw)
        query = parse_qsl(request.url.query, keep_blank_values=True)
        headers = {name.lower(): value for name, value in request.headers.items()}
        body = json.loads(raw) if raw else None
        self.judge.request(operation, query, headers, body)
        call = Call(request.method, request.url.path, dict(query), headers, body, operation)
        self.calls.append(call)
        answer = self._fault(operation.id) or self.handle(call)
        judged = None if isinstance(answer.body, bytes) else answer.body
        self.judge.response(operation, answer.status, answer.media, judged)
        return answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            answer = self._answer(request, await request.body())
        except ViolationError as violation:
            self.violations.append(str(violation))
            answer = Answer(500, {"message": str(violation)})
        content = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        if answer.status in (204, 304) or answer.body is None:
            content = b""
        response = Response(content, answer.status, answer.headers, answer.media)
        await response(scope, receive, send)


def run(app: ASGIApp, arguments: Iterable[str], ready: Callable[[str], object] = print) -> None:
    """Serve a double until it is interrupted: `--port 0` lets the system choose. Says its address first."""
    given = list(arguments)
    port = int(given[given.index("--port") + 1]) if "--port" in given else 0
    asyncio.run(_serve(app, port, ready))


async def _serve(app: ASGIApp, port: int, ready: Callable[[str], object]) -> None:
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", lifespan="off")
    )
    config = server.config
    listening = config.bind_socket()
    ready(f"http://127.0.0.1:{listening.getsockname()[1]}")
    sys.stdout.flush()
    await server.serve(sockets=[listening])
