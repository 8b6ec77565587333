"""How the service is. Outside the contract, and open to all."""

from collections import Counter

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response

from api.auth import Parts
from api.errors import RETRY_SECONDS
from pipeline.errors import OutageError

router = APIRouter(include_in_schema=False)
EXPOSITION = "text/plain; version=1.0.0; charset=utf-8"


@router.api_route("/health", methods=["GET", "HEAD"])
async def health() -> dict[str, str]:
    """The process answers."""
    return {"status": "ok"}


@router.api_route("/ready", methods=["GET", "HEAD"])
async def ready(state: Parts) -> Response:
    """Whether every part works; 503 says which does not, and why."""
    troubles = await state.health.troubles()
    reasons = [{"part": trouble.part, "reason": trouble.reason} for trouble in troubles]
    lag: Counter[str] = Counter()
    try:
        for (group, _), count in (await state.health.lag()).items():
            lag[group] += count
    except OutageError as error:
        if not any(reason["part"] == "bus" for reason in reasons):
            reasons.append({"part": "bus", "reason": str(error)})
    body = {"status": "not ready" if reasons else "ready", "reasons": reasons, "lag": dict(lag)}
    headers = {"retry-after": str(RETRY_SECONDS)} if reasons else None
    return JSONResponse(body, 503 if reasons else 200, headers)


@router.get("/metrics")
async def metrics(state: Parts) -> Response:
    """For Prometheus."""
    return Response(await state.health.exposition(), media_type=EXPOSITION)
