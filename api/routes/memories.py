"""Memories: read and forget."""

from typing import Annotated

from fastapi import APIRouter, Query

from api.auth import Reader, Writer
from api.contract import ContractRoute, failures
from api.options import MemoryParts, ResourcePath
from api.problems import NotFoundError
from api.queries import forget, present
from schemas.http.memories import ForgetAnswer, ForgetBody, ForgetMatchingBody, MemoryDetails
from schemas.limits import RELATED_LIMIT

router = APIRouter(route_class=ContractRoute, prefix="/ns/{namespace}/memories", tags=["Content Management"])


@router.get(
    "/{id:path}",
    operation_id="getNsByNamespaceMemoriesById",
    responses=failures(400, 401, 403, 404, 500),
    response_model_exclude_unset=True,
)
async def get(
    access: Reader,
    id: ResourcePath,
    include: MemoryParts,
    relatedLimit: Annotated[int, Query(ge=1, le=RELATED_LIMIT)] = 10,  # noqa: N803 - the contract's name
) -> MemoryDetails:
    """A memory, with its versions and relations if asked for."""
    state = access.state
    namespace = state.catalog.namespace(access.namespace)
    rows = (await state.memories.get([id])).get(id, [])
    if namespace is None or not rows or rows[0].space not in namespace.spaces:
        raise NotFoundError("Memory not found", f"There is no memory {id[:100]!r} in {access.namespace}.")
    sources = await state.documents.get(rows[0].sources)
    by_key = {key: found[0] for key, found in sources.items() if found}
    details = MemoryDetails(**dict(present.memory(rows[0], by_key)))
    if include:
        details.included = await state.related(namespace, rows[0], include=include, limit=relatedLimit)
    return details


@router.delete("", operation_id="deleteNsByNamespaceMemories", responses=failures(400, 401, 403, 500))
async def forget_ids(access: Writer, body: ForgetBody) -> ForgetAnswer:
    """Hide memories from recall; their history stays."""
    return await forget.by_ids(access.state, access.namespace, body.ids)


@router.delete(
    "/semantic", operation_id="deleteNsByNamespaceMemoriesSemantic", responses=failures(400, 401, 403, 500)
)
async def forget_matching(access: Writer, body: ForgetMatchingBody) -> ForgetAnswer:
    """Forget what a description means, or show what would be forgotten."""
    return await forget.by_meaning(access.state, access.namespace, body.query, dry_run=body.dry_run)
