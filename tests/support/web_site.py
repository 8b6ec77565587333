"""A web site on loopback whose pages come when a test lets them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.support.timeouts import WAIT_TIMEOUT_SECONDS

HTML = """<html><head><title>{name}</title></head>
<body><article><h1>{name}</h1>
<p>The page of {name} tells that lighthouses are painted every spring.</p></article></body></html>"""
HEAD = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {size}\r\nconnection: close\r\n\r\n"


class HeldPageSite:
    """`held` pages wait for `release`; `asked` waits until somebody wants a page."""

    def __init__(self) -> None:
        self.url = ""
        self.held_pages: dict[str, asyncio.Event] = {}
        self._requested: dict[str, asyncio.Event] = {}

    def hold_page(self, name: str) -> str:
        """The URL of a page that does not come yet."""
        self.held_pages[name] = asyncio.Event()
        return f"{self.url}/{name}"

    def release_page(self, name: str) -> None:
        self.held_pages[name].set()

    async def wait_requested(self, name: str) -> None:
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            await self._requested.setdefault(name, asyncio.Event()).wait()

    async def handle_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer a request with a page."""
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        name = request.split(" ", 2)[1].strip("/")
        self._requested.setdefault(name, asyncio.Event()).set()
        if name in self.held_pages:
            await self.held_pages[name].wait()
        body = HTML.format(name=name).encode()
        writer.write(HEAD.format(size=len(body)).encode() + body)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def held_page_site() -> AsyncIterator[HeldPageSite]:
    """A site that is up."""
    pages = HeldPageSite()
    server = await asyncio.start_server(pages.handle_request, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()[:2]
        pages.url = f"http://{host}:{port}"
        yield pages
