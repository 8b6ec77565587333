"""List routes of documents, chunks and memories; an unknown namespace has empty pages."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from api.dependencies.app_state import AppState
from api.dependencies.authentication import ReadAccess
from api.dependencies.path_and_query_parameters import PageLimit, PageNumber
from api.errors.http_errors import BadRequestError
from api.presenters import resource_presenter
from api.routes.contract_route import ContractRoute
from schemas.filters import FilterExpression
from schemas.http.pagination import paginate
from schemas.http.v5 import list_bodies as bodies

router = APIRouter(route_class=ContractRoute, prefix="/ns/{namespace}/list", tags=["Content Management"])

_Page = tuple[int, list[Any]]
"""Number of all items, and those of a page."""


# Declared before /{type}, which would match it too.
@router.post("/documents/memory-counts")
async def memory_counts(access: ReadAccess, body: bodies.MemoryCountsBody) -> bodies.MemoryCountsResponse:
    """Count the memories that documents support; unknown documents are left out."""
    ids = dict.fromkeys(body.ids)
    rows = await access.state.find_documents(access.namespace, list(ids))
    counts = await access.state.memories.count_by_document([row.key for row in rows.values()])
    return bodies.MemoryCountsResponse(
        counts=[
            bodies.MemoryCount(id=document_id, memory_count=counts.get(rows[document_id].key, 0))
            for document_id in ids
            if document_id in rows
        ]
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
    incarnations = access.state.incarnations_of(access.namespace)
    total, lists = 0, {"documents": list[Any](), "chunks": list[Any](), "memories": list[Any]()}
    if incarnations:
        place = {"sort": sort, "descending": order == "desc", "offset": (page - 1) * limit, "limit": limit}
        total, lists[type] = await _LISTS[type](access.state, incarnations, body or bodies.ListBody(), place)
    return bodies.ListResponse(**lists, pagination=paginate(page, limit, total))


async def _list_documents(
    state: AppState, incarnations: Sequence[str], body: bodies.ListBody, place: Mapping[str, Any]
) -> _Page:
    include = body.include
    page = await state.documents.page(incarnations, filter=body.filter, with_text=include.content, **place)
    counts = await state.memories.count_by_document([row.key for row in page.rows]) if include.memory_count else None
    return page.total, [
        resource_presenter.listed_document_response(
            row, None if counts is None else counts.get(row.key, 0), content=include.content
        )
        for row in page.rows
    ]


async def _list_chunks(
    state: AppState, incarnations: Sequence[str], body: bodies.ListBody, place: Mapping[str, Any]
) -> _Page:
    """List chunks; filters apply to the metadata of their documents."""
    matching = await _matching_documents(state, incarnations, body.filter)
    page = await state.chunks.page(incarnations, documents=matching, **place)
    sources = await state.documents_by_key({row.document for row in page.rows})
    return page.total, [
        resource_presenter.listed_chunk_response(row, sources[row.document])
        for row in page.rows
        if row.document in sources
    ]


async def _list_memories(
    state: AppState, incarnations: Sequence[str], body: bodies.ListBody, place: Mapping[str, Any]
) -> _Page:
    """List memories; forgotten ones only on request."""
    matching = await _matching_documents(state, incarnations, body.filter)
    page = await state.memories.page(
        incarnations, documents=matching, include_forgotten=body.include.forgotten, **place
    )
    keys = {key for row in page.rows for key in row.sources if matching is None or key in matching}
    sources = await state.documents_by_key(keys)
    return page.total, [resource_presenter.memory_response(row, sources) for row in page.rows]


_LISTS: Mapping[
    bodies.ListType, Callable[[AppState, Sequence[str], bodies.ListBody, Mapping[str, Any]], Awaitable[_Page]]
] = {"documents": _list_documents, "chunks": _list_chunks, "memories": _list_memories}


async def _matching_documents(
    state: AppState, incarnations: Sequence[str], filter_expression: FilterExpression | None
) -> Collection[str] | None:
    return None if filter_expression is None else await state.documents.matching_keys(incarnations, filter_expression)
