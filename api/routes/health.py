"""How the service is. Outside the contract, and open to all."""

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from api.auth import Parts

router = APIRouter(include_in_schema=False)


@router.api_route("/health", methods=["GET", "HEAD"])
async def health() -> dict[str, str]:
    """The process answers."""
    return {"status": "ok"}


@router.api_route("/ready", methods=["GET", "HEAD"])
async def ready(state: Parts) -> Response:
    """The log can be asked, so requests can be served."""
    lag = await state.lag()
    return JSONResponse({"status": "ready", "lag": dict(lag)})


@router.get("/metrics")
async def metrics(request: Request, state: Parts) -> Response:
    """A few numbers in the text format of Prometheus."""
    lines = ["# TYPE recollect_requests_total counter"]
    answered: dict[int, int] = request.app.state.answered
    lines += [f'recollect_requests_total{{status="{code}"}} {n}' for code, n in sorted(answered.items())]
    lines.append("# TYPE recollect_lag_records gauge")
    lines += [
        f'recollect_lag_records{{group="{group}"}} {n}' for group, n in sorted((await state.lag()).items())
    ]
    lines += ["# TYPE recollect_namespaces gauge", f"recollect_namespaces {len(state.catalog.namespaces())}"]
    spaces = [space for row in state.catalog.namespaces() for space in row.spaces]
    documents = sum(state.documents.count(spaces).values())
    lines += ["# TYPE recollect_documents gauge", f"recollect_documents {documents}"]
    return Response("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")
