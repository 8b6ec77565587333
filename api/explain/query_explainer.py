"""Explained searches and profiles, now or at a past moment, by the functions that serve normal requests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import perf_counter
from typing import Any

from api.explain.absence_explainer import found_cause, score_causes, state_causes, widened
from api.search import search_query
from api.search.profile_query import ProfileQuery
from pipeline.index.point_in_time_index import OmittedCounts, PointInTimeIndex
from pipeline.index.query_analysis import MAX_QUERY_CHARS
from pipeline.index.ranking.calibration import calibration_for
from pipeline.index.ranking.search_request_and_hits import Hit, ScoreFactor
from pipeline.profile.bucket_classifier import effective_buckets
from pipeline.profile.fact_aggregation import ProfileEntry
from pipeline.profile.profile_sections import ProfileSnapshot
from pipeline.rows import DocumentRow, NamespaceRow, OrganizationRow, RowKind
from pipeline.text.query_highlights import matching_spans
from schemas.base import format_timestamp
from schemas.http.extensions import explain_bodies as bodies
from schemas.http.v5.search_bodies import SearchResult

FACTOR_DESCRIPTIONS: Mapping[ScoreFactor, str] = {
    "bm25": "words of the question stand in it, rare ones count most",
    "documentBm25": "words of the question stand in its document",
    "vector": "its vector is near the question's",
    "topic": "how surely it tells of the topic that the question names",
    "speaker": "somebody whom the question names says it",
    "time": "the question asks when, and it says a time",
    "number": "the question asks how many, and it says a number",
    "date": "its document is of the time that the question names",
    "cueLimit": "these order results of about the same merit, and hardly raise the best",
    "memory": "a memory says one thing in few words, and is near to more questions than a passage",
    "supersedes": "it replaced what would answer the question",
    "relative": "it is about a relative or friend, and the question about who asks or about another one",
    "noNumber": "the question asks for a number, and it says none",
    "otherKind": "the question asks for something that it does not tell",
    "unknownName": "the question names somebody or something that nothing here names",
    "verbatim": "it has what the question quotes, or is copied from, word for word",
    "newer": "it was said after another statement about the same thing",
    "neighbor": "the passage before or after it means what the question asks for",
    "memorySupport": "a memory that was made of it answers the question",
    "passage": "the short passage it was made of is nearer to the question",
    "outdated": "what was remembered of it and answers best was replaced or forgotten since",
    "statedInChunk": "the passage it was made of answers the question better",
    "proximity": "what stands together in the question stands together in it",
    "wordSimilarity": "its words are like those of the question",
    "sharedTerms": "words in common, which likeness counts again",
    "rerankEndpoint": "what a reranker made of its place, where one is configured",
    "queryVariants": "what its place among the answers to all parts of the question made of it",
    "borderlineOffset": "what reranking gives the best result, taken off all so that thresholds mean the same",
}
"""Human-readable descriptions."""
AS_OF_LIMITATIONS = (
    "Documents that were deleted since, and their memories, are gone: they are neither shown nor counted.",
    "Titles, metadata, buckets, the embedder and the ranking are those of today.",
)
CHANGED_DOCUMENTS_NOTE = (
    "Documents of then that were changed since: {count:,}. Passages of newer texts are left out, those of"
    " older texts are gone, and so are memories that no text states any more."
)
HIDDEN_MEMORIES_NOTE = (
    "Memories of then that are left out: {count:,}. They, or what replaced them, were forgotten since on"
    " request; include.forgotten shows them."
)
_MODES: Mapping[RowKind, str] = {"chunk": "chunks", "memory": "memories"}
NOTHING_OMITTED = OmittedCounts(0, 0)


@dataclass(frozen=True, slots=True)
class QueryExplainer:
    """Answers searches and profiles together with the reasons."""

    searching: search_query.NamespaceSearch
    profiling: ProfileQuery

    async def search(self, namespace: NamespaceRow | None, body: bodies.ExplainSearchBody) -> bodies.ExplainedSearch:
        """Return the results of the search, each with its score contributions."""
        started, unseen = perf_counter(), NOTHING_OMITTED
        results: list[bodies.ExplainedResult] = []
        if namespace is not None:
            found, unseen = await self._search(namespace, body)
            pairs = zip(found.hits, found.results, strict=True)
            results = [_to_explained_result(body.query, hit, result) for hit, result in pairs]
        return bodies.ExplainedSearch(
            results=results,
            search_time=search_query.elapsed_milliseconds(started),
            embedder=self.searching.models.embedder.name,
            scale=self._scale(),
            **_as_of_fields(self._resolve_as_of(body.as_of), unseen),
        )

    async def missing(self, namespace: NamespaceRow | None, body: bodies.ExplainMissingBody) -> bodies.ExplainedAbsence:
        """Return the reasons why a document is not among the results of a search."""
        incarnations = () if namespace is None else namespace.incarnations
        row = (await self.searching.documents.find_by_public_id(incarnations, [body.document])).get(body.document)
        moment = self._resolve_as_of(body.as_of)
        causes, best, rank = state_causes(row, body, moment), None, None
        is_there = all(cause.reason != "unknown" for cause in causes)
        if namespace is not None and row is not None and is_there:
            wide = widened(body, drops_filter=any(cause.reason == "filter" for cause in causes))
            best, is_kind_asked_for = await self._best_of(namespace, wide, row)
            if best is not None and is_kind_asked_for:
                rank = await self._rank_of(namespace, wide, row)
            found, _ = await self._search(namespace, body)
            is_found = any(hit.document.key == row.key for hit in found.hits)
            hit = None if best is None else best[0]
            causes = [found_cause()] if is_found else causes + score_causes(body, hit, rank, is_kind_asked_for)
        return bodies.ExplainedAbsence(
            document=body.document,
            causes=causes,
            threshold=body.threshold,
            limit=body.limit,
            rank=None if rank is None else rank + 1,
            best=None if best is None else _to_explained_result(body.query, *best),
            scale=self._scale(),
            **_as_of_fields(moment, NOTHING_OMITTED),
        )

    async def _best_of(
        self, namespace: NamespaceRow, body: bodies.ExplainSearchBody, row: DocumentRow
    ) -> tuple[tuple[Hit, SearchResult] | None, bool]:
        """Return the best hit of a document, of any kind, and whether one is of a requested kind."""
        alone = body.model_copy(update={"search_mode": "hybrid"})
        found, _ = await self._search(namespace, alone, (row.key,))
        pairs = list(zip(found.hits, found.results, strict=True))
        asked_for = [pair for pair in pairs if body.search_mode in ("hybrid", _MODES[pair[0].kind])]
        return next(iter(asked_for or pairs), None), bool(asked_for)

    async def _rank_of(self, namespace: NamespaceRow, body: bodies.ExplainSearchBody, row: DocumentRow) -> int | None:
        """Return the rank of a document's best hit, from 0; None beyond the ranked hits."""
        found, _ = await self._search(namespace, body)
        return next((place for place, hit in enumerate(found.hits) if hit.document.key == row.key), None)

    async def _search(
        self, namespace: NamespaceRow, body: bodies.ExplainSearchBody, documents: tuple[str, ...] | None = None
    ) -> tuple[search_query.SearchOutcome, OmittedCounts]:
        moment = self._resolve_as_of(body.as_of)
        if moment is None:
            return await self.searching.run(namespace, body, explain=True, documents=documents), NOTHING_OMITTED
        index = await self._load_index_as_of(namespace, moment, include_forgotten=body.include.forgotten)
        asked = search_query.SearchContext(namespace.incarnations[0], moment.date(), explain=True, documents=documents)
        return await search_query.search_index(index, self.searching.models, body, asked), index.omitted

    def _scale(self) -> bodies.SimilarityScale:
        scale = calibration_for(self.searching.models.embedder.name)
        return bodies.SimilarityScale(midpoint=scale.midpoint, width=scale.width)

    async def profile(
        self, namespace: NamespaceRow | None, organization: OrganizationRow, body: bodies.ExplainProfileBody
    ) -> bodies.ExplainedProfile:
        moment, unseen, snapshot = self._resolve_as_of(body.as_of), NOTHING_OMITTED, ProfileSnapshot()
        if namespace is not None and moment is None:
            snapshot = await self.profiling.snapshot(namespace, organization, body.filter)
        elif namespace is not None and moment is not None:
            index = await self._load_index_as_of(namespace, moment, include_forgotten=body.include.forgotten)
            definitions, unseen = effective_buckets(namespace, organization), index.omitted
            snapshot = await self.profiling.snapshot_at(index, definitions, body.filter, moment)
        names = body.buckets if body.buckets is not None else snapshot.buckets
        portrait = bodies.ExplainedProfileSections(
            static=_to_explained_facts(snapshot.static),
            dynamic=_to_explained_facts(snapshot.dynamic),
            buckets={name: _to_explained_facts(snapshot.buckets.get(name, ())) for name in names},
        )
        return bodies.ExplainedProfile(profile=portrait, **_as_of_fields(moment, unseen))

    def _resolve_as_of(self, as_of: datetime | None) -> datetime | None:
        """Limit a moment to the present."""
        return None if as_of is None else min(as_of, self.searching.clock.now())

    async def _load_index_as_of(
        self, namespace: NamespaceRow, moment: datetime, *, include_forgotten: bool
    ) -> PointInTimeIndex:
        return await PointInTimeIndex.load(
            moment, self.searching.cache.loader, namespace.incarnations, include_forgotten=include_forgotten
        )


