"""/mcp: streamable HTTP without sessions, answered in JSON, on the service's own keys."""

import asyncio
from collections.abc import Collection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2
from fastapi import APIRouter, FastAPI, Request
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from api.contract import ContractRoute
from api.mcp.interface import Interface
from api.problems import ForbiddenError
from schemas.limits import CONTENT_BYTES, QUESTION_BYTES

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from api.mcp.server import Asked

PATH = "/mcp"
NAMESPACE_HEADER = "x-recollect-namespace"
LARGEST = CONTENT_BYTES + QUESTION_BYTES
"""Bytes of a message: a whole text, and what is around it."""
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class Endpoint:
    """MCP of one application. The SDK is imported at the first request: it costs a second of CPU."""

    def __init__(self, app: FastAPI, origins: Collection[str]) -> None:
        self._app = app
        self._origins = frozenset(origins)
        self._opening = asyncio.Lock()
        self._sessions: StreamableHTTPSessionManager | None = None
        self._running: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    async def answer(self, request: Request) -> Response:
        """What one message of a client is answered; ForbiddenError for a page of another site."""
        _own(request, self._origins)
        sessions = await self._opened()
        return _Answered(sessions.handle_request)

    async def close(self) -> None:
        """End what was begun; called once, with the application."""
        self._closing.set()
        if self._running is not None:
            await self._running

    async def _opened(self) -> "StreamableHTTPSessionManager":
        async with self._opening:
            if self._sessions is None:
                sessions = await asyncio.to_thread(self._made)
                ready = asyncio.Event()
                self._running = asyncio.create_task(self._run(sessions, ready))
                await ready.wait()
                self._sessions = sessions
        return self._sessions

    def _made(self) -> "StreamableHTTPSessionManager":
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415 - see the class

        from api.mcp.server import make  # noqa: PLC0415 - as above

        client = httpx2.AsyncClient(
            transport=httpx2.ASGITransport(self._app), base_url="http://recollect", trust_env=False
        )

        def caller(asked: "Asked") -> Interface:
            given: Headers = asked.request.headers  # type: ignore[union-attr]  # HTTP always brings its request
            return Interface(client, {"authorization": given["authorization"]}, given.get(NAMESPACE_HEADER))

        return StreamableHTTPSessionManager(
            make(caller), json_response=True, stateless=True, max_request_body_size=LARGEST
        )

    async def _run(self, sessions: "StreamableHTTPSessionManager", ready: asyncio.Event) -> None:
        """The SDK's task group has to be left in the task that entered it."""
        async with sessions.run():
            ready.set()
            await self._closing.wait()


class _Route(ContractRoute):
    largest = LARGEST


router = APIRouter(route_class=_Route, include_in_schema=False)


@router.post(PATH)
async def ask(request: Request) -> Response:
    """One message of a client; any key that is valid gets in, and each tool asks with it what it may."""
    # FastAPI keeps functions of routes for ever: one that held its application would keep that too.
    endpoint: Endpoint = request.app.state.mcp
    return await endpoint.answer(request)


class _Answered(Response):
    """Lets an ASGI application answer."""

    def __init__(self, answering: ASGIApp) -> None:
        super().__init__()
        self._answering = answering

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._answering(scope, receive, send)


def _own(request: Request, origins: Collection[str]) -> None:
    """Refuse pages of other sites, as the protocol wants it; a browser alone sends an Origin."""
    origin = request.headers.get("origin")
    if origin is None or "*" in origins or origin in origins or urlsplit(origin).hostname in _LOOPBACK:
        return
    raise ForbiddenError(
        "Pages of this origin may not use MCP here",
        f"{origin[:200]} is not among the operator's RECOLLECT_CORS_ORIGINS.",
    )
