"""Receiver of webhooks on loopback that checks signatures, and can be hostile."""

import asyncio
import hmac
import json
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal

from tests.support.timeouts import WAIT_TIMEOUT_SECONDS

Mood = Literal["kind", "refuses", "redirects", "hangs", "closes"]


@dataclass
class WebhookReceiver:
    """A running receiver. `received`: bodies that it took, in order; `attempts`, `paths`: of all requests."""

    url: str = ""
    mood: Mood = "kind"
    received: list[Any] = field(default_factory=list)
    attempts: list[Mapping[str, str]] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    _arrived: asyncio.Event = field(default_factory=asyncio.Event)

    async def until_received(self, count: int) -> list[Any]:
        """Wait until so many bodies were taken."""
        await self._until(lambda: len(self.received) >= count)
        return self.received

    async def until_tried(self, count: int) -> None:
        """Wait until so many requests came."""
        await self._until(lambda: len(self.attempts) >= count)

    async def _until(self, holds: Any) -> None:
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            while not holds():
                self._arrived.clear()
                await self._arrived.wait()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
            self.paths.append(head[0].split(" ")[1])
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            mood = self.mood
            if mood == "kind":
                self.received.append(json.loads(body))
                self.raw.append(body)
            self.attempts.append(headers)
            self._arrived.set()
            if mood == "hangs":
                await reader.read()
            elif mood != "closes":
                status = {"kind": "204 OK", "refuses": "500 No", "redirects": "302 Away"}[mood]
                where = f"location: {self.url}/else\r\n" if mood == "redirects" else ""
                writer.write(f"HTTP/1.1 {status}\r\ncontent-length: 0\r\n{where}connection: close\r\n\r\n".encode())
                await writer.drain()
        writer.close()


@asynccontextmanager
async def webhook_receiver() -> AsyncIterator[WebhookReceiver]:
    """Listen on a free port of loopback."""
    receiver = WebhookReceiver()
    server = await asyncio.start_server(receiver.handle, "127.0.0.1", 0)
    receiver.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
    try:
        yield receiver
    finally:
        server.close()


def is_signed(secret: str, headers: Mapping[str, str], body: bytes) -> bool:
    """Check a signature as the guide's receiver does."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    digest = hmac.new(b64decode(secret.removeprefix("whsec_")), signed, sha256).digest()
    return any(
        hmac.compare_digest(signature, f"v1,{b64encode(digest).decode()}")
        for signature in headers["webhook-signature"].split(" ")
    )
