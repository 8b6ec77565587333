"""Pages of documents, chunks and memories; an unknown namespace has empty pages."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from api.dependencies.app_state import AppState
from api.dependencies.service_interfaces import ChunkSortField
from api.presenters import resource_presenter
from schemas.http.pagination import paginate
from schemas.http.v5.list_bodies import ListBody, ListResponse


@dataclass(frozen=True, slots=True)
class ListQuery:
    page: int
    limit: int
    sort: ChunkSortField
    descending: bool
    body: ListBody

    @property
    def offset(self) -> int:
        """Number of items on earlier pages."""
        return (self.page - 1) * self.limit


async def list_documents(state: AppState, namespace_name: str, query: ListQuery) -> ListResponse:
    incarnations = state.incarnations_of(namespace_name)
    if not incarnations or query.sort == "position":
        return _list_response(query, 0)
    include = query.body.include
    page = await state.documents.page(
        incarnations,
        filter=query.body.filter,
        sort=query.sort,
        descending=query.descending,
        offset=query.offset,
        limit=query.limit,
        with_text=include.content,
    )
    counts = await state.memories.count_by_document([row.key for row in page.rows]) if include.memory_count else None
    answer = _list_response(query, page.total)
    answer.documents = [
        resource_presenter.listed_document_response(
            row, None if counts is None else counts.get(row.key, 0), content=include.content
        )
        for row in page.rows
    ]
    return answer


async def list_chunks(state: AppState, namespace_name: str, query: ListQuery) -> ListResponse:
    """List a page of chunks; filters apply to the metadata of their documents."""
    incarnations = state.incarnations_of(namespace_name)
    if not incarnations:
        return _list_response(query, 0)
    page = await state.chunks.page(
        incarnations,
        documents=await _matching_documents(state, incarnations, query),
        sort=query.sort,
        descending=query.descending,
        offset=query.offset,
        limit=query.limit,
    )
    sources = await state.documents_by_key({row.document for row in page.rows})
    answer = _list_response(query, page.total)
    answer.chunks = [
        resource_presenter.listed_chunk_response(row, sources[row.document])
        for row in page.rows
        if row.document in sources
    ]
    return answer


async def list_memories(state: AppState, namespace_name: str, query: ListQuery) -> ListResponse:
    """List a page of memories; forgotten memories only on request."""
    incarnations = state.incarnations_of(namespace_name)
    if not incarnations or query.sort == "position":
        return _list_response(query, 0)
    matching = await _matching_documents(state, incarnations, query)
    page = await state.memories.page(
        incarnations,
        documents=matching,
        include_forgotten=query.body.include.forgotten,
        sort=query.sort,
        descending=query.descending,
        offset=query.offset,
        limit=query.limit,
    )
    keys = {key for row in page.rows for key in row.sources if matching is None or key in matching}
    sources = await state.documents_by_key(keys)
    answer = _list_response(query, page.total)
    answer.memories = [resource_presenter.memory_response(row, sources) for row in page.rows]
    return answer


async def memory_counts(state: AppState, namespace_name: str, ids: Sequence[str]) -> dict[str, int]:
    """Count recallable memories by public document id, in request order, without unknown documents."""
    rows = await state.find_documents(namespace_name, list(dict.fromkeys(ids)))
    counts = await state.memories.count_by_document([row.key for row in rows.values()])
    return {public: counts.get(rows[public].key, 0) for public in dict.fromkeys(ids) if public in rows}


async def _matching_documents(state: AppState, incarnations: Sequence[str], query: ListQuery) -> Collection[str] | None:
    return None if query.body.filter is None else await state.documents.matching_keys(incarnations, query.body.filter)


def _list_response(query: ListQuery, total: int) -> ListResponse:
    return ListResponse(documents=[], chunks=[], memories=[], pagination=paginate(query.page, query.limit, total))
