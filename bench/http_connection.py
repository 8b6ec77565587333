"""A small HTTP/1.1 client on asyncio streams: one connection, kept alive, costing little itself."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit


class UnexpectedAnswerError(Exception):
    """The service answered something that the measurement cannot go on with."""


class HttpConnection:
    """Requests one after the other on a connection that the first opens: the service ends one that sends nothing."""

    def __init__(self, url: str, key: str) -> None:
        """Name the service, `http://host:port`."""
        self._address = urlsplit(url)
        self._head = f"Host: {self._address.netloc}\r\nAuthorization: Bearer {key}\r\n"
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def close(self) -> None:
        """Close the connection, if it was opened."""
        if self._streams is not None:
            self._streams[1].close()
            await self._streams[1].wait_closed()

    async def request(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Status and body of the answer."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._address.hostname, self._address.port, limit=2**24)
        reader, writer = self._streams
        kind = "Content-Type: application/json\r\n" if body else ""
        head = f"{method} {path} HTTP/1.1\r\n{self._head}{kind}Content-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        return int(answer[9:12]), await reader.readexactly(_length(answer))

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of a POST that must succeed."""
        return await self._request_json("POST", path, json.dumps(body).encode())

    async def get(self, path: str) -> dict[str, Any]:
        """The answer of a GET that must succeed."""
        return await self._request_json("GET", path)

    async def _request_json(self, method: str, path: str, body: bytes = b"") -> dict[str, Any]:
        status, answer = await self.request(method, path, body)
        if status != 200:
            raise UnexpectedAnswerError(f"{method} {path} answered {status}: {answer[:500].decode(errors='replace')}")
        parsed: dict[str, Any] = json.loads(answer)
        return parsed


def _length(head: str) -> int:
    for line in head.split("\r\n"):
        name, _, value = line.partition(":")
        if name.lower() == "content-length":
            return int(value)
    raise UnexpectedAnswerError(f"an answer without a length: {head[:200]}")
