"""Memory routes: read and forget."""

from typing import Annotated

from fastapi import APIRouter, Query

from api.commands import memory_forgetting
from api.dependencies.authentication import ForgetAndReadAccess, ReadAccess
from api.dependencies.path_and_query_parameters import MemoryIncludes, ResourcePath
from api.presenters import resource_presenter
from api.routes.contract_route import ContractRoute, error_responses
from schemas.http.v5.memory_bodies import ForgetBody, ForgetResponse, MemoryDetails, SemanticForgetBody
from schemas.limits import MAX_RELATED_MEMORIES

router = APIRouter(route_class=ContractRoute, prefix="/ns/{namespace}/memories", tags=["Content Management"])


@router.get("/{id:path}", responses=error_responses(400, 401, 403, 404, 500), response_model_exclude_unset=True)
async def get(
    access: ReadAccess,
    id: ResourcePath,
    include: MemoryIncludes,
    relatedLimit: Annotated[int, Query(ge=1, le=MAX_RELATED_MEMORIES)] = 10,  # noqa: N803 - the contract's name
) -> MemoryDetails:
    """Return a memory, with its versions and relations on request."""
    state = access.state
    row = await state.require_memory(access.namespace, id)
    sources = await state.documents_by_key(row.sources)
    details = MemoryDetails(**dict(resource_presenter.memory_response(row, sources)))
    namespace = state.catalog.namespace(access.namespace)
    if include and namespace is not None:
        details.included = await state.queries.find_related(namespace, row, include=include, limit=relatedLimit)
    return details


@router.delete("")
async def forget_ids(access: ForgetAndReadAccess, body: ForgetBody) -> ForgetResponse:
    """Forget memories: they are hidden from recall, their history is kept."""
    return await memory_forgetting.forget_by_ids(access.state, access.namespace, body.ids)


@router.delete("/semantic")
async def forget_by_query(access: ForgetAndReadAccess, body: SemanticForgetBody) -> ForgetResponse:
    """Forget the memories that match a description, or preview them."""
    return await memory_forgetting.forget_by_query(access.state, access.namespace, body.query, dry_run=body.dry_run)
