"""HTTP proxy on loopback for a browser, which thereby reaches only addresses that were resolved and checked here."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from pipeline.errors import ParsingError, RetryableError
from pipeline.parsing.url_fetcher import Resolver, resolve_allowed
from schemas.public_addresses import Address

_CHUNK_BYTES: Final = 65_536
_CONNECT_TIMEOUT_SECONDS: Final = 15.0
_HOP_HEADERS: Final = (b"proxy-", b"connection:", b"keep-alive:")
_REFUSED: Final = b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


@dataclass(slots=True)
class GuardedProxy:
    """Proxy for one page load; it transfers at most `bytes_left`."""

    resolver: Resolver
    is_allowed: Callable[[Address], bool]
    bytes_left: int

    @asynccontextmanager
    async def listen(self) -> AsyncIterator[str]:
        """Listen on a free port of loopback, and yield `host:port`."""
        server = await asyncio.start_server(self._handle, "127.0.0.1", 0, limit=_CHUNK_BYTES)
        try:
            host, port = server.sockets[0].getsockname()[:2]
            yield f"{host}:{port}"
        finally:
            self.bytes_left = 0  # ends the transfers under way
            server.close()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            try:
                await self._connect(await reader.readuntil(b"\r\n\r\n"), reader, writer)
            except (ParsingError, RetryableError, ValueError, TimeoutError):
                writer.write(_REFUSED)
                await writer.drain()
        writer.close()

    async def _connect(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        method, target, version = head.split(b"\r\n", 1)[0].decode("ascii").split(" ")
        is_tunnel = method == "CONNECT"
        parts = urlsplit(f"//{target}" if is_tunnel else target)
        host, port = parts.hostname or "", parts.port or (443 if is_tunnel else 80)
        async with asyncio.timeout(_CONNECT_TIMEOUT_SECONDS):
            address = await resolve_allowed(host, port, self.resolver, self.is_allowed)
            upstream, sink = await asyncio.open_connection(str(address), port)
        if is_tunnel:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            path = parts._replace(scheme="", netloc="", fragment="").geturl() or "/"
            sink.write(_request_head(f"{method} {path} {version}".encode(), head))
        try:
            await asyncio.gather(self._copy(reader, sink), self._copy(upstream, writer))
        finally:
            sink.close()

    async def _copy(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while self.bytes_left > 0 and (data := await source.read(_CHUNK_BYTES)):
                self.bytes_left -= len(data)
                sink.write(data)
                await sink.drain()
            sink.close()


def _request_head(request_line: bytes, head: bytes) -> bytes:
    """Write the head of a plain request as the server expects it; each connection carries a single one."""
    lines = [line for line in head.split(b"\r\n")[1:] if line and not line.lower().startswith(_HOP_HEADERS)]
    return b"\r\n".join([request_line, *lines, b"Connection: close", b"", b""])
