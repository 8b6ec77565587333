"""MCP at /mcp: streamable HTTP without sessions, JSON responses, authenticated by API keys."""

import asyncio
import json
from collections.abc import Collection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2
from fastapi import APIRouter, FastAPI, Request
from starlette.datastructures import Address
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.errors.http_errors import ForbiddenError
from api.mcp.service_client import ServiceClient
from api.policies.recall_log import PURPOSE_HEADER
from api.routes.contract_route import ContractRoute, error_responses
from schemas.limits import MAX_BODY_BYTES, MAX_CONTENT_BYTES
from schemas.strict_json import parse_json

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from api.mcp.mcp_server import RequestContext

MCP_PATH = "/mcp"
NAMESPACE_HEADER = "x-recollect-namespace"
MAX_MESSAGE_BYTES = MAX_CONTENT_BYTES + MAX_BODY_BYTES
"""Largest message in bytes: the largest document content plus its envelope."""
_PARSE_ERROR = -32700
_PASSED_HEADERS = ("authorization", PURPOSE_HEADER)
_CALLER = "recollect.caller"
"""Extension of a request in this process: the address that the message came from."""
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class McpEndpoint:
    """MCP endpoint of an application. The SDK is imported at the first request; it takes a second of CPU."""

    def __init__(self, app: FastAPI, origins: Collection[str]) -> None:
        self._app = app
        self._origins = frozenset(origins)
        self._start_lock = asyncio.Lock()
        self._manager: StreamableHTTPSessionManager | None = None
        self._run_task: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    async def handle(self, request: Request) -> Response:
        """Answer a message; ForbiddenError for a page of another site."""
        _reject_foreign_origin(request, self._origins)
        body = await request.body()
        try:
            parse_json(body)
        except ValueError as error:
            return _parse_error(str(error))
        sessions = await self._session_manager()
        return _AsgiResponse(sessions.handle_request, body)

    async def close(self) -> None:
        """Stop the session manager; called once, when the application ends."""
        self._closing.set()
        if self._run_task is not None:
            await self._run_task

    async def _session_manager(self) -> "StreamableHTTPSessionManager":
        async with self._start_lock:
            if self._manager is None:
                sessions = await asyncio.to_thread(self._create_session_manager)
                ready = asyncio.Event()
                self._run_task = asyncio.create_task(self._run(sessions, ready))
                await ready.wait()
                self._manager = sessions
        return self._manager

    def _create_session_manager(self) -> "StreamableHTTPSessionManager":
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415 - see the class

        from api.mcp.mcp_server import create_server  # noqa: PLC0415 - as above

        client = httpx2.AsyncClient(
            transport=_InProcessTransport(self._app), base_url="http://recollect", trust_env=False
        )

        def client_for(context: "RequestContext") -> ServiceClient:
            request: Request = context.request  # type: ignore[assignment]  # HTTP always brings its request
            given = request.headers
            headers = {name: given[name] for name in _PASSED_HEADERS if name in given}
            return ServiceClient(client, headers, given.get(NAMESPACE_HEADER), {_CALLER: request.client})

        return StreamableHTTPSessionManager(
            create_server(client_for), json_response=True, stateless=True, max_request_body_size=MAX_MESSAGE_BYTES
        )

    async def _run(self, sessions: "StreamableHTTPSessionManager", ready: asyncio.Event) -> None:
        """Run the session manager in its own task: a task group must be left by the task that entered it."""
        async with sessions.run():
            ready.set()
            await self._closing.wait()


class _InProcessTransport(httpx2.AsyncBaseTransport):
    """Calls an application in this process as whoever sent the message, for its records of who did what."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        caller: Address | None = request.extensions.get(_CALLER)
        transport = httpx2.ASGITransport(self._app, client=("", 0) if caller is None else (caller.host, caller.port))
        return await transport.handle_async_request(request)


class _McpRoute(ContractRoute):
    max_body_bytes = MAX_MESSAGE_BYTES


router = APIRouter(route_class=_McpRoute, include_in_schema=False)


# No 400: the SDK checks the body and options. Configurations of clients often end the address in a slash.
@router.post(f"{MCP_PATH}/", responses=error_responses(401, 403))
@router.post(MCP_PATH, responses=error_responses(401, 403))
async def post_message(request: Request) -> Response:
    """Answer a message; any valid key is accepted, and each tool call is authorized with it."""
    # FastAPI keeps route functions for the life of the process: a closure would keep its application too.
    endpoint: McpEndpoint = request.app.state.mcp
    return await endpoint.handle(request)


class _AsgiResponse(Response):
    """Response sent by an ASGI application, which is given a body that was read before."""

    def __init__(self, app: ASGIApp, body: bytes) -> None:
        super().__init__()
        self._app = app
        self._parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def receive_again() -> Message:
            return self._parts.pop() if self._parts else await receive()

        await self._app(scope, receive_again, send)


def _parse_error(reason: str) -> Response:
    """Return JSON-RPC's answer to a message that can't be parsed."""
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": _PARSE_ERROR, "message": reason}}
    return Response(json.dumps(error), 400, media_type="application/json")


def _reject_foreign_origin(request: Request, origins: Collection[str]) -> None:
    """Refuse pages of other sites, as the MCP specification requires; only browsers send an Origin."""
    origin = request.headers.get("origin")
    if origin is None or "*" in origins or origin in origins or _host(origin) in _LOOPBACK:
        return
    raise ForbiddenError(
        "Pages of this origin may not use MCP here",
        f"{origin[:200]} is not among the operator's RECOLLECT_CORS_ORIGINS.",
    )


def _host(origin: str) -> str | None:
    try:
        return urlsplit(origin).hostname
    except ValueError:
        return None
