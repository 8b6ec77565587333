"""Serving an ASGI application on loopback, for tests that need a real address."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from socket import socket
from threading import Thread
from typing import Any

import uvicorn


@asynccontextmanager
async def serve_app(app: Any) -> AsyncIterator[str]:
    """Serve an application in this event loop; yields its address."""
    server, listening = _listen(app)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield _address(listening)
    finally:
        server.should_exit = True
        await serving


@contextmanager
def serve_app_in_thread(app: Any) -> Iterator[str]:
    """Serve an application in a thread of its own; yields its address."""
    server, listening = _listen(app)
    thread = Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield _address(listening)
    finally:
        server.should_exit = True
        thread.join()


def _listen(app: Any) -> tuple[uvicorn.Server, socket]:
    """Bind a free port, so that a client may connect before the server has started."""
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", lifespan="off")
    return uvicorn.Server(config), config.bind_socket()


def _address(listening: socket) -> str:
    return f"http://127.0.0.1:{listening.getsockname()[1]}"
