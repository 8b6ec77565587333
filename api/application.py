"""Application factory."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute

from api.console import static_files as console
from api.dependencies.app_state import CurrentAppState
from api.documentation import static_files as documentation
from api.mcp import streamable_http_transport as mcp
from api.middleware import exception_handlers
from api.middleware.admission_control import AdmissionControlMiddleware, RequestLimits
from api.middleware.request_middleware import RequestMiddleware
from api.openapi.document import install_openapi
from api.routes.extensions import (
    api_key_routes,
    audit_log_routes,
    connector_admin_routes,
    correction_routes,
    erasure_routes,
    explain_routes,
    export_import_routes,
    feed_routes,
    health_routes,
    operations_routes,
    page_routes,
    question_routes,
    replay_routes,
)
from api.routes.v3_v4 import connection_routes, container_tag_routes, search_routes, settings_routes
from api.routes.v3_v4 import document_routes as v3_document_routes
from api.routes.v3_v4 import memory_routes as v4_memory_routes
from api.routes.v5 import (
    connector_routes,
    document_routes,
    feedback_routes,
    list_routes,
    memory_routes,
    namespace_routes,
    search_and_profile_routes,
)

_API_ROUTERS = (
    search_and_profile_routes,
    document_routes,
    list_routes,
    memory_routes,
    explain_routes,
    page_routes,
    correction_routes,
    namespace_routes,
    connector_routes,
    feedback_routes,
    api_key_routes,
    operations_routes,
    erasure_routes,
    connector_admin_routes,
    replay_routes,
    export_import_routes,
    audit_log_routes,
    feed_routes,
    question_routes,
    search_routes,
    v3_document_routes,
    v4_memory_routes,
    container_tag_routes,
    settings_routes,
    connection_routes,
)
"""Routers in matching order, the most used first: Starlette tests routes one after the other.

Their routes are taken as they are: FastAPI would build the schemas of an included router's a second time, at the
first request.
"""
OpenState = Callable[[], AbstractAsyncContextManager[CurrentAppState]]


def create_app(
    open_state: OpenState,
    extra_routes: Sequence[BaseRoute] = (),
    *,
    asyncapi: bytes | None = None,
    site: Path | None = None,
    serve_api: bool = True,
    limits: RequestLimits | None = None,
    cors_origins: Sequence[str] = (),
    public_url: str | None = None,
) -> FastAPI:
    """Create the service's ASGI application.

    `open_state`: entered when the process starts, left when it ends. `extra_routes`: routes outside the API,
    such as webhooks. `asyncapi`: the AsyncAPI document in JSON, served at /asyncapi.json. `site`: folder of
    the built documentation, if there is one. `serve_api` False:
    only health, readiness and metrics, for worker processes. `cors_origins`: origins allowed to call the API
    from a browser (`*`: any). `public_url`: address that the service is reached at, if that is known.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_state() as serving:
            app.state.recollect = serving
            try:
                yield
            finally:
                await endpoint.close()

    app = FastAPI(
        title="recollect",
        version=version("recollect"),
        lifespan=lifespan,
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
    )
    if serve_api:
        app.router.routes.extend(route for part in _API_ROUTERS for route in part.router.routes)
    app.state.mcp = endpoint = mcp.McpEndpoint(app, cors_origins)
    if serve_api:
        for router in (console.router(), documentation.router(site), mcp.router):
            app.router.routes.extend(router.routes)
    app.router.routes.extend(health_routes.router.routes)
    app.router.routes.extend(extra_routes)
    if asyncapi is not None:
        app.router.routes.extend(health_routes.asyncapi_router(asyncapi).routes)
    app.add_middleware(AdmissionControlMiddleware, limits=limits or RequestLimits())
    https = public_url is not None and public_url.startswith("https://")
    app.add_middleware(RequestMiddleware, https=https)
    if cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=cors_origins,
            allow_methods=["*"],
            allow_headers=["*"],
            allow_private_network=True,
            expose_headers=["x-request-id", "retry-after", "ratelimit", "ratelimit-policy", "x-recollect-stale"],
        )
    exception_handlers.install_exception_handlers(app)
    install_openapi(app, public_url)
    return app
