"""Explanations of results, scores and origins, and the graph of memories (extension of the contract)."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query
from pydantic import AwareDatetime
from starlette.responses import Response, StreamingResponse

from api.dependencies.app_state import AppState
from api.dependencies.authentication import ReadAccess
from api.dependencies.path_and_query_parameters import DocumentPath, PageLimit, PageNumber, ResourcePath
from api.errors.http_errors import NotFoundError
from api.presenters import resource_presenter
from api.reads import memory_graph
from api.routes.contract_route import ContractRoute, error_responses
from pipeline.errors import RejectedError
from pipeline.rows import MemoryRow
from schemas.http.extensions import explain_bodies as bodies
from schemas.http.extensions.graph_bodies import GraphResponse
from schemas.http.pagination import paginate
from schemas.limits import MAX_DOCUMENT_ID_LENGTH

router = APIRouter(route_class=ContractRoute, prefix="/ns/{namespace}/explain", tags=["Why"])

MAX_LOOKED_AT = 20_000
"""Memories that a filter looks through; the newest."""
_READ_AT_ONCE = 1_000
MAX_GRAPH_MEMORIES = 2_000
"""Memories that one graph shows; the newest."""
DocumentQuery = Annotated[str, Query(max_length=MAX_DOCUMENT_ID_LENGTH)]
TimeQuery = Annotated[AwareDatetime, Query()]
GraphLimit = Annotated[int, Query(ge=1, le=MAX_GRAPH_MEMORIES)]
_QUERY_ERRORS = error_responses(400, 401, 402, 403, 500)
_ITEM_ERRORS = error_responses(400, 401, 403, 404, 500, 503)


@router.post("/search", responses=_QUERY_ERRORS, response_model_exclude_unset=True)
async def search(access: ReadAccess, body: bodies.ExplainSearchBody) -> bodies.ExplainedSearch:
    """Search now or at a past time, with the score contributions of each result."""
    access.require_quota("searches")
    answer = await access.state.queries.explainer.search(access.state.catalog.namespace(access.namespace), body)
    access.count_usage(searches=1)
    return answer


@router.post("/missing", responses=_QUERY_ERRORS, response_model_exclude_unset=True)
async def missing(access: ReadAccess, body: bodies.ExplainMissingBody) -> bodies.ExplainedAbsence:
    """Say why a document is not among the results of a search: its state, the filter, its score and its rank."""
    access.require_quota("searches")
    answer = await access.state.queries.explainer.missing(access.state.catalog.namespace(access.namespace), body)
    access.count_usage(searches=1)
    return answer


@router.post("/profile", responses=_QUERY_ERRORS, response_model_exclude_unset=True)
async def profile(access: ReadAccess, body: bodies.ExplainProfileBody | None = None) -> bodies.ExplainedProfile:
    """Return the profile now or at a past time, with the memories behind each fact."""
    catalog = access.state.catalog
    return await access.state.queries.explainer.profile(
        catalog.namespace(access.namespace), catalog.organization(), body or bodies.ExplainProfileBody()
    )


@router.get("/documents/{id:path}", responses=_ITEM_ERRORS, response_model_exclude_unset=True)
async def document(access: ReadAccess, id: DocumentPath) -> bodies.ExplainedDocument:
    """Explain how a document was processed."""
    return await access.state.queries.provenance.document(access.state.require_namespace(access.namespace), id)


@router.get("/originals/{id:path}", response_class=Response, responses=_ITEM_ERRORS)
async def original(access: ReadAccess, id: DocumentPath) -> Response:
    """Return the file that a document was uploaded as, to be saved: never shown by the browser itself."""
    access.state.require_namespace(access.namespace)
    row = (await access.state.find_documents(access.namespace, [id])).get(id)
    if row is None or row.upload is None:
        raise NotFoundError(
            "Original not found", f"There is no document {id[:100]!r} here that was uploaded as a file."
        )
    try:
        parts = access.state.blobs.stream(row.upload.blob)
        first = await anext(parts)
    except RejectedError as error:
        raise NotFoundError("Original not found", str(error)) from error
    name = quote(row.upload.filename or row.id, safe="")
    headers = {
        "content-disposition": f"attachment; filename*=UTF-8''{name}",
        "content-length": str(row.upload.blob.size),
    }
    return StreamingResponse(_joined(first, parts), media_type="application/octet-stream", headers=headers)


@router.get("/chunks/{id:path}", responses=_ITEM_ERRORS, response_model_exclude_unset=True)
async def chunk(access: ReadAccess, id: ResourcePath) -> bodies.ExplainedChunk:
    """Explain a chunk: its span in the document and its events."""
    return await access.state.queries.provenance.chunk(access.state.require_namespace(access.namespace), id)


@router.get("/memories", response_model_exclude_unset=True)
async def memories(  # noqa: PLR0917 - each is a condition of the list
    access: ReadAccess,
    page: PageNumber = 1,
    limit: PageLimit = 10,
    kind: bodies.MemoryKind | None = None,
    state: bodies.MemoryState | None = None,
    document: DocumentQuery | None = None,
    since: TimeQuery | None = None,
    until: TimeQuery | None = None,
) -> bodies.FilteredMemories:
    """List memories by kind, state, source and time, newest first."""
    incarnations, keys = access.state.incarnations_of(access.namespace), None
    if document is not None:
        keys = [row.key for row in (await access.state.find_documents(access.namespace, [document])).values()]
    looked_at, rows = 0, list[MemoryRow]()
    if incarnations and keys != []:
        async for row in _newest_memories(access.state, incarnations, keys):
            looked_at += 1
            if (
                kind in {None, *_memory_kinds(row)}
                and state in {None, _memory_state(row)}
                and (since is None or row.updated_at >= since)
                and (until is None or row.updated_at < until)
            ):
                rows.append(row)
    shown = rows[(page - 1) * limit : page * limit]
    sources = await access.state.documents_by_key({key for row in shown for key in row.sources})
    return bodies.FilteredMemories(
        memories=[resource_presenter.memory_response(row, sources) for row in shown],
        pagination=paginate(page, limit, len(rows)),
        is_complete=looked_at < MAX_LOOKED_AT,
    )


def _memory_state(row: MemoryRow) -> bodies.MemoryState:
    """Return whether a memory holds, or why it does not."""
    if row.forgotten_at is not None:
        return "forgotten"
    return "current" if row.is_latest else "replaced"


def _memory_kinds(row: MemoryRow) -> tuple[bodies.MemoryKind, ...]:
    """Return the kinds of a memory: by how long it holds, and by where it comes from."""
    return ("long-term" if row.is_static else "recent", "inferred" if row.is_inference else "stated")


async def _newest_memories(
    state: AppState, incarnations: tuple[str, ...], keys: list[str] | None
) -> AsyncIterator[MemoryRow]:
    for offset in range(0, MAX_LOOKED_AT, _READ_AT_ONCE):
        page = await state.memories.page(
            incarnations, documents=keys, include_forgotten=True, offset=offset, limit=_READ_AT_ONCE
        )
        for row in page.rows:
            yield row
        if offset + _READ_AT_ONCE >= page.total:
            return


@router.get("/memories/{id:path}", responses=_ITEM_ERRORS, response_model_exclude_unset=True)
async def memory(access: ReadAccess, id: ResourcePath) -> bodies.ExplainedMemory:
    """Explain a memory: its supporting statements and its relations."""
    return await access.state.queries.provenance.memory(access.state.require_namespace(access.namespace), id)


@router.get("/graph")
async def graph(access: ReadAccess, limit: GraphLimit = MAX_GRAPH_MEMORIES) -> GraphResponse:
    """Return the newest memories with their relations and the people, places and things they name."""
    return await memory_graph.memory_graph(access.state, access.namespace, limit)


async def _joined(first: bytes, parts: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
    async with aclosing(parts):
        yield first
        async for part in parts:
            yield part
