"""A search that says why: the same search, with what its ranking added up."""

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter

from api.queries.search import found_in, milliseconds
from pipeline.index.cache import NamespaceCache
from pipeline.index.hits import Hit
from pipeline.index.parameters import calibration
from pipeline.index.parts import ScorePart
from pipeline.ports import Embedder
from pipeline.rows import NamespaceRow
from schemas.http import explain
from schemas.http.explain import ExplainedResult, ExplainedSearch, Scale, Why
from schemas.http.search import SearchBody, SearchResult

SAYS: Mapping[ScorePart, str] = {
    "words": "words of the question stand in it, rare ones count most",
    "document": "words of the question stand in its document",
    "meaning": "its vector is near the question's",
    "speaker": "somebody whom the question names says it",
    "time": "the question asks when, and it says a time",
    "number": "the question asks how many, and it says a number",
    "date": "its document is of the time that the question names",
    "remembered": "a memory that was made of it answers the question",
    "repeated": "the passage it was made of answers the question better",
    "nearness": "what stands together in the question stands together in it",
    "likeness": "its words are like those of the question",
    "common": "words in common, which likeness counts again",
    "usual": "what reranking gives a borderline result, taken off so that thresholds mean the same",
}
"""For people."""


@dataclass(frozen=True, slots=True)
class Explaining:
    """`api.ports.Explaining`."""

    cache: NamespaceCache
    embedder: Embedder

    async def search(self, namespace: NamespaceRow | None, body: SearchBody) -> ExplainedSearch:
        """The results of the search, each with what its score is made of."""
        started, results, scale = perf_counter(), list[ExplainedResult](), calibration(self.embedder.name)
        if namespace is not None:
            found = await found_in(await self.cache.open(namespace), self.embedder, body, explained=True)
            results = [_explained(hit, one) for hit, one in zip(found.hits, found.results, strict=True)]
        return ExplainedSearch(
            results=results,
            search_time=milliseconds(started),
            embedder=self.embedder.name,
            scale=Scale(middle=scale.middle, width=scale.width),
        )


def _explained(hit: Hit, result: SearchResult) -> ExplainedResult:
    given = {name: getattr(result, name) for name in result.model_fields_set}
    return ExplainedResult(**given, why=_why(hit))


def _why(hit: Hit) -> Why:
    parts = [
        explain.ScorePart(part=name, score=round(score, 4), says=SAYS[name])
        for name, score in (hit.gave or {}).items()
        if score
    ]
    place = {"position": hit.position, "start": hit.start, "end": hit.end} if hit.kind == "chunk" else {}
    document = {"document": hit.document.id} if hit.document.id else {}
    return Why(kind=hit.kind, raw=round(hit.raw, 4), parts=parts, **document, **place)
