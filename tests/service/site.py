"""A web site on loopback whose pages come when a test lets them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.patience import PATIENCE

HTML = """<html><head><title>{name}</title></head>
<body><article><h1>{name}</h1>
<p>The page of {name} tells that lighthouses are painted every spring.</p></article></body></html>"""
HEAD = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {size}\r\nconnection: close\r\n\r\n"


class Site:
    """`held` pages wait for `release`; `asked` waits until somebody wants a page."""

    def __init__(self) -> None:
        self.url = ""
        self.held: dict[str, asyncio.Event] = {}
        self._asked: dict[str, asyncio.Event] = {}

    def hold(self, name: str) -> str:
        """The URL of a page that does not come yet."""
        self.held[name] = asyncio.Event()
        return f"{self.url}/{name}"

    def release(self, name: str) -> None:
        self.held[name].set()

    async def asked(self, name: str) -> None:
        async with asyncio.timeout(PATIENCE):
            await self._asked.setdefault(name, asyncio.Event()).wait()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request, one page."""
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        name = request.split(" ", 2)[1].strip("/")
        self._asked.setdefault(name, asyncio.Event()).set()
        if name in self.held:
            await self.held[name].wait()
        body = HTML.format(name=name).encode()
        writer.write(HEAD.format(size=len(body)).encode() + body)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def site() -> AsyncIterator[Site]:
    """A site that is up."""
    pages = Site()
    server = await asyncio.start_server(pages.answer, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()[:2]
        pages.url = f"http://{host}:{port}"
        yield pages
