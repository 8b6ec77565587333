"""A small HTTP server on loopback that answers from a table, for tests of what goes out."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class StubResponse:
    """Response of a path."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hangs: bool = False


@dataclass
class StubServer:
    """A running stub; `requests`: (path, headers, body) of each request received."""

    url: str
    responses: dict[str, StubResponse]
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    host: str = "127.0.0.1"


def gzip_bomb(size: int) -> StubResponse:
    """Compress many zeros to few bytes."""
    return StubResponse(gzip.compress(b"0" * size), headers={"content-encoding": "gzip", "content-type": "text/plain"})


@asynccontextmanager
async def stub_server(responses: dict[str, StubResponse], *, host: str = "127.0.0.1") -> AsyncIterator[StubServer]:
    """Serve on a free port of loopback."""
    state = StubServer("", responses, host=host)
    listener = await asyncio.start_server(_handler(state), host, 0)
    state.url = f"http://{host}:{listener.sockets[0].getsockname()[1]}"
    try:
        yield state
    finally:
        listener.close()
        await listener.wait_closed()


def _handler(state: StubServer) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        path = head[0].split(" ")[1]
        state.requests.append((path, headers, body))
        answer = state.responses.get(path, StubResponse(b"no", 404))
        if answer.hangs:
            await reader.read()
        lines = {"content-length": str(len(answer.body)), "connection": "close"} | answer.headers
        top = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        writer.write(f"HTTP/1.1 {answer.status} X\r\n{top}\r\n".encode() + answer.body)
        await writer.drain()
        writer.close()

    return handle
