"""A search and a profile that say why, and how they were: the same functions, with what they added up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import perf_counter
from typing import Any

from api.queries.profile import Profiling
from api.queries.search import Asked, Finding, Models, found_in, milliseconds
from pipeline.index.cache import NamespaceCache
from pipeline.index.hits import Hit
from pipeline.index.parameters import calibration
from pipeline.index.parts import ScorePart
from pipeline.index.past import PastNamespace, Unseen
from pipeline.ports import Clock
from pipeline.profile.aggregates import Stated
from pipeline.profile.buckets import effective
from pipeline.profile.sections import Portrait
from pipeline.rows import NamespaceRow, OrganizationRow
from schemas.base import timestamp
from schemas.http import explain
from schemas.http.explain import (
    ExplainedFact,
    ExplainedPortrait,
    ExplainedProfile,
    ExplainedResult,
    ExplainedSearch,
    ExplainProfileBody,
    ExplainSearchBody,
    Limits,
    Scale,
    Why,
)
from schemas.http.search import SearchResult

SAYS: Mapping[ScorePart, str] = {
    "words": "words of the question stand in it, rare ones count most",
    "document": "words of the question stand in its document",
    "meaning": "its vector is near the question's",
    "speaker": "somebody whom the question names says it",
    "time": "the question asks when, and it says a time",
    "number": "the question asks how many, and it says a number",
    "date": "its document is of the time that the question names",
    "updates": "it replaced what would answer the question",
    "remembered": "a memory that was made of it answers the question",
    "outdated": "what was remembered of it and answers best was replaced or forgotten since",
    "repeated": "the passage it was made of answers the question better",
    "nearness": "what stands together in the question stands together in it",
    "likeness": "its words are like those of the question",
    "common": "words in common, which likeness counts again",
    "endpoint": "what a reranker made of its place, where one is configured",
    "parts": "what its place among the answers to all parts of the question made of it",
    "usual": "what reranking gives a borderline result, taken off so that thresholds mean the same",
}
"""For people."""
ALWAYS = (
    "Documents that were deleted since, and their memories, are gone: they are neither shown nor counted.",
    "Titles, metadata, buckets, the embedder and the ranking are those of today.",
)
CHANGED = (
    "Documents of then that were changed since: {count:,}. Passages of newer texts are left out, those of"
    " older texts are gone, and so are memories that no text states any more."
)
WITHHELD = (
    "Memories of then that are left out: {count:,}. They, or what replaced them, were forgotten since on"
    " request; include.forgotten shows them."
)
NOTHING = Unseen(0, 0)


@dataclass(frozen=True, slots=True)
class Explaining:
    """`api.ports.Explaining`. `find`: what a search that explains nothing asks as well."""

    find: Finding
    cache: NamespaceCache
    profiling: Profiling
    models: Models
    clock: Clock

    async def search(self, namespace: NamespaceRow | None, body: ExplainSearchBody) -> ExplainedSearch:
        """The results of the search, each with what its score is made of."""
        started, scale = perf_counter(), calibration(self.models.embedder.name)
        results: list[ExplainedResult] = []
        moment, unseen = self._moment(body.as_of), NOTHING
        if namespace is not None:
            if moment is None:
                found = await self.find(namespace, body, explained=True)
            else:
                index = await self._past(namespace, moment, forgotten=body.include.forgotten)
                asked = Asked(namespace.spaces[0], moment.date(), explained=True)
                found, unseen = await found_in(index, self.models, body, asked), index.unseen
            results = [_explained(hit, one) for hit, one in zip(found.hits, found.results, strict=True)]
        return ExplainedSearch(
            results=results,
            search_time=milliseconds(started),
            embedder=self.models.embedder.name,
            scale=Scale(middle=scale.middle, width=scale.width),
            **_limits(moment, unseen),
        )

    async def profile(
        self, namespace: NamespaceRow | None, organization: OrganizationRow, body: ExplainProfileBody
    ) -> ExplainedProfile:
        """The profile, each fact with the memories it is made of."""
        moment, unseen, made = self._moment(body.as_of), NOTHING, Portrait()
        if namespace is not None and moment is None:
            made = await self.profiling.portrait(namespace, organization, body.filter)
        elif namespace is not None and moment is not None:
            index = await self._past(namespace, moment, forgotten=body.include.forgotten)
            definitions, unseen = effective(namespace, organization), index.unseen
            made = await self.profiling.past(index, definitions, body.filter, moment)
        names = body.buckets if body.buckets is not None else made.buckets
        portrait = ExplainedPortrait(
            static=_facts(made.static),
            dynamic=_facts(made.dynamic),
            buckets={name: _facts(made.buckets.get(name, ())) for name in names},
        )
        return ExplainedProfile(profile=portrait, **_limits(moment, unseen))

    def _moment(self, asked: datetime | None) -> datetime | None:
        """What lies ahead is as it is now."""
        return None if asked is None else min(asked, self.clock.now())

    async def _past(self, namespace: NamespaceRow, moment: datetime, *, forgotten: bool) -> PastNamespace:
        return await PastNamespace.at(moment, self.cache.loading, namespace.spaces, forgotten=forgotten)


def _limits(moment: datetime | None, unseen: Unseen) -> dict[str, Any]:
    """What an answer about a past moment says beside it."""
    if moment is None:
        return {}
    says = list(ALWAYS)
    if unseen.changed:
        says.append(CHANGED.format(count=unseen.changed))
    if unseen.withheld:
        says.append(WITHHELD.format(count=unseen.withheld))
    limits = Limits(changed_documents=unseen.changed, withheld_memories=unseen.withheld, says=says)
    return {"as_of": timestamp(moment), "limits": limits}


def _facts(facts: Sequence[Stated]) -> list[ExplainedFact]:
    return [ExplainedFact(id=one.id, memory=one.text, memories=list(one.of or (one.id,))) for one in facts]


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
