"""Admission control: concurrency, idle time and body size."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from api.application import create_app
from api.dependencies.authentication import PRINCIPAL_SCOPE_KEY
from api.middleware.admission_control import (
    LAG_PROBE_INTERVAL_SECONDS,
    OVERLOAD_RETRY_AFTER_SECONDS,
    AdmissionControlMiddleware,
    RequestLimits,
    UnauthenticatedLimits,
)
from schemas.limits import MAX_ANONYMOUS_BODY_BYTES
from tests.api.conftest import ADMIN, Service

pytestmark = pytest.mark.anyio


@dataclass
class SlowApp:
    """Application that responds when released, and records its progress."""

    free: asyncio.Event = field(default_factory=asyncio.Event)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    in_flight: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.in_flight += 1
        self.arrived.set()
        if scope["path"] == "/stream":
            await StreamingResponse(self._parts())(scope, receive, send)
            return
        await self.free.wait()
        await Response("done")(scope, receive, send)
        self.done.set()

    async def _parts(self) -> AsyncIterator[bytes]:
        yield b"one"
        await self.free.wait()
        yield b"two"


def client_for(app: AdmissionControlMiddleware) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test")


def admission_control(app: object, **bounds: float) -> AdmissionControlMiddleware:
    return AdmissionControlMiddleware(app, RequestLimits(**bounds))  # type: ignore[arg-type]  # test arguments


async def test_requests_beyond_the_limit_are_refused_at_once() -> None:
    slow = SlowApp()
    async with client_for(admission_control(slow, max_concurrent=3)) as client:
        tasks = [asyncio.create_task(client.get("/")) for _ in range(64)]
        done, waiting = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        while len(done) < 61:
            more, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            done |= more
        assert {task.result().status_code for task in done} == {503}
        assert {task.result().headers["retry-after"] for task in done} == {str(OVERLOAD_RETRY_AFTER_SECONDS)}
        assert slow.in_flight == 3
        slow.free.set()
        assert {task.result().status_code for task in (await asyncio.wait(waiting))[0]} == {200}
        assert (await client.get("/")).status_code == 200


async def test_health_checks_are_answered_under_overload() -> None:
    slow = SlowApp()
    async with client_for(admission_control(slow, max_concurrent=1)) as client:
        first = asyncio.create_task(client.get("/"))
        await slow.arrived.wait()
        health = [asyncio.create_task(client.get(path)) for path in ("/health", "/ready", "/metrics")]
        slow.free.set()
        assert {(await request).status_code for request in (first, *health)} == {200}


async def test_a_lagging_event_loop_refuses_requests_until_it_has_caught_up() -> None:
    app = admission_control(Response("done"), max_loop_lag_seconds=0.01)
    sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def status(path: str) -> Any:
        scope = {"type": "http", "path": path, "method": "GET", "headers": []}
        await app(scope, _nothing, sent.put)  # type: ignore[arg-type]  # as ASGI has it
        start, _ = sent.get_nowait(), sent.get_nowait()
        return start["status"]

    assert await status("/") == 200
    time.sleep(2 * LAG_PROBE_INTERVAL_SECONDS)  # noqa: ASYNC251 - what keeps the loop is what this is about
    assert await status("/") == 503
    assert await status("/health") == 200
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert await status("/") == 200


async def test_a_streaming_response_does_not_count_as_in_flight() -> None:
    slow = SlowApp()
    begun = asyncio.Event()
    sent: list[object] = []

    async def send(message: object) -> None:
        sent.append(message)
        begun.set()

    async def receive() -> dict[str, object]:
        await asyncio.Event().wait()
        raise AssertionError

    app = admission_control(slow, max_concurrent=1)
    scope = {"type": "http", "path": "/stream", "method": "GET", "headers": []}
    stream = asyncio.create_task(app(scope, receive, send))
    await begun.wait()
    slow.free.set()
    async with client_for(app) as client:
        assert (await client.get("/")).status_code == 200
    await stream


async def test_a_timed_out_request_gets_503_and_its_handler_continues() -> None:
    slow = SlowApp()
    app = admission_control(slow, max_concurrent=1, idle_timeout_seconds=0.01)
    sent: asyncio.Queue[dict[str, object]] = asyncio.Queue()
    scope = {"type": "http", "path": "/", "method": "GET", "headers": []}
    late = asyncio.create_task(app(scope, _nothing, sent.put))  # type: ignore[arg-type]  # as ASGI has it
    start, body = await sent.get(), await sent.get()
    assert start["status"] == 503
    assert b"The request timed out" in body["body"]  # type: ignore[operator]  # bytes, as ASGI has it
    assert (b"connection", b"close") in start["headers"]  # type: ignore[operator]  # as ASGI has it
    async with client_for(app) as client:
        busy = await client.get("/")
        assert busy.json()["error"] == "The service is busy", "what goes on keeps its place"
        slow.free.set()
        await late
        assert slow.done.is_set()
        assert sent.empty(), "nobody is answered twice"
        assert (await client.get("/")).status_code == 200


async def test_a_handler_that_ends_at_the_timeout_waits_for_the_timeout_response() -> None:
    async def just_late(scope: Scope, receive: Receive, send: Send) -> None:
        time.sleep(0.02)  # noqa: ASYNC251 - the loop comes to the timer and to this at the same time
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await Response("done")(scope, receive, send)

    sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    scope = {"type": "http", "path": "/", "method": "GET", "headers": []}
    await admission_control(just_late, idle_timeout_seconds=0.01)(scope, _nothing, sent.put)  # type: ignore[arg-type]  # as ASGI has it
    assert sent.get_nowait()["status"] == 503
    assert sent.get_nowait()["type"] == "http.response.body"
    assert sent.empty()


async def _nothing() -> dict[str, object]:
    await asyncio.Event().wait()
    raise AssertionError


async def test_a_body_with_a_key_that_keeps_arriving_does_not_time_out(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, ahead = asyncio.get_running_loop(), 0.0
    now = loop.time
    monkeypatch.setattr(loop, "time", lambda: now() + ahead)

    async def reading(scope: Scope, receive: Receive, send: Send) -> None:
        scope[PRINCIPAL_SCOPE_KEY] = "a key"
        body = await Request(scope, receive).body()
        await Response(str(len(body)))(scope, receive, send)

    async def slowly() -> AsyncIterator[bytes]:
        nonlocal ahead
        for _ in range(5):
            ahead += 30.0
            await asyncio.sleep(0.001)  # whatever is due by then is done before
            yield b"x"

    async with client_for(admission_control(reading, idle_timeout_seconds=60.0)) as client:
        assert (await client.post("/", content=slowly())).text == "5"


async def test_a_body_above_the_limit_is_refused_while_it_is_read() -> None:
    async def reading(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await Request(scope, receive).body()
        except HTTPException as error:
            await Response("", error.status_code)(scope, receive, send)

    async with client_for(admission_control(reading, max_body_bytes=10)) as client:
        assert (await client.post("/", content=b"x" * 11)).status_code == 413


async def test_cross_origin_requests_need_a_configured_origin(service: Service) -> None:
    preflight = {"origin": "https://app.example", "access-control-request-method": "POST"}
    for origins, allowed in (((), None), (("https://app.example",), "https://app.example")):
        app = create_app(lambda: pytest.fail("not started here"), cors_origins=origins)
        app.state.recollect = service.app.state.recollect
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test") as client:
            answer = await client.options("/ns/alice/search", headers=preflight)
            assert answer.headers.get("access-control-allow-origin") == allowed
            plain = await client.get("/organization", headers={"origin": "https://other.example"})
            assert plain.headers.get("access-control-allow-origin") is None


@dataclass
class Trickle:
    """Bodies without a key that begin with one byte and then stay away."""

    app: object
    begun: int = 0
    statuses: list[int] = field(default_factory=list)
    answered: asyncio.Event = field(default_factory=asyncio.Event)

    async def post(self, path: str, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        parts = iter([b"{"])

        async def receive() -> dict[str, object]:
            self.begun += 1
            for part in parts:
                return {"type": "http.request", "body": part, "more_body": True}
            return await _nothing()

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                self.statuses.append(message["status"])
                self.answered.set()

        scope = {
            "type": "http",
            "http_version": "1.1",
            "path": path,
            "method": "POST",
            "query_string": b"",
            "headers": [(b"host", b"test"), *headers],
            "client": ("192.0.2.7", 1),
            "server": ("test", 80),
            "scheme": "http",
        }
        await self.app(scope, receive, send)  # type: ignore[operator]  # an ASGI application


def _app_of(service: Service, **limits: float) -> Any:
    unauthenticated = UnauthenticatedLimits(**limits)  # type: ignore[arg-type]  # test arguments
    app = create_app(
        lambda: pytest.fail("not started here"),
        limits=RequestLimits(max_concurrent=64, unauthenticated=unauthenticated),
    )
    app.state.recollect = service.app.state.recollect
    return app


async def test_slow_bodies_without_a_key_leave_room_for_requests_with_one(service: Service) -> None:
    app = _app_of(service, max_concurrent=8, body_seconds=600)
    slow = Trickle(app)
    tasks = [asyncio.create_task(slow.post("/feedback")) for _ in range(270)]
    while len(slow.statuses) < 262:
        slow.answered.clear()
        await slow.answered.wait()
    assert set(slow.statuses) == {503}, "no more than eight are read at a time"
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test") as client:
        assert (await client.get("/ns", headers={"authorization": f"Bearer {ADMIN}"})).status_code == 200
        feedback = {"type": "bug", "title": "t", "description": "d"}
        keyed = await client.post("/feedback", json=feedback, headers={"authorization": f"Bearer {ADMIN}"})
        assert keyed.status_code == 202, "a valid key has nothing to do with their budget"
        assert (await client.post("/feedback", json=feedback)).status_code == 503
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test") as client:
        assert (await client.post("/feedback", json=feedback)).status_code == 202, "the places are given back"


async def test_a_slow_body_without_a_key_is_refused_after_a_fixed_time(service: Service) -> None:
    slow = Trickle(_app_of(service, body_seconds=0.01))
    await slow.post("/feedback")
    assert slow.statuses == [503]


async def test_a_large_body_without_a_key_is_refused_before_it_is_read(service: Service) -> None:
    slow = Trickle(_app_of(service))
    await slow.post("/feedback", ((b"content-length", str(MAX_ANONYMOUS_BODY_BYTES + 1).encode()),))
    assert (slow.statuses, slow.begun) == ([413], 0)


async def test_a_body_with_a_wrong_key_is_not_read(service: Service) -> None:
    slow = Trickle(_app_of(service))
    for path in ("/feedback", "/ns/alice/document", "/mcp", "/v3/documents"):
        await slow.post(path, ((b"authorization", b"Bearer wrong"),))
    for path in ("/ns/alice/document", "/mcp", "/v3/documents", "/ns/alice/document/file"):
        await slow.post(path)
    assert (set(slow.statuses), slow.begun) == ({401}, 0)


async def test_bodies_without_a_key_share_a_budget_of_bytes(service: Service) -> None:
    app = _app_of(service, max_bytes=1000)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test") as client:
        feedback = {"type": "bug", "title": "t", "description": "d"}
        assert (await client.post("/feedback", json=feedback | {"expected": "x" * 1000})).status_code == 503
        assert (await client.post("/feedback", json=feedback)).status_code == 202
