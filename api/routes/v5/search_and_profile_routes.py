"""Search, profile and bucket routes."""

from collections.abc import Sequence

from fastapi import APIRouter, Request
from starlette.responses import Response

from api.commands import namespace_settings
from api.dependencies.app_state import AppState
from api.dependencies.authentication import ReadAccess, WriteAccess
from api.presenters.profile_markdown import render_profile
from api.routes.contract_route import ContractRoute, error_responses
from pipeline.memory.versioning.fact_comparison import parse_valid_time
from pipeline.profile.bucket_classifier import effective_buckets
from schemas.http.v5 import profile_bodies as bodies
from schemas.http.v5.search_bodies import SearchBody, SearchResponse

router = APIRouter(route_class=ContractRoute, prefix="/ns/{namespace}")


@router.post(
    "/search",
    tags=["Recall (Search)"],
    responses=error_responses(400, 401, 402, 403, 500),
    response_model=SearchResponse,
)
async def search(access: ReadAccess, body: SearchBody) -> Response:
    """Search memories and chunks, best first."""
    access.require_quota("searches")
    namespace = access.state.catalog.namespace(access.namespace)
    answer = SearchResponse(results=[], search_time=0.0)
    if namespace is not None:
        answer = await access.state.queries.search(namespace, body)
    access.count_usage(searches=1)
    # Serialized directly: validating the response model again costs time and finds nothing.
    content = answer.model_dump_json(by_alias=True, exclude_unset=True)
    return Response(content, media_type="application/json")


@router.post(
    "/profile",
    tags=["Profiles"],
    responses={
        200: {"content": {"text/markdown": {"schema": {"type": "string"}}}},
        **error_responses(400, 401, 403, 500),
    },
    response_model=bodies.ProfileResponse,
)
async def profile(
    request: Request, access: ReadAccess, body: bodies.ProfileBody | None = None
) -> bodies.ProfileResponse | Response:
    """Return the profile in sections; as Markdown if the Accept header prefers it."""
    state = access.state
    namespace = state.catalog.namespace(access.namespace)
    answer = bodies.Profile(static=[], dynamic=[], buckets={name: [] for name in (body and body.buckets) or []})
    if namespace is not None:
        answer = await state.queries.build_profile(
            namespace, state.catalog.organization(), body or bodies.ProfileBody()
        )
    if _prefers_markdown(request.headers.get("accept", "")):
        page = render_profile(access.namespace, answer, await _days_of(state, answer.dynamic))
        return Response(page, media_type="text/markdown")
    return bodies.ProfileResponse(profile=answer)


async def _days_of(state: AppState, facts: Sequence[bodies.ProfileFact]) -> dict[str, str]:
    """Return by id the days of what is going on now; a fact of several memories has none."""
    rows = await state.memories_by_id([fact.id for fact in facts])
    return {id_: parse_valid_time(row.date, row.updated_at).date().isoformat() for id_, row in rows.items()}


def _prefers_markdown(accept: str) -> bool:
    weights = {"text/markdown": 0.0, "application/json": 0.0}
    for part in accept.lower().split(","):
        kind, *options = (piece.strip() for piece in part.split(";"))
        if kind in weights:
            weights[kind] = _weight(options)
    return weights["text/markdown"] > weights["application/json"]


def _weight(options: list[str]) -> float:
    given = next((option[2:] for option in options if option.startswith("q=")), "1")
    try:
        return float(given)
    except ValueError:
        return 0.0


@router.get("/profile/buckets", tags=["Profiles"], responses=error_responses(400, 401, 403))
async def get_buckets(access: ReadAccess) -> bodies.BucketsResponse:
    """Return the effective buckets."""
    catalog = access.state.catalog
    row = catalog.namespace(access.namespace)
    return bodies.BucketsResponse(buckets={} if row is None else effective_buckets(row, catalog.organization()))


@router.put("/profile/buckets", tags=["Profiles"], responses=error_responses(400, 401, 403, 404, 409, 500))
async def set_buckets(access: WriteAccess, body: bodies.SetBucketsBody) -> bodies.BucketsResponse:
    """Add or redefine buckets of the namespace."""
    buckets = await namespace_settings.set_buckets(access.state, access.namespace, body.buckets)
    return bodies.BucketsResponse(buckets=buckets)


@router.delete("/profile/buckets", tags=["Profiles"], responses=error_responses(400, 401, 403, 404, 409, 500))
async def delete_buckets(access: WriteAccess, body: bodies.DeleteBucketsBody) -> bodies.BucketsResponse:
    """Remove buckets of the namespace."""
    buckets = await namespace_settings.delete_buckets(access.state, access.namespace, body.buckets)
    return bodies.BucketsResponse(buckets=buckets)
