"""Searches of v3 and v4, and profiles of v4."""

import asyncio
from collections.abc import Sequence
from time import perf_counter

from fastapi import APIRouter

from api.dependencies.authentication import AuthenticatedCaller, ReadKey
from api.errors.http_errors import BadRequestError, NotImplementedHereError
from api.routes.contract_route import LenientRoute
from api.routes.v3_v4 import search_presenter
from api.routes.v3_v4.container_tag_routes import listed_buckets
from api.routes.v3_v4.container_tags import open_container, searchable_containers
from api.routes.v3_v4.document_ids import find_document
from api.routes.v3_v4.metadata_filters import parse_filters
from api.routes.v3_v4.search_presenter import ContainerResult
from api.search.search_query import elapsed_milliseconds
from pipeline.profile.bucket_classifier import effective_buckets
from pipeline.rows import NamespaceRow
from schemas.base import JsonObject
from schemas.http.v3_v4 import search_bodies as bodies
from schemas.http.v5.profile_bodies import Profile
from schemas.http.v5.profile_bodies import ProfileBody as V5ProfileBody
from schemas.http.v5.search_bodies import SearchBody, SearchInclude, SearchMode
from schemas.limits import MAX_SEARCH_RESULTS

router = APIRouter(route_class=LenientRoute, include_in_schema=False)

CHUNKS_PER_DOCUMENT = 5
"""Passages searched for each document that a search of documents may return."""
_SECTIONS = ("static", "dynamic", "buckets")
_MODES: dict[str, SearchMode] = {"memories": "memories", "hybrid": "hybrid", "documents": "chunks"}


@router.post("/v3/search")
async def search_documents(caller: ReadKey, body: bodies.DocumentSearchBody) -> JsonObject:
    """Search passages, and return their documents, best first."""
    started = perf_counter()
    if body.categories_filter:
        raise NotImplementedHereError(
            "Documents have no categories here", "Leave categoriesFilter out, and select by metadata with filters."
        )
    only = await find_document(caller, body.doc_id) if body.doc_id else None
    query = SearchBody.model_construct(
        query=body.q,
        filter=parse_filters(body.filters, body.filepath),
        search_mode="chunks",
        limit=min(MAX_SEARCH_RESULTS, body.limit * CHUNKS_PER_DOCUMENT),
        threshold=body.chunk_threshold,
        include=SearchInclude.model_construct(documents=True),
        rerank="order" if body.rerank else "none",
        rewrite_query=body.rewrite_query,
    )
    containers = searchable_containers(caller, body.tags or ([only.access.namespace] if only else []))
    found = await _search(caller, containers, query, (only.row.key,) if only else None)
    documents = await search_presenter.found_documents(caller.state, found, body)
    shown = [document for document in documents if document["score"] >= body.document_threshold][: body.limit]
    return {"results": shown, "timing": elapsed_milliseconds(started), "total": len(shown)}


@router.post("/v4/search")
async def search_memories(caller: ReadKey, body: bodies.MemorySearchBody) -> JsonObject:
    """Search memories, passages or both, best first."""
    return await _search_memories(caller, body)


@router.post("/v4/profile")
async def get_profile(caller: ReadKey, body: bodies.ProfileBody) -> JsonObject:
    """Return a container's profile; with `q` also what a search in it finds."""
    access = open_container(caller, body.container_tag)
    state = caller.state
    namespace = state.catalog.namespace(access.namespace)
    v5_body = V5ProfileBody.model_construct(filter=parse_filters(body.filters), buckets=body.buckets)
    profile = Profile(static=[], dynamic=[], buckets={})
    if namespace is not None:
        profile = await state.queries.build_profile(namespace, state.catalog.organization(), v5_body)
    answer: JsonObject = {"profile": _sections(profile, body.include or _SECTIONS)}
    if body.q:
        search = bodies.MemorySearchBody.model_construct(
            q=body.q,
            container_tag=body.container_tag,
            search_mode="hybrid",
            filters=body.filters,
            threshold=body.threshold,
        )
        answer["searchResults"] = await _search_memories(caller, search)
    return answer


@router.post("/v4/profile/buckets")
async def list_buckets(caller: ReadKey, body: bodies.ContainerBody) -> JsonObject:
    """List the buckets in effect in a container."""
    access = open_container(caller, body.container_tag)
    catalog = caller.state.catalog
    row = catalog.namespace(access.namespace)
    buckets = catalog.organization().buckets if row is None else effective_buckets(row, catalog.organization())
    return {"buckets": listed_buckets(buckets)}


async def _search_memories(caller: AuthenticatedCaller, body: bodies.MemorySearchBody) -> JsonObject:
    started = perf_counter()
    query = SearchBody.model_construct(
        query=body.q,
        filter=parse_filters(body.filters, body.filepath),
        search_mode=_MODES[body.search_mode],
        limit=body.limit,
        include=SearchInclude.model_construct(
            documents=True, related=body.include.related_memories, forgotten=body.include.forgotten_memories
        ),
        rerank="aggregate" if body.aggregate else "order" if body.rerank else "none",
        rewrite_query=body.rewrite_query,
        threshold=SearchBody.model_fields["threshold"].default if body.threshold is None else body.threshold,
    )
    found = (await _search(caller, searchable_containers(caller, body.tags), query))[: body.limit]
    results = await search_presenter.found_memories(caller.state, found, body.include)
    return {"results": results, "timing": elapsed_milliseconds(started), "total": len(results)}


async def _search(
    caller: AuthenticatedCaller,
    namespaces: Sequence[NamespaceRow],
    query: SearchBody,
    documents: tuple[str, ...] | None = None,
) -> list[ContainerResult]:
    """Search each namespace, or these documents of it; returns all results, the most similar first."""
    if not query.query.strip():
        raise BadRequestError("The question is empty", "Send some words in q.")
    if not namespaces:
        return []
    access = open_container(caller, namespaces[0].name)
    access.require_quota("searches")
    search = caller.state.queries.search
    answers = await asyncio.gather(*(search(namespace, query, documents=documents) for namespace in namespaces))
    access.count_usage(searches=1)
    found = [
        ContainerResult(namespace, result)
        for namespace, answer in zip(namespaces, answers, strict=True)
        for result in answer.results
    ]
    return found if len(namespaces) == 1 else sorted(found, key=lambda hit: hit.result.similarity, reverse=True)


def _sections(profile: Profile, wanted: Sequence[str]) -> JsonObject:
    sections: JsonObject = {
        "static": [fact.memory for fact in profile.static],
        "dynamic": [fact.memory for fact in profile.dynamic],
        "buckets": {name: [fact.memory for fact in facts] for name, facts in profile.buckets.items()},
    }
    return {name: section for name, section in sections.items() if name in wanted}
