"""List routes of documents, chunks and memories."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from api.dependencies.authentication import NamespaceAccess, ReadAccess
from api.dependencies.path_and_query_parameters import PageLimit, PageNumber
from api.errors.http_errors import BadRequestError
from api.reads import list_pages
from api.routes.contract_route import ContractRoute
from schemas.http.v5 import list_bodies as bodies

router = APIRouter(route_class=ContractRoute, prefix="/ns/{namespace}/list", tags=["Content Management"])


# Declared before /{type}, which would match it too.
@router.post("/documents/memory-counts")
async def memory_counts(access: ReadAccess, body: bodies.MemoryCountsBody) -> bodies.MemoryCountsResponse:
    """Count the memories that documents support; unknown documents are left out."""
    counts = await list_pages.memory_counts(access.state, access.namespace, body.ids)
    return bodies.MemoryCountsResponse(
        counts=[bodies.MemoryCount(id=document_id, memory_count=count) for document_id, count in counts.items()]
    )


@router.post("/{type}", response_model_exclude_unset=True)
async def list_items(  # noqa: PLR0917 - each is an option of the contract
    access: ReadAccess,
    type: Annotated[bodies.ListType, Path()],
    page: PageNumber = 1,
    limit: PageLimit = 10,
    sort: Annotated[bodies.ListSort, Query()] = "createdAt",
    order: Annotated[bodies.ListOrder, Query()] = "desc",
    body: bodies.ListBody | None = None,
) -> bodies.ListResponse:
    """List a page of one type; the lists of the other two types are empty."""
    if sort == "position" and type != "chunks":
        raise BadRequestError("Only chunks have a position", f"Sort {type} by createdAt or updatedAt.")
    query = list_pages.ListQuery(
        page=page, limit=limit, sort=sort, descending=order == "desc", body=body or bodies.ListBody()
    )
    return await _list_page(access, type, query)


async def _list_page(
    access: NamespaceAccess, type: bodies.ListType, query: "list_pages.ListQuery"
) -> bodies.ListResponse:
    match type:
        case "documents":
            return await list_pages.list_documents(access.state, access.namespace, query)
        case "chunks":
            return await list_pages.list_chunks(access.state, access.namespace, query)
        case "memories":
            return await list_pages.list_memories(access.state, access.namespace, query)
