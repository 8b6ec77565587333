"""The application: made by a call, never by an import."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache

from fastapi import APIRouter, FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute

from api import VERSION, errors, openapi
from api.console import pages
from api.gate import Bounds, Gate
from api.headers import Hardening
from api.mcp import http as mcp
from api.routes import (
    admin,
    archive,
    audit,
    connector_operations,
    connectors,
    documents,
    explain,
    feedback,
    growth,
    health,
    listing,
    log,
    memories,
    namespaces,
    operator,
    organization,
    recall,
    replay,
    usage,
    whoami,
)
from api.state import Serving

_INTERFACE = (
    recall,
    documents,
    listing,
    memories,
    explain,
    namespaces,
    organization,
    connectors,
    feedback,
    admin,
    whoami,
    operator,
    connector_operations,
    replay,
    archive,
    usage,
    audit,
    growth,
)
"""What is asked most comes first: to find the place of a request, each is asked in turn."""
_STRICT = False
"""A body without a content type is read as JSON."""
Opening = Callable[[], AbstractAsyncContextManager[Serving]]


def create_app(
    opening: Opening,
    edge: Sequence[BaseRoute] = (),
    *,
    asyncapi: bytes | None = None,
    interface: bool = True,
    bounds: Bounds | None = None,
    origins: Sequence[str] = (),
    https: bool = False,
) -> FastAPI:
    """The service. `opening` is entered at the start and left at the end of the process.

    `edge`: routes of other parts, outside the interface. `asyncapi`: the document of the log, in JSON, to be
    shown at /asyncapi.json. Not `interface`: a process that only works answers how it is, and nothing else.
    `origins`: web pages from there may ask (`*`: from anywhere). `https`: what stands before it speaks TLS.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with opening() as serving:
            app.state.recollect = serving
            try:
                yield
            finally:
                await endpoint.close()

    app = FastAPI(
        title="recollect",
        version=VERSION,
        lifespan=lifespan,
        redirect_slashes=False,
        strict_content_type=_STRICT,
        docs_url=None,
        redoc_url=None,
    )
    if interface:
        app.router.routes.extend(_interface())
    app.state.mcp = endpoint = mcp.Endpoint(app, origins)
    if interface:
        app.include_router(pages.router())
        app.include_router(mcp.router)
    app.include_router(health.router)
    app.router.routes.extend(edge)
    if asyncapi is not None:
        app.include_router(log.router(asyncapi))
    app.add_middleware(Gate, bounds=bounds or Bounds())
    app.add_middleware(errors.Edge, hardening=Hardening(https=https))
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=["*"],
            allow_headers=["*"],
            expose_headers=["x-request-id", "retry-after", "ratelimit", "ratelimit-policy"],
        )
    errors.install(app)
    openapi.install(app)
    return app


@cache
def _interface() -> list[BaseRoute]:
    """Worked out once in a process: FastAPI would do it again for each application, at its first request."""
    routes = APIRouter(strict_content_type=_STRICT)
    for part in _INTERFACE:
        routes.include_router(part.router)
    return routes.routes
