"""Search endpoint logic: from the request body to ranked results in the response format."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache, partial
from time import perf_counter
from typing import Any

from api.presenters.result_metadata import memory_metadata, memory_page, passage_metadata
from api.search.described_people import meant_people
from api.search.offline_reranker import assign_scores_by_rank, deduplicate, rerank_features
from api.search.query_variants import MAX_REWRITTEN_QUERY_CHARS, QueryVariant, QueryVariantBuilder, merge_variant_hits
from api.search.semantic_delete import matching_memories
from pipeline.columns import from_microseconds
from pipeline.index.namespace_index import NamespaceIndex
from pipeline.index.namespace_index_cache import NamespaceIndexCache
from pipeline.index.query_analysis import MAX_QUERY_CHARS, analyze_query
from pipeline.index.ranking.analyzed_query import AnalyzedQuery
from pipeline.index.ranking.search_request_and_hits import (
    ALL_KINDS,
    Hit,
    RelatedHit,
    RelatedMemories,
    SearchRequest,
)
from pipeline.index.segments.document_store import StoredDocument
from pipeline.ports import Clock, DocumentTable, Embedder, MemoryTable, QueryRewriter, Reranker, WordVectors
from pipeline.rows import MemoryRow, NamespaceRow, RowKind
from pipeline.text.page_breaks import PAGED_TYPES
from schemas.base import format_timestamp
from schemas.http.v5 import search_bodies as bodies
from schemas.http.v5.memory_bodies import DocumentRef, DocumentRefSystem, RelatedMemory, RelatedSystem
from schemas.ids import first_namespace
from schemas.limits import MAX_FORGET_IDS

RERANK_DEPTH = 50
"""Number of results that are reranked."""
_TIMESTAMP_CACHE_SIZE = 4_096
"""Times lately shown: those of what came together are the same."""
_MEANT_REQUEST = SearchRequest(kinds=("memory",), limit=MAX_FORGET_IDS, threshold=0.03)
"""Search for candidates of semantic deletion."""
_KINDS: Mapping[bodies.SearchMode, tuple[RowKind, ...]] = {
    "hybrid": ALL_KINDS,
    "memories": ("memory",),
    "chunks": ("chunk",),
}


@dataclass(frozen=True, slots=True)
class SearchModels:
    """Models for queries. `reranker` None: rerank offline; `rewriter` None: rewrite by rules only."""

    embedder: Embedder
    reranker: Reranker | None = None
    rewriter: QueryRewriter | None = None


@dataclass(frozen=True, slots=True)
class SearchContext:
    """Incarnation and day (UTC) of a search. `explain`: hits carry their score contributions.

    `documents`: keys of the only documents whose rows are found; None: all.
    """

    incarnation: str
    today: date
    explain: bool = False
    documents: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """The results of a question, each of the hit at the same place."""

    hits: list[Hit]
    results: list[bodies.SearchResult]


@dataclass(frozen=True, slots=True)
class NamespaceSearch:
    """Searches in the namespaces of one generation of tables. `timer`: measures each search."""

    cache: NamespaceIndexCache
    models: SearchModels
    memories: MemoryTable
    documents: DocumentTable
    clock: Clock
    timer: Callable[[], AbstractContextManager[object]] = nullcontext

    async def answer(
        self, namespace: NamespaceRow, body: bodies.SearchBody, *, documents: tuple[str, ...] | None = None
    ) -> bodies.SearchResponse:
        """Return the results of a search in an existing namespace, best first."""
        started = perf_counter()
        found = await self.run(namespace, body, documents=documents)
        return bodies.SearchResponse(results=found.results, search_time=elapsed_milliseconds(started))

    async def run(
        self,
        namespace: NamespaceRow,
        body: bodies.SearchBody,
        *,
        explain: bool = False,
        documents: tuple[str, ...] | None = None,
    ) -> SearchOutcome:
        """Search; `documents`: keys of the only documents whose rows are found."""
        with self.timer():
            asked = SearchContext(namespace.incarnations[0], self.clock.now().date(), explain, documents)
            outcome = await search_index(await self.cache.open(namespace), self.models, body, asked)
            await self._name_pages(outcome)
            return outcome

    async def find_meant(self, namespace: NamespaceRow, description: str) -> Sequence[MemoryRow]:
        """Return the memories that a description means, best first: the candidates of a semantic delete."""
        index, embedder = await self.cache.open(namespace), self.models.embedder
        vectors = embedder if isinstance(embedder, WordVectors) else None

        async def candidates(text: str) -> tuple[AnalyzedQuery, list[Hit]]:
            question = await analyze_query(index, embedder, text, keeps_names=True)
            return question, await index.search(question, _MEANT_REQUEST)

        question, hits = await candidates(description)
        people = meant_people(description, [hit.text for hit in hits])
        if people.is_somebody and people.rest:
            question, hits = await candidates(people.rest)
        elif people.names:
            known = {hit.id for hit in hits}
            hits += [hit for hit in (await candidates(" ".join(sorted(people.names))))[1] if hit.id not in known]
        hits = matching_memories(question, description, people, hits, vectors)
        rows = await self.memories.get([hit.id for hit in hits])
        return [rows[hit.id][0] for hit in hits if rows.get(hit.id)]

    async def _name_pages(self, outcome: SearchOutcome) -> None:
        """Let memories of PDFs and slides name the page of the document that they are shown with."""
        paged = [
            (hit, result)
            for hit, result in zip(outcome.hits, outcome.results, strict=True)
            if hit.kind == "memory" and hit.document.type in PAGED_TYPES
        ]
        if not paged:
            return
        found = await self.memories.get([hit.id for hit, _ in paged])
        sources = await self.documents.get({key for rows in found.values() for row in rows for key in row.sources})
        for hit, result in paged:
            for row in found.get(hit.id, ()):
                for source in (source for key in row.sources for source in sources.get(key, ())):
                    if source.id == hit.document.id:
                        result.metadata = {**memory_page(row, source), **result.metadata}


async def search_index(
    index: NamespaceIndex, models: SearchModels, body: bodies.SearchBody, context: SearchContext
) -> SearchOutcome:
    """Run a search in an index; results are best first."""
    request = replace(_to_search_request(body), explain=context.explain, documents=context.documents)
    asked = await _query_variants(index, models, body, request, context)
    if body.rerank == "none":
        hits = merge_variant_hits(asked, [await index.search(way.query, request) for way in asked], body.limit)
    else:
        hits = await _search_and_rerank(index, asked, request, body=body, models=models)
    relatives = await _related_memories(index, hits, body)
    results = [_to_search_result(hit, relatives.get(hit.id), documents=body.include.documents) for hit in hits]
    return SearchOutcome(hits, results)


def elapsed_milliseconds(started: float) -> float:
    """Milliseconds since a `perf_counter` reading."""
    return round((perf_counter() - started) * 1000, 3)


def _to_search_request(body: bodies.SearchBody) -> SearchRequest:
    return SearchRequest(
        kinds=_KINDS[body.search_mode],
        limit=body.limit,
        threshold=body.threshold,
        filter=body.filter,
        include_forgotten=body.include.forgotten,
    )


async def _query_variants(
    index: NamespaceIndex, models: SearchModels, body: bodies.SearchBody, request: SearchRequest, context: SearchContext
) -> list[QueryVariant]:
    query, namespace = body.query[:MAX_QUERY_CHARS], first_namespace(context.incarnation)
    if not body.rewrite_query or len(query) > MAX_REWRITTEN_QUERY_CHARS:
        analyzed = await analyze_query(index, models.embedder, query, words_suffice=True, namespace=namespace)
        return [QueryVariant(query, analyzed)]
    rewriting = QueryVariantBuilder(index, models.embedder, request, context.today, namespace)
    if models.rewriter is None:
        return await rewriting.build_all(query)
    # The rules need no model, and the model does not wait for them.
    others, found = await asyncio.gather(
        models.rewriter.rewrite(context.incarnation, query, context.today), rewriting.build_all(query)
    )
    return [*found, *[await rewriting.build(text, context.today) for text in others]]


async def _search_and_rerank(
    index: NamespaceIndex,
    variants: Sequence[QueryVariant],
    request: SearchRequest,
    *,
    body: bodies.SearchBody,
    models: SearchModels,
) -> list[Hit]:
    """Search for more results, with the features of reranking, and cut to the requested number."""
    vectors = models.embedder if isinstance(models.embedder, WordVectors) else None
    found = []
    for way in variants:
        rescore = partial(rerank_features, way.query, way.text, vectors)
        wider = replace(request, limit=max(body.limit, RERANK_DEPTH), rescore=rescore)
        found.append(await index.search(way.query, wider))
    hits = merge_variant_hits(variants, found, max(body.limit, RERANK_DEPTH))
    if models.reranker is not None:
        first, rest = hits[:RERANK_DEPTH], hits[RERANK_DEPTH:]
        order = await models.reranker.rerank(variants[0].text, [hit.text for hit in first])
        hits = hits if order is None else [*assign_scores_by_rank(variants[0].query, first, order), *rest]
    if body.rerank == "aggregate":
        hits = deduplicate(hits)
    return hits[: body.limit]


async def _related_memories(
    index: NamespaceIndex, hits: Sequence[Hit], body: bodies.SearchBody
) -> dict[str, RelatedMemories]:
    ids = [hit.id for hit in hits if hit.kind == "memory"]
    if not body.include.related or not ids:
        return {}
    return await index.related_memories(ids, body.filter, include_forgotten=body.include.forgotten)


def _to_search_result(hit: Hit, related_memories: RelatedMemories | None, *, documents: bool) -> bodies.SearchResult:
    text: dict[str, Any] = {"memory": hit.text} if hit.kind == "memory" else {"chunk": hit.text}
    metadata = hit.document.parsed_metadata()
    if hit.kind == "memory":
        about = memory_metadata(hit.text, is_own=hit.in_profile)
    else:
        about = passage_metadata(hit.document.type, metadata, hit.page)
    included: dict[str, Any] = {}
    if related_memories is not None:
        included["related"] = _to_search_related(related_memories)
    if documents and hit.document.id:
        included["document"] = _to_document_ref(hit.document)
    if included:
        text["included"] = bodies.SearchIncluded(**included)
    return bodies.SearchResult(
        id=hit.id,
        metadata={**about, **metadata},
        similarity=hit.similarity,
        is_latest=hit.is_latest,
        is_inference=hit.is_inference,
        system=bodies.SearchSystem(
            updated_at=_format_timestamp(hit.updated_at), created_at=_format_timestamp(hit.created_at)
        ),
        **text,
    )


def _to_search_related(related_memories: RelatedMemories) -> bodies.SearchRelated:
    return bodies.SearchRelated(
        parents=[_to_related_memory(memory) for memory in related_memories.parents],
        children=[_to_related_memory(memory) for memory in related_memories.children],
        siblings=[_to_related_memory(memory) for memory in related_memories.siblings],
    )


def _to_related_memory(hit: RelatedHit) -> RelatedMemory:
    return RelatedMemory(
        id=hit.id,
        relation=hit.relation,
        version=hit.version,
        memory=hit.text,
        metadata=memory_metadata(hit.text, is_own=hit.in_profile) | hit.document.parsed_metadata(),
        system=RelatedSystem(updated_at=_format_timestamp(hit.updated_at)),
    )


def _to_document_ref(document: StoredDocument) -> DocumentRef:
    return DocumentRef(
        id=document.id,
        title=document.title or None,
        type=document.type or None,
        metadata=document.parsed_metadata(),
        summary=document.summary or None,
        system=DocumentRefSystem(
            created_at=_format_timestamp(document.created_at), updated_at=_format_timestamp(document.updated_at)
        ),
    )


@lru_cache(maxsize=_TIMESTAMP_CACHE_SIZE)
def _format_timestamp(microseconds: int) -> str:
    return format_timestamp(from_microseconds(microseconds))
