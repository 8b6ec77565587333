"""What every request passes: how many at a time, for how long, and how large."""

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

from api.app import create_app
from api.gate import BUSY_SECONDS, PULSE_SECONDS, Bounds, Gate
from tests.api.conftest import Service

pytestmark = pytest.mark.anyio


@dataclass
class Slow:
    """An application that answers when it may, and tells what became of it."""

    free: asyncio.Event = field(default_factory=asyncio.Event)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    inside: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.inside += 1
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


def asked(app: Gate) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test")


def gate(app: object, **bounds: float) -> Gate:
    return Gate(app, Bounds(**bounds))  # type: ignore[arg-type]  # both are what the test says


async def test_what_comes_beyond_the_limit_is_told_to_come_back_and_nothing_waits() -> None:
    slow = Slow()
    async with asked(gate(slow, concurrent=3)) as client:
        tasks = [asyncio.create_task(client.get("/")) for _ in range(64)]
        done, waiting = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        while len(done) < 61:
            more, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            done |= more
        assert {task.result().status_code for task in done} == {503}
        assert {task.result().headers["retry-after"] for task in done} == {str(BUSY_SECONDS)}
        assert slow.inside == 3
        slow.free.set()
        assert {task.result().status_code for task in (await asyncio.wait(waiting))[0]} == {200}
        assert (await client.get("/")).status_code == 200


async def test_whether_it_is_well_is_answered_however_busy_it_is() -> None:
    slow = Slow()
    async with asked(gate(slow, concurrent=1)) as client:
        first = asyncio.create_task(client.get("/"))
        await slow.arrived.wait()
        health = [asyncio.create_task(client.get(path)) for path in ("/health", "/ready", "/metrics")]
        slow.free.set()
        assert {(await one).status_code for one in (first, *health)} == {200}


async def test_a_process_that_is_behind_takes_no_more_until_it_has_caught_up() -> None:
    app = gate(Response("done"), behind=0.01)
    sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def status(path: str) -> Any:
        scope = {"type": "http", "path": path, "method": "GET", "headers": []}
        await app(scope, _nothing, sent.put)  # type: ignore[arg-type]  # as ASGI has it
        start, _ = sent.get_nowait(), sent.get_nowait()
        return start["status"]

    assert await status("/") == 200
    time.sleep(2 * PULSE_SECONDS)  # noqa: ASYNC251 - what keeps the loop is what this is about
    assert await status("/") == 503
    assert await status("/health") == 200
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert await status("/") == 200


async def test_what_is_streamed_takes_nobodys_place() -> None:
    slow = Slow()
    begun = asyncio.Event()
    sent: list[object] = []

    async def send(message: object) -> None:
        sent.append(message)
        begun.set()

    async def receive() -> dict[str, object]:
        await asyncio.Event().wait()
        raise AssertionError

    app = gate(slow, concurrent=1)
    scope = {"type": "http", "path": "/stream", "method": "GET", "headers": []}
    stream = asyncio.create_task(app(scope, receive, send))
    await begun.wait()
    slow.free.set()
    async with asked(app) as client:
        assert (await client.get("/")).status_code == 200
    await stream


async def test_who_takes_too_long_is_told_and_what_was_begun_goes_on_to_its_end() -> None:
    slow = Slow()
    app = gate(slow, concurrent=1, seconds=0.01)
    sent: asyncio.Queue[dict[str, object]] = asyncio.Queue()
    scope = {"type": "http", "path": "/", "method": "GET", "headers": []}
    late = asyncio.create_task(app(scope, _nothing, sent.put))  # type: ignore[arg-type]  # as ASGI has it
    start, body = await sent.get(), await sent.get()
    assert start["status"] == 503
    assert b"This takes too long" in body["body"]  # type: ignore[operator]  # bytes, as ASGI has it
    assert (b"connection", b"close") in start["headers"]  # type: ignore[operator]  # as ASGI has it
    async with asked(app) as client:
        busy = await client.get("/")
        assert busy.json()["error"] == "The service is busy", "what goes on keeps its place"
        slow.free.set()
        await late
        assert slow.done.is_set()
        assert sent.empty(), "nobody is answered twice"
        assert (await client.get("/")).status_code == 200


async def test_who_ends_in_the_moment_it_is_late_has_been_answered_by_then() -> None:
    async def just_late(scope: Scope, receive: Receive, send: Send) -> None:
        time.sleep(0.02)  # noqa: ASYNC251 - the loop comes to the timer and to this at the same time
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await Response("done")(scope, receive, send)

    sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    scope = {"type": "http", "path": "/", "method": "GET", "headers": []}
    await gate(just_late, seconds=0.01)(scope, _nothing, sent.put)  # type: ignore[arg-type]  # as ASGI has it
    assert sent.get_nowait()["status"] == 503
    assert sent.get_nowait()["type"] == "http.response.body"
    assert sent.empty()


async def _nothing() -> dict[str, object]:
    await asyncio.Event().wait()
    raise AssertionError


async def test_a_body_that_goes_on_coming_is_not_late(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, ahead = asyncio.get_running_loop(), 0.0
    now = loop.time
    monkeypatch.setattr(loop, "time", lambda: now() + ahead)

    async def reading(scope: Scope, receive: Receive, send: Send) -> None:
        body = await Request(scope, receive).body()
        await Response(str(len(body)))(scope, receive, send)

    async def slowly() -> AsyncIterator[bytes]:
        nonlocal ahead
        for _ in range(5):
            ahead += 30.0
            await asyncio.sleep(0.001)  # whatever is due by then is done before
            yield b"x"

    async with asked(gate(reading, seconds=60.0)) as client:
        assert (await client.post("/", content=slowly())).text == "5"


async def test_a_body_beyond_the_bound_is_refused_while_it_is_read() -> None:
    async def reading(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await Request(scope, receive).body()
        except HTTPException as error:
            await Response("", error.status_code)(scope, receive, send)

    async with asked(gate(reading, body_bytes=10)) as client:
        assert (await client.post("/", content=b"x" * 11)).status_code == 413


async def test_pages_from_elsewhere_ask_only_where_a_setting_lets_them(service: Service) -> None:
    preflight = {"origin": "https://app.example", "access-control-request-method": "POST"}
    for origins, allowed in (((), None), (("https://app.example",), "https://app.example")):
        app = create_app(lambda: pytest.fail("not started here"), origins=origins)
        app.state.recollect = service.app.state.recollect
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test") as client:
            answer = await client.options("/ns/alice/search", headers=preflight)
            assert answer.headers.get("access-control-allow-origin") == allowed
            plain = await client.get("/organization", headers={"origin": "https://other.example"})
            assert plain.headers.get("access-control-allow-origin") is None
