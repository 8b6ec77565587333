"""Answering a search: hybrid, memories or chunks, fused, filtered, cut, and shown as the interface has it."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from time import perf_counter
from typing import Any, Protocol

from api.queries.meant import meant
from api.queries.rerank import aggregated, handed_out, reordered
from api.queries.rewriting import LONGEST, Rewriting, Way, merged
from pipeline.columns import moment
from pipeline.index.asking import QUERY_CHARACTERS, ask
from pipeline.index.cache import NamespaceCache
from pipeline.index.documents import DocumentFacts
from pipeline.index.hits import BOTH, Hit, Kind, RelatedHit, Relatives, Wanted
from pipeline.index.namespace import NamespaceIndex
from pipeline.ports import Clock, Embedder, Memories, Reranker, Rewriter, WordVectors
from pipeline.rows import MemoryRow, NamespaceRow
from schemas.base import timestamp
from schemas.http.memories import DocumentRef, DocumentRefSystem, RelatedMemory, RelatedSystem
from schemas.http.search import (
    SearchAnswer,
    SearchBody,
    SearchIncluded,
    SearchMode,
    SearchRelated,
    SearchResult,
    SearchSystem,
)
from schemas.limits import FORGET_MEMORIES

RERANKED = 50
RERANKED_THRESHOLD = 0.7
"""How many results are scored again where that was asked for, and from which share of the threshold on."""
_TIMES = 4_096
"""Times lately shown: those of what came together are the same."""
MATCHING_THRESHOLD = 0.1
"""What is looked at when memories are to be forgotten by meaning: what shares next to nothing scores less."""
_KINDS: Mapping[SearchMode, tuple[Kind, ...]] = {
    "hybrid": BOTH,
    "memories": ("memory",),
    "chunks": ("chunk",),
}


@dataclass(frozen=True, slots=True)
class Models:
    """What reads questions. `reranker`: orders the best results where that is asked for; None: offline.

    `rewriter`: says how else to ask where that is asked for; None: rules alone do.
    """

    embedder: Embedder
    reranker: Reranker | None = None
    rewriter: Rewriter | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """Where and when a question is asked: the space, and the day in UTC.

    `explained`: hits say what their scores are made of.
    """

    space: str
    today: date
    explained: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """The results of a question, each of the hit at the same place."""

    hits: list[Hit]
    results: list[SearchResult]


class Finding(Protocol):
    """What a search finds in a namespace that exists, as it is now; `explained` as for `found_in`."""

    async def __call__(
        self, namespace: NamespaceRow, body: SearchBody, *, explained: bool = False
    ) -> Found: ...


async def search(find: Finding, namespace: NamespaceRow, body: SearchBody) -> SearchAnswer:
    """The results of a search in a namespace that exists, best first."""
    started = perf_counter()
    found = await find(namespace, body)
    return SearchAnswer(results=found.results, search_time=milliseconds(started))


async def found(
    cache: NamespaceCache,
    models: Models,
    clock: Clock,
    namespace: NamespaceRow,
    body: SearchBody,
    *,
    explained: bool = False,
) -> Found:
    """`Finding`, in the hot index."""
    asked = Asked(namespace.spaces[0], clock.now().date(), explained)
    return await found_in(await cache.open(namespace), models, body, asked)


async def found_in(index: NamespaceIndex, models: Models, body: SearchBody, where: Asked) -> Found:
    """What a search finds, best first."""
    wanted = replace(_wanted(body), explained=where.explained)
    asked = await _asked(index, models, body, wanted, where)
    if body.rerank == "none":
        hits = merged(asked, [await index.search(way.question, wanted) for way in asked], body.limit)
    else:
        hits = await _again(index, asked, wanted, body=body, models=models)
    relatives = await _relatives(index, hits, body)
    results = [_result(hit, relatives.get(hit.id), documents=body.include.documents) for hit in hits]
    return Found(hits, results)


def milliseconds(started: float) -> float:
    """Since a moment of `perf_counter`."""
    return round((perf_counter() - started) * 1000, 3)


async def matching(
    cache: NamespaceCache, embedder: Embedder, memories: Memories, namespace: NamespaceRow, query: str
) -> Sequence[MemoryRow]:
    """Memories that a description means, best first."""
    index = await cache.open(namespace)
    wanted = Wanted(kinds=("memory",), limit=FORGET_MEMORIES, threshold=MATCHING_THRESHOLD)
    question = await ask(index, embedder, query)
    vectors = embedder if isinstance(embedder, WordVectors) else None
    hits = meant(question, query, await index.search(question, wanted), vectors)
    rows = await memories.get([hit.id for hit in hits])
    return [rows[hit.id][0] for hit in hits if rows.get(hit.id)]


def _wanted(body: SearchBody) -> Wanted:
    return Wanted(
        kinds=_KINDS[body.search_mode],
        limit=body.limit,
        threshold=body.threshold,
        filter=body.filter,
        forgotten=body.include.forgotten,
    )


async def _asked(
    index: NamespaceIndex, models: Models, body: SearchBody, wanted: Wanted, where: Asked
) -> list[Way]:
    """The query as it is, or the ways in which it is asked where that was asked for."""
    query = body.query[:QUERY_CHARACTERS]
    if not body.rewrite_query or len(query) > LONGEST:
        return [Way(query, await ask(index, models.embedder, query))]
    rewriting = Rewriting(index, models.embedder, wanted, where.today)
    if models.rewriter is None:
        return await rewriting.by_rules(query)
    # The rules need no model, and the model does not wait for them.
    others, found = await asyncio.gather(
        models.rewriter.others(where.space, query, where.today), rewriting.by_rules(query)
    )
    return [*found, *[await rewriting.way(one, where.today) for one in others]]


async def _again(
    index: NamespaceIndex, asked: Sequence[Way], wanted: Wanted, *, body: SearchBody, models: Models
) -> list[Hit]:
    """More results than asked for, down to a lower similarity, scored again and then cut."""
    wider = replace(wanted, limit=max(body.limit, RERANKED), threshold=body.threshold * RERANKED_THRESHOLD)
    vectors = models.embedder if isinstance(models.embedder, WordVectors) else None
    found = []
    for way in asked:
        hits = await index.search(way.question, wider)
        found.append(await asyncio.to_thread(reordered, way.question, way.text, hits, vectors))
    hits = [hit for hit in merged(asked, found, wider.limit) if hit.similarity >= body.threshold]
    if models.reranker is not None:
        first, rest = hits[:RERANKED], hits[RERANKED:]
        order = await models.reranker.order(asked[0].text, [hit.text for hit in first])
        hits = hits if order is None else [*handed_out(asked[0].question, first, order), *rest]
    if body.rerank == "aggregate":
        hits = aggregated(hits)
    return hits[: body.limit]


async def _relatives(index: NamespaceIndex, hits: Sequence[Hit], body: SearchBody) -> dict[str, Relatives]:
    ids = [hit.id for hit in hits if hit.kind == "memory"]
    if not body.include.related or not ids:
        return {}
    return await index.relatives(ids, body.filter, forgotten=body.include.forgotten)


def _result(hit: Hit, relatives: Relatives | None, *, documents: bool) -> SearchResult:
    text: dict[str, Any] = {"memory": hit.text} if hit.kind == "memory" else {"chunk": hit.text}
    included: dict[str, Any] = {}
    if relatives is not None:
        included["related"] = _related(relatives)
    if documents and hit.document.id:
        included["document"] = _document(hit.document)
    if included:
        text["included"] = SearchIncluded(**included)
    return SearchResult(
        id=hit.id,
        metadata=hit.document.values(),
        similarity=hit.similarity,
        is_latest=hit.is_latest,
        is_inference=hit.is_inference,
        system=SearchSystem(updated_at=_time(hit.updated_at), created_at=_time(hit.created_at)),
        **text,
    )


def _related(relatives: Relatives) -> SearchRelated:
    return SearchRelated(
        parents=[_relative(one) for one in relatives.parents],
        children=[_relative(one) for one in relatives.children],
        siblings=[_relative(one) for one in relatives.siblings],
    )


def _relative(one: RelatedHit) -> RelatedMemory:
    return RelatedMemory(
        id=one.id,
        relation=one.relation,
        version=one.version,
        memory=one.text,
        metadata=one.document.values(),
        system=RelatedSystem(updated_at=_time(one.updated_at)),
    )


def _document(facts: DocumentFacts) -> DocumentRef:
    return DocumentRef(
        id=facts.id,
        title=facts.title or None,
        type=facts.type or None,
        metadata=facts.values(),
        summary=facts.summary or None,
        system=DocumentRefSystem(created_at=_time(facts.created_at), updated_at=_time(facts.updated_at)),
    )


@lru_cache(maxsize=_TIMES)
def _time(microseconds: int) -> str:
    return timestamp(moment(microseconds))
