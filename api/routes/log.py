"""What is on the log, for whoever reads it besides the service. Outside the contract, and open to all."""

from fastapi import APIRouter
from starlette.responses import Response


def router(asyncapi: bytes) -> APIRouter:
    """Shows the AsyncAPI document at /asyncapi.json."""
    routes = APIRouter(include_in_schema=False)

    @routes.api_route("/asyncapi.json", methods=["GET", "HEAD"])
    async def document() -> Response:
        return Response(asyncapi, media_type="application/json")

    return routes
