"""Namespaces: list, read, describe, delete and move."""

from fastapi import APIRouter, Response

from api.auth import Anyone, Entry, Reader, Writer, require_write
from api.contract import ContractRoute, failures
from api.options import MoveTo, NameQuery, PageLimit, PageNumber
from api.queries import namespaces, present
from schemas.http.namespaces import (
    NamespaceDeleted,
    NamespaceDetails,
    NamespaceMoving,
    NamespacePatch,
    NamespacesAnswer,
)
from schemas.http.pagination import pagination
from schemas.http.parts import Maybe

router = APIRouter(route_class=ContractRoute, tags=["Namespaces"])

_LIST = failures(400, 401, 403, 500)
_ONE = failures(400, 401, 403, 404, 500)


@router.get("/ns", operation_id="getNs", responses=_LIST)
async def list_ns(
    entry: Anyone, page: PageNumber = 1, limit: PageLimit = 10, q: Maybe[NameQuery] = None
) -> NamespacesAnswer:
    """The namespaces that the key may read, newest first."""
    return await _listed(entry, page, limit, q)


@router.get("/namespaces", operation_id="getNamespaces", responses=_LIST)
async def list_namespaces(
    entry: Anyone, page: PageNumber = 1, limit: PageLimit = 10, q: Maybe[NameQuery] = None
) -> NamespacesAnswer:
    """The same as /ns."""
    return await _listed(entry, page, limit, q)


async def _listed(entry: Entry, page: int, limit: int, q: str | None) -> NamespacesAnswer:
    wanted = (q or "").lower()
    rows = [row for row in namespaces.readable(entry.state, entry.principal) if wanted in row.name.lower()]
    shown = rows[(page - 1) * limit : page * limit]
    spaces = [space for row in shown for space in row.spaces]
    documents = entry.state.documents.count(spaces)
    memories = entry.state.memories.count(spaces)
    return NamespacesAnswer(
        namespaces=[
            present.listed_namespace(
                row,
                sum(documents.get(space, 0) for space in row.spaces),
                sum(memories.get(space, 0) for space in row.spaces),
            )
            for row in shown
        ],
        pagination=pagination(page, limit, len(rows)),
    )


@router.get("/ns/{namespace}", operation_id="getNsByNamespace", responses=_ONE)
async def get(access: Reader) -> NamespaceDetails:
    """A namespace's settings."""
    return present.namespace(namespaces.existing(access.state, access.namespace))


@router.patch("/ns/{namespace}", operation_id="patchNsByNamespace", responses=_ONE)
async def update(access: Writer, body: NamespacePatch) -> NamespaceDetails:
    """Set or clear what guides memory in this namespace."""
    row = await namespaces.described(access.state, access.namespace, body.supporting_context)
    return present.namespace(row)


@router.delete(
    "/ns/{namespace}",
    operation_id="deleteNsByNamespace",
    response_model=NamespaceDeleted | NamespaceMoving,
    responses={202: {"model": NamespaceMoving, "description": ""}, **failures(400, 401, 403, 404, 409, 500)},
)
async def delete(
    response: Response,
    access: Writer,
    moveTo: Maybe[MoveTo] = None,  # noqa: N803 - the contract's name
) -> NamespaceDeleted | NamespaceMoving:
    """Delete the namespace for good, or hand its content to another one."""
    if moveTo is None:
        counts = await namespaces.deleted(access.state, access.namespace)
        access.note(documents=counts.documents, memories=counts.memories)
        return NamespaceDeleted(
            status="deleted",
            namespace=access.namespace,
            deleted_documents_count=counts.documents,
            deleted_memories_count=counts.memories,
        )
    require_write(access.principal, moveTo)
    operation = await namespaces.moved(access.state, access.namespace, moveTo)
    response.status_code = 202
    return NamespaceMoving(
        status="queued", operation_id=operation, namespace=access.namespace, move_to=moveTo
    )
