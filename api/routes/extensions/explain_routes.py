"""Explanations of results, scores and origins (extension of the contract)."""

from fastapi import APIRouter

from api.dependencies.authentication import NamespaceAccess, ReadAccess
from api.dependencies.path_and_query_parameters import DocumentPath, ResourcePath
from api.errors.http_errors import NotFoundError
from api.routes.contract_route import ContractRoute, error_responses
from pipeline.rows import NamespaceRow
from schemas.http.extensions.explain_bodies import (
    ExplainedChunk,
    ExplainedDocument,
    ExplainedMemory,
    ExplainedProfile,
    ExplainedSearch,
    ExplainProfileBody,
    ExplainSearchBody,
)

router = APIRouter(route_class=ContractRoute, prefix="/ns/{namespace}/explain", tags=["Why"])

_QUERY_ERRORS = error_responses(400, 401, 402, 403, 500)
_ITEM_ERRORS = error_responses(400, 401, 403, 404, 500, 503)


@router.post("/search", responses=_QUERY_ERRORS, response_model_exclude_unset=True)
async def search(access: ReadAccess, body: ExplainSearchBody) -> ExplainedSearch:
    """Search now or at a past time, with the score contributions of each result."""
    access.require_quota("searches")
    answer = await access.state.queries.explainer.search(access.state.catalog.namespace(access.namespace), body)
    access.count_usage(searches=1)
    return answer


@router.post("/profile", responses=_QUERY_ERRORS, response_model_exclude_unset=True)
async def profile(access: ReadAccess, body: ExplainProfileBody | None = None) -> ExplainedProfile:
    """Return the profile now or at a past time, with the memories behind each fact."""
    catalog = access.state.catalog
    return await access.state.queries.explainer.profile(
        catalog.namespace(access.namespace), catalog.organization(), body or ExplainProfileBody()
    )


@router.get("/documents/{id:path}", responses=_ITEM_ERRORS, response_model_exclude_unset=True)
async def document(access: ReadAccess, id: DocumentPath) -> ExplainedDocument:
    """Explain how a document was processed."""
    return await access.state.queries.provenance.document(_require_namespace(access), id)


@router.get("/chunks/{id:path}", responses=_ITEM_ERRORS, response_model_exclude_unset=True)
async def chunk(access: ReadAccess, id: ResourcePath) -> ExplainedChunk:
    """Explain a chunk: its span in the document and its events."""
    return await access.state.queries.provenance.chunk(_require_namespace(access), id)


@router.get("/memories/{id:path}", responses=_ITEM_ERRORS, response_model_exclude_unset=True)
async def memory(access: ReadAccess, id: ResourcePath) -> ExplainedMemory:
    """Explain a memory: its supporting statements and its relations."""
    return await access.state.queries.provenance.memory(_require_namespace(access), id)


def _require_namespace(access: NamespaceAccess) -> NamespaceRow:
    namespace = access.state.catalog.namespace(access.namespace)
    if namespace is None:
        raise NotFoundError("Namespace not found", f"There is no namespace {access.namespace}.")
    return namespace
