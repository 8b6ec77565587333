"""Liveness, readiness, metrics and the AsyncAPI document (extension of the contract, public)."""

from collections import Counter

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response

from api.dependencies.authentication import AppStateDependency
from api.middleware.exception_handlers import DEFAULT_RETRY_AFTER_SECONDS
from pipeline.errors import OutageError
from pipeline.health import with_bus_issue

router = APIRouter(include_in_schema=False)
EXPOSITION_CONTENT_TYPE = "text/plain; version=1.0.0; charset=utf-8"


@router.api_route("/health", methods=["GET", "HEAD"])
async def health() -> dict[str, str]:
    """Report that the process answers."""
    return {"status": "ok"}


@router.api_route("/ready", methods=["GET", "HEAD"])
async def ready(state: AppStateDependency) -> Response:
    """Report whether every component works; 503 with the reasons otherwise."""
    issues = await state.health.health_issues()
    lag: Counter[str] = Counter()
    try:
        for (group, _), count in (await state.health.lag()).items():
            lag[group] += count
    except OutageError as error:
        issues = with_bus_issue(issues, error)
    reasons = [{"part": issue.component, "reason": issue.reason} for issue in issues]
    body = {"status": "not ready" if reasons else "ready", "reasons": reasons, "lag": dict(lag)}
    headers = {"retry-after": str(DEFAULT_RETRY_AFTER_SECONDS)} if reasons else None
    return JSONResponse(body, 503 if reasons else 200, headers)


@router.get("/metrics")
async def metrics(state: AppStateDependency) -> Response:
    """Return metrics in the Prometheus text format."""
    return Response(await state.health.exposition(), media_type=EXPOSITION_CONTENT_TYPE)


def asyncapi_router(asyncapi: bytes) -> APIRouter:
    routes = APIRouter(include_in_schema=False)

    @routes.api_route("/asyncapi.json", methods=["GET", "HEAD"])
    async def document() -> Response:
        return Response(asyncapi, media_type="application/json")

    return routes
