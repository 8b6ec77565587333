"""Search, profiles and their buckets."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from api.auth import Reader, Writer
from api.contract import ContractRoute, failures
from api.queries import namespaces
from api.queries.markdown import profile_markdown
from schemas.http.profile import (
    BucketsAnswer,
    DeleteBucketsBody,
    Profile,
    ProfileAnswer,
    ProfileBody,
    SetBucketsBody,
)
from schemas.http.search import SearchAnswer, SearchBody

router = APIRouter(route_class=ContractRoute, prefix="/ns/{namespace}")


@router.post(
    "/search",
    tags=["Recall (Search)"],
    operation_id="postNsByNamespaceSearch",
    responses=failures(400, 401, 402, 403, 500),
    response_model=SearchAnswer,
)
async def search(access: Reader, body: SearchBody) -> Response:
    """Memories and passages that answer a question, best first."""
    access.require("searches")
    namespace = access.state.catalog.namespace(access.namespace)
    answer = SearchAnswer(results=[], search_time=0.0)
    if namespace is not None:
        answer = await access.state.search(namespace, body)
    access.count(searches=1)
    # As it is: what was made of checked parts need not be checked as a whole.
    content = answer.model_dump_json(by_alias=True, exclude_unset=True)
    return Response(content, media_type="application/json")


@router.post(
    "/profile",
    tags=["Profiles"],
    operation_id="postNsByNamespaceProfile",
    responses={
        200: {"content": {"text/markdown": {"schema": {"type": "string"}}}},
        **failures(400, 401, 403, 500),
    },
    response_model=ProfileAnswer,
)
async def profile(
    request: Request, access: Reader, body: ProfileBody | None = None
) -> ProfileAnswer | Response:
    """What is known, in sections; as a Markdown document where that is preferred."""
    state = access.state
    namespace = state.catalog.namespace(access.namespace)
    found = Profile(static=[], dynamic=[], buckets={name: [] for name in (body and body.buckets) or []})
    if namespace is not None:
        found = await state.profile(namespace, state.catalog.organization(), body or ProfileBody())
    if _prefers_markdown(request.headers.get("accept", "")):
        return Response(profile_markdown(access.namespace, found), media_type="text/markdown")
    return ProfileAnswer(profile=found)


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


@router.get(
    "/profile/buckets",
    tags=["Profiles"],
    operation_id="getNsByNamespaceProfileBuckets",
    responses=failures(400, 401, 403),
)
async def get_buckets(access: Reader) -> BucketsAnswer:
    """The buckets in effect."""
    catalog = access.state.catalog
    row = catalog.namespace(access.namespace)
    return BucketsAnswer(buckets=namespaces.effective_buckets(row, catalog.organization()))


@router.put(
    "/profile/buckets",
    tags=["Profiles"],
    operation_id="putNsByNamespaceProfileBuckets",
    responses=failures(400, 401, 403, 404, 409, 500),
)
async def set_buckets(access: Writer, body: SetBucketsBody) -> BucketsAnswer:
    """Add or redefine buckets of the namespace."""
    buckets = await namespaces.set_buckets(access.state, access.namespace, body.buckets)
    return BucketsAnswer(buckets=buckets)


@router.delete(
    "/profile/buckets",
    tags=["Profiles"],
    operation_id="deleteNsByNamespaceProfileBuckets",
    responses=failures(400, 401, 403, 404, 409, 500),
)
async def delete_buckets(access: Writer, body: DeleteBucketsBody) -> BucketsAnswer:
    """Remove buckets of the namespace."""
    buckets = await namespaces.delete_buckets(access.state, access.namespace, body.buckets)
    return BucketsAnswer(buckets=buckets)
