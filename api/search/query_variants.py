"""`rewriteQuery`: the ways in which a question is asked, so that what answers one of them is found.

Without what people wrap around it; in parts, where it asks for several things; with times seen from the day
it is asked on; with names as they are written in the namespace; and in its words for the same.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial

from api.search.courtesy_removal import remove_courtesies
from api.search.offline_reranker import assign_scores_by_rank
from api.search.query_decomposition import decompose_query
from api.search.query_expansion import expand_query
from api.search.spelling_correction import correct_spelling
from pipeline.index.namespace_index import NamespaceIndex
from pipeline.index.query_analysis import MAX_QUERY_CHARS, analyze_query
from pipeline.index.ranking.analyzed_query import AnalyzedQuery
from pipeline.index.ranking.search_request_and_hits import Hit, SearchRequest
from pipeline.index.ranking.top_hits import sort_hits
from pipeline.ports import Embedder, WordVectors
from pipeline.text.temporal_expressions import resolve_dates

MAX_REWRITTEN_QUERY_CHARS = 1_000
"""Characters of a question; what is longer is a text, and is not asked otherwise."""
_AS_OF_PREFIX = re.compile(
    r"^\s*(?:as\s+of|(?:today|now)\s+is|today:|it(?:'s|\s+is)(?:\s+now)?|on)\s+(?P<day>[^.:;?!]{6,40}?)\s*[,.:;]\s*"
    r"(?=\S.{5})",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class QueryVariant:
    """A way to ask: its text, and the question that it is in a namespace."""

    text: str
    query: AnalyzedQuery


@dataclass(frozen=True, slots=True)
class QueryVariantBuilder:
    """Builds variants of a query in a namespace of this name. `today`: the day from which "last week" counts."""

    index: NamespaceIndex
    embedder: Embedder
    request: SearchRequest
    today: date
    namespace: str = ""

    async def build_all(self, query: str) -> list[QueryVariant]:
        """The variant of the whole query, then those of its parts."""
        query, today = resolve_reference_date(query, self.today)
        question = remove_courtesies(query)
        return [await self.build(text, today) for text in (question, *decompose_query(question))]

    async def build(self, text: str, today: date) -> QueryVariant:
        """Build a query variant with dates instead of "last week", in the words of the namespace."""
        text = resolve_dates(text[:MAX_QUERY_CHARS], today).text
        analyze = partial(
            analyze_query,
            self.index,
            self.embedder,
            today=today,
            words_suffice=True,
            namespace=self.namespace,
        )
        question = await analyze(text)
        right = await correct_spelling(self.index, text, question, self.request)
        if right != text:
            text, question = right, await analyze(right)
        if isinstance(self.embedder, WordVectors):
            question = await expand_query(self.index, question, text, self.request, self.embedder)
        return QueryVariant(text, question)


def merge_variant_hits(
    variants: Sequence[QueryVariant], hits_by_variant: Sequence[Sequence[Hit]], limit: int
) -> list[Hit]:
    """Merge the hits of all variants, each once; the best hits of all variants count as equal.

    Otherwise a variant with high scores would displace the others. Scores are assigned by rank.
    """
    non_empty = [hits for hits in hits_by_variant if hits]
    if len(non_empty) < 2:
        return list(non_empty[0]) if non_empty else []
    first = max(hits[0].raw_score for hits in non_empty)
    best: dict[str, tuple[float, Hit]] = {}
    for hits in non_empty:
        for hit in hits:
            level = hit.raw_score + first - hits[0].raw_score
            if hit.id not in best or best[hit.id][0] < level:
                best[hit.id] = (level, hit)
    kept = sorted(best.values(), key=lambda scored: (-scored[0], scored[1].kind, scored[1].id))[:limit]
    hits = sort_hits([hit for _, hit in kept], limit)
    places = {hit.id: at for at, hit in enumerate(hits)}
    return assign_scores_by_rank(variants[0].query, hits, [places[hit.id] for _, hit in kept], "queryVariants")


def resolve_reference_date(query: str, today: date) -> tuple[str, date]:
    """Return the question without the date that it names as its reference, and that date.

    >>> resolve_reference_date("As of 8 May 2023, what did Ann do last Friday?", date(2026, 1, 1))
    ('what did Ann do last Friday?', datetime.date(2023, 5, 8))
    """
    found = _AS_OF_PREFIX.match(query)
    times = resolve_dates(found["day"], None).date_ranges if found else ()
    if found is None or len(times) != 1 or times[0].first != times[0].last:
        return query, today
    return query[found.end() :], times[0].first
