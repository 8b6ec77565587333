"""Why: where results come from, and what their scores are made of. Outside the contract."""

from fastapi import APIRouter

from api.auth import Access, Reader
from api.contract import ContractRoute, failures
from api.options import DocumentPath, ResourcePath
from api.problems import NotFoundError
from pipeline.rows import NamespaceRow
from schemas.http.explain import (
    ExplainedChunk,
    ExplainedDocument,
    ExplainedMemory,
    ExplainedProfile,
    ExplainedSearch,
    ExplainProfileBody,
    ExplainSearchBody,
)

router = APIRouter(route_class=ContractRoute, prefix="/ns/{namespace}/explain", tags=["Why"])

_QUESTION = failures(400, 401, 402, 403, 500)
_ONE = failures(400, 401, 403, 404, 500, 503)


@router.post(
    "/search",
    operation_id="postNsByNamespaceExplainSearch",
    responses=_QUESTION,
    response_model_exclude_unset=True,
)
async def search(access: Reader, body: ExplainSearchBody) -> ExplainedSearch:
    """The answer of a search, now or at a past moment, each result with what its score is made of."""
    access.require("searches")
    answer = await access.state.explaining.search(access.state.catalog.namespace(access.namespace), body)
    access.count(searches=1)
    return answer


@router.post(
    "/profile",
    operation_id="postNsByNamespaceExplainProfile",
    responses=_QUESTION,
    response_model_exclude_unset=True,
)
async def profile(access: Reader, body: ExplainProfileBody | None = None) -> ExplainedProfile:
    """The profile, now or at a past moment, each fact with the memories it is made of."""
    catalog = access.state.catalog
    return await access.state.explaining.profile(
        catalog.namespace(access.namespace), catalog.organization(), body or ExplainProfileBody()
    )


@router.get(
    "/documents/{id:path}",
    operation_id="getNsByNamespaceExplainDocumentsById",
    responses=_ONE,
    response_model_exclude_unset=True,
)
async def document(access: Reader, id: DocumentPath) -> ExplainedDocument:
    """What was done to a document, and what became of it."""
    return await access.state.origins.document(_namespace(access), id)


@router.get(
    "/chunks/{id:path}",
    operation_id="getNsByNamespaceExplainChunksById",
    responses=_ONE,
    response_model_exclude_unset=True,
)
async def chunk(access: Reader, id: ResourcePath) -> ExplainedChunk:
    """The passage in its document, and the events that made it."""
    return await access.state.origins.chunk(_namespace(access), id)


@router.get(
    "/memories/{id:path}",
    operation_id="getNsByNamespaceExplainMemoriesById",
    responses=_ONE,
    response_model_exclude_unset=True,
)
async def memory(access: Reader, id: ResourcePath) -> ExplainedMemory:
    """Who states a memory, since when, and how it stands to others."""
    return await access.state.origins.memory(_namespace(access), id)


def _namespace(access: Access) -> NamespaceRow:
    namespace = access.state.catalog.namespace(access.namespace)
    if namespace is None:
        raise NotFoundError("Namespace not found", f"There is no namespace {access.namespace}.")
    return namespace
