"""Lists of documents, chunks and memories."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from api.auth import Access, Reader
from api.contract import ContractRoute, failures
from api.options import PageLimit, PageNumber
from api.problems import BadRequestError
from api.queries import lists
from schemas.http.listing import (
    CountsAnswer,
    CountsBody,
    ListAnswer,
    ListBody,
    ListOrder,
    ListSort,
    ListType,
    MemoryCount,
)

router = APIRouter(route_class=ContractRoute, prefix="/ns/{namespace}/list", tags=["Content Management"])


# Before /{type}, which would take its first part for a type.
@router.post(
    "/documents/memory-counts",
    operation_id="postNsByNamespaceListDocumentsMemoryCounts",
    responses=failures(400, 401, 403, 500),
)
async def memory_counts(access: Reader, body: CountsBody) -> CountsAnswer:
    """How many memories documents support; unknown documents are left out."""
    counts = await lists.memory_counts(access.state, access.namespace, body.ids)
    return CountsAnswer(counts=[MemoryCount(id=one, memory_count=count) for one, count in counts.items()])


@router.post(
    "/{type}",
    operation_id="postNsByNamespaceListByType",
    responses=failures(400, 401, 403, 500),
    response_model_exclude_unset=True,
)
async def list_items(  # noqa: PLR0917 - each is an option of the contract
    access: Reader,
    type: Annotated[ListType, Path()],
    page: PageNumber = 1,
    limit: PageLimit = 10,
    sort: Annotated[ListSort, Query()] = "createdAt",
    order: Annotated[ListOrder, Query()] = "desc",
    body: ListBody | None = None,
) -> ListAnswer:
    """A page of one kind of item; the other two lists are empty."""
    if sort == "position" and type != "chunks":
        raise BadRequestError("Only chunks have a position", f"Sort {type} by createdAt or updatedAt.")
    view = lists.View(page=page, limit=limit, sort=sort, descending=order == "desc", body=body or ListBody())
    return await _listed(access, type, view)


async def _listed(access: Access, type: ListType, view: "lists.View") -> ListAnswer:
    match type:
        case "documents":
            return await lists.documents(access.state, access.namespace, view)
        case "chunks":
            return await lists.chunks(access.state, access.namespace, view)
        case "memories":
            return await lists.memories(access.state, access.namespace, view)
