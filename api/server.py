"""uvicorn, told what the service needs of it."""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

log = logging.getLogger(__name__)

BACKLOG = 2048
KEEP_ALIVE_SECONDS = 75
GRACE_SECONDS = 10


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; OSError says why there is none. Port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.set_inheritable(False)
    return listener


def address(listener: socket.socket, host: str) -> str:
    """The URL under which it answers."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{listener.getsockname()[1]}"


class _Server(uvicorn.Server):
    """Calls back once requests are answered, and leaves signals to whoever closes the rest."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = started

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_start()


async def serve(
    app: FastAPI,
    listener: socket.socket,
    started: Callable[[], None],
    *,
    level: str,
    proxies: Sequence[str] = (),
) -> None:
    """Answer requests until SIGINT or SIGTERM, or until cancelled; open requests get time to end.

    `proxies`: addresses and networks whose X-Forwarded-For and X-Forwarded-Proto say who asks.

    A second signal ends the process at once, as kill -9 would: nothing acknowledged is lost by it.
    """
    config = uvicorn.Config(
        app,
        # Its own start and stop are told by the command, shorter.
        log_level="warning" if level == "info" else level,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = _Server(config, started)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, _stop, server, number)
    serving = asyncio.ensure_future(server.serve(sockets=[listener]))
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        server.should_exit = True
        await serving
        raise


def _stop(server: uvicorn.Server, number: int) -> None:
    if server.should_exit:
        log.warning("Ending at once, with what was under way.")
        os._exit(128 + number)
    log.info("Ending: requests under way get %d seconds. Another signal ends at once.", GRACE_SECONDS)
    server.handle_exit(number, None)
