"""uvicorn with the service's settings, start callback and signal handling."""

import asyncio
import json
import logging
import os
import re
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.auto import AutoHTTPProtocol

log = logging.getLogger(__name__)

LISTEN_BACKLOG = 2048
KEEP_ALIVE_SECONDS = 75
GRACEFUL_SHUTDOWN_SECONDS = 10
HEAD_SECONDS = 10.0
"""Time in which a connection has to send the head of a request: its first one, or one that it has begun."""
_UPGRADE = re.compile(rb"\r\nupgrade:[^\r\n]*(?=\r\n)", re.IGNORECASE)
_NOT_HTTP = json.dumps(
    {
        "error": "The request is not valid HTTP",
        "details": "Its first line, a header or the length of a part can't be read; addresses of this port begin with"
        " http://, those of a proxy with TLS before it with https://.",
    }
).encode()


def open_listener(host: str, port: int) -> socket.socket:
    """Open a listening socket; port 0 takes a free one.

    Raises:
        OSError: the address is taken or not available.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With TCP named, asyncio sends small writes of accepted connections at once (TCP_NODELAY), as uvloop always does.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name != "nt":  # where it would let two services listen on one port
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.set_inheritable(False)
    return listener


def listener_url(listener: socket.socket, host: str) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{listener.getsockname()[1]}"


class _HttpProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]  # httptools' where it is, else h11's
    """Ends connections that send no head, or a slow one: uvicorn would keep them for ever, each an open file.

    Offers of another protocol are not read, as HTTP allows: with one, httptools drops the body. Java's client offers
    HTTP/2 in each request.
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._deadline = self.loop.call_later(HEAD_SECONDS, transport.close)

    def data_received(self, data: bytes) -> None:
        super().data_received(data if self._is_answering() else _without_upgrade(data))
        if self._is_answering():
            self._cancel_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's words say nothing of what to do
        head = f"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: {len(_NOT_HTTP)}\r\n"
        self.transport.write(head.encode() + b"connection: close\r\n\r\n" + _NOT_HTTP)
        self.transport.close()

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_deadline()
        super().connection_lost(exc)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _without_upgrade(data: bytes) -> bytes:
    """Return the beginning of a request without the header `Upgrade`."""
    head, end, body = data.partition(b"\r\n\r\n")
    return _UPGRADE.sub(b"", head + end[:2]) + end[2:] + body


class _CallbackServer(uvicorn.Server):
    """uvicorn server that calls back when it is ready and when it stops, and leaves signals to `serve`."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None], stopping: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = started
        self._on_stop = stopping

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._on_stop()
        await super().shutdown(sockets)


async def serve(
    app: FastAPI,
    listener: socket.socket,
    on_started: Callable[[], None],
    on_stopping: Callable[[], None],
    *,
    log_level: str,
    trusted_proxies: Sequence[str] = (),
) -> None:
    """Serve requests until SIGINT, SIGTERM or cancellation; open requests get 10 s to finish.

    `on_stopping`: ends the responses that have no end of their own. `trusted_proxies`: addresses and networks
    whose X-Forwarded-For and X-Forwarded-Proto are believed.

    A second signal ends the process at once, as kill -9 would; no acknowledged write is lost.
    """
    config = uvicorn.Config(
        app,
        http=_HttpProtocol,
        # The command prints its own, shorter messages for start and stop.
        log_level="warning" if log_level == "info" else log_level,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(trusted_proxies),
        forwarded_allow_ips=list(trusted_proxies),
        backlog=LISTEN_BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACEFUL_SHUTDOWN_SECONDS,
    )
    server = _CallbackServer(config, on_started, on_stopping)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        _on_signal(loop, number, partial(_handle_shutdown_signal, server, number))
    serving = asyncio.ensure_future(server.serve(sockets=[listener]))
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        server.should_exit = True
        await serving
        raise


def _on_signal(loop: asyncio.AbstractEventLoop, number: int, handler: Callable[[], None]) -> None:
    try:
        loop.add_signal_handler(number, handler)
    except NotImplementedError:  # the event loops of Windows
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(handler))


def _handle_shutdown_signal(server: uvicorn.Server, number: int) -> None:
    if server.should_exit:
        log.warning("Second signal: exiting at once, without waiting for open requests.")
        os._exit(128 + number)
    log.info(
        "Shutting down: open requests get %d seconds. Send another signal to exit at once.", GRACEFUL_SHUTDOWN_SECONDS
    )
    server.handle_exit(number, None)
