"""The listening socket of the service."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from fastapi import FastAPI, Request

from api import uvicorn_server
from api.uvicorn_server import open_listener, serve


def test_answers_are_sent_at_once_on_asyncios_loop_too() -> None:
    async def accepted_without_delay() -> bool:
        accepted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        def on_accept(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = writer.get_extra_info("socket")
            accepted.set_result(bool(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
            writer.close()

        listener = open_listener("127.0.0.1", 0)
        async with await asyncio.start_server(on_accept, sock=listener):
            _, writer = await asyncio.open_connection(*listener.getsockname())
            try:
                return await accepted
            finally:
                writer.close()

    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        assert runner.run(accepted_without_delay())


@asynccontextmanager
async def _served(app: FastAPI) -> AsyncIterator[tuple[str, int]]:
    listener, started = open_listener("127.0.0.1", 0), asyncio.Event()
    serving = asyncio.create_task(serve(app, listener, started.set, lambda: None, log_level="info"))
    await started.wait()
    try:
        yield listener.getsockname()
    finally:
        serving.cancel()
        await asyncio.wait([serving])


@pytest.mark.anyio
@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nX: ", b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HT"])
async def test_a_connection_that_sends_no_head_ends_and_a_slow_request_does_not(
    monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    monkeypatch.setattr(uvicorn_server, "HEAD_SECONDS", 0.05)
    app, ended = FastAPI(), asyncio.Event()

    @app.get("/")
    async def root() -> str:
        return "at once"

    @app.post("/slow")
    async def slow(request: Request) -> str:
        await request.body()
        await ended.wait()
        return "in the end"

    async with _served(app) as address:
        slow_reader, slow_writer = await asyncio.open_connection(*address)
        slow_writer.write(b"POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nConnection: close\r\n\r\nab")
        reader, writer = await asyncio.open_connection(*address)
        if b"\r\n\r\n" in begun:
            whole, begun = begun[:-6], begun[-6:]
            writer.write(whole)
            await reader.readuntil(b"at once")
        writer.write(begun)
        assert await reader.read() in {b"", b'"'}
        slow_writer.write(b"cd")
        ended.set()
        assert b"in the end" in await slow_reader.read()
        for each in (writer, slow_writer):
            each.close()
            await each.wait_closed()


@pytest.mark.anyio
@pytest.mark.parametrize("segments", [[b"POST / HTTP/1.1\r\n%s\r\nhello"], [b"POST / HTTP/1.1\r\n%s\r\n", b"hello"]])
async def test_a_body_is_read_whatever_protocol_its_client_would_rather_speak(segments: list[bytes]) -> None:
    app = FastAPI()

    @app.post("/")
    async def echo(request: Request) -> str:
        return (await request.body()).decode()

    head = (
        b"Connection: Upgrade, HTTP2-Settings\r\nContent-Length: 5\r\nHost: a\r\nHTTP2-Settings: AAEAAEAA\r\n"
        b"Upgrade: h2c\r\n"
    )
    async with _served(app) as address:
        reader, writer = await asyncio.open_connection(*address)
        for _ in range(2):
            for segment in segments:
                writer.write(segment.replace(b"%s", head))
                await writer.drain()
                await asyncio.sleep(0)
            assert await reader.readuntil(b'"hello"')
        writer.close()
        await writer.wait_closed()


@pytest.mark.anyio
async def test_what_is_no_http_is_answered_in_the_shape_of_all_errors() -> None:
    async with _served(FastAPI()) as address:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(b"\x16\x03\x01 hello of TLS\r\n\r\n")
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        assert b"400" in head
        assert "http://" in json.loads(body)["details"]
        writer.close()
        await writer.wait_closed()
