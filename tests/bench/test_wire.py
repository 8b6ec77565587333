"""The small HTTP client of the benchmarks, against a server of a few lines."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from bench.http_connection import HttpConnection, UnexpectedAnswerError

pytestmark = pytest.mark.anyio
Reply = Callable[[str, bytes], bytes]


@asynccontextmanager
async def _serving(reply: Reply) -> AsyncIterator[HttpConnection]:
    server = await asyncio.start_server(_answering(reply), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    connection = HttpConnection(f"http://127.0.0.1:{port}", "rk_x")
    yield connection
    await connection.close()
    server.close()


def _answering(reply: Reply) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = int(head.lower().partition("content-length: ")[2].partition("\r\n")[0])
                writer.write(reply(head, await reader.readexactly(length)))
        except asyncio.IncompleteReadError:
            writer.close()

    return answer


def _json(status: str, body: bytes) -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


async def test_requests_share_a_connection_and_carry_the_key() -> None:
    seen: list[str] = []

    def reply(head: str, body: bytes) -> bytes:
        seen.append(head)
        return _json("200 OK", body)

    async with _serving(reply) as connection:
        assert await connection.post("/a", {"n": 1}) == {"n": 1}
        assert await connection.post("/b", {"n": "é"}) == {"n": "é"}
    assert [head.split()[1] for head in seen] == ["/a", "/b"]
    assert all("Authorization: Bearer rk_x" in head for head in seen)


async def test_an_error_ends_the_measurement_with_its_words() -> None:
    async with _serving(lambda _head, _body: _json("503 Gone", b'{"error":"tired"}')) as connection:
        with pytest.raises(UnexpectedAnswerError, match=r"503.*tired"):
            await connection.get("/x")
