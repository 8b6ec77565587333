"""AsyncAPI document of the log (extension of the contract, public)."""

from fastapi import APIRouter
from starlette.responses import Response


def router(asyncapi: bytes) -> APIRouter:
    """Build the route of /asyncapi.json."""
    routes = APIRouter(include_in_schema=False)

    @routes.api_route("/asyncapi.json", methods=["GET", "HEAD"])
    async def document() -> Response:
        return Response(asyncapi, media_type="application/json")

    return routes