def _as_of_fields(moment: datetime | None, omitted: OmittedCounts) -> dict[str, Any]:
    """Fields of an answer about a past moment, with its limitations."""
    if moment is None:
        return {}
    says = list(AS_OF_LIMITATIONS)
    if omitted.changed_documents:
        says.append(CHANGED_DOCUMENTS_NOTE.format(count=omitted.changed_documents))
    if omitted.hidden_memories:
        says.append(HIDDEN_MEMORIES_NOTE.format(count=omitted.hidden_memories))
    limits = bodies.AsOfLimitations(
        changed_documents=omitted.changed_documents, withheld_memories=omitted.hidden_memories, notes=says
    )
    return {"as_of": format_timestamp(moment), "limitations": limits}


def _to_explained_facts(facts: Sequence[ProfileEntry]) -> list[bodies.ExplainedFact]:
    return [
        bodies.ExplainedFact(id=fact.id, memory=fact.text, memories=list(fact.memory_ids or (fact.id,)))
        for fact in facts
    ]


def _to_explained_result(query: str, hit: Hit, result: SearchResult) -> bodies.ExplainedResult:
    given = {name: getattr(result, name) for name in result.model_fields_set}
    highlights = [
        bodies.TextRange(start=start, end=end) for start, end in matching_spans(query[:MAX_QUERY_CHARS], hit.text)
    ]
    return bodies.ExplainedResult(**given, explanation=_to_why(hit), highlights=highlights)


def _to_why(hit: Hit) -> bodies.ScoreExplanationResponse:
    parts = [
        bodies.ScoreContributionResponse(signal=name, score=round(score, 4), description=FACTOR_DESCRIPTIONS[name])
        for name, score in (hit.explanation or {}).items()
        if score
    ]
    place = {"position": hit.position, "start": hit.start, "end": hit.end} if hit.kind == "chunk" else {}
    document = {"document": hit.document.id} if hit.document.id else {}
    return bodies.ScoreExplanationResponse(
        kind=hit.kind, raw_score=round(hit.raw_score, 4), contributions=parts, **document, **place
    )
