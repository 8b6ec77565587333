"""The listening socket of the service."""

import asyncio
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
