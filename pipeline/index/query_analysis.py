"""Query analysis: term weights in the namespace, vector, intent and calibration."""

import asyncio
from datetime import date

from pipeline.index.namespace_index import NamespaceIndex
from pipeline.index.ranking.analyzed_query import AnalyzedQuery
from pipeline.index.ranking.query_intent import QueryIntent
from pipeline.index.ranking.ranking_parameters import MULTI_ANSWER_DOCUMENT_FACTOR, calibration_for
from pipeline.ports import Embedder
from pipeline.text.analyzer import query_term_forms

MAX_QUERY_TERMS = 256
MAX_QUERY_CHARS = 8_000
"""Longer queries are cut to this length."""


async def analyze_query(
    index: NamespaceIndex, embedder: Embedder, query_text: str, today: date | None = None
) -> AnalyzedQuery:
    """Analyze a query against the current rows of a namespace.

    `today`: the day from which "last week" counts; None: only times with a year are resolved.
    """
    query_text = query_text[:MAX_QUERY_CHARS]
    forms = query_term_forms(query_text)[:MAX_QUERY_TERMS]
    statistics = await index.collect_statistics(dict.fromkeys(term for group in forms for term in group))
    statistics.choose_forms(forms)
    weights = statistics.term_weights()
    embedding = embedder.embed_query(query_text, weights.word_weight)
    if index.fits_inline_search:
        documents, vector = statistics.document_scores(), await embedding
    else:
        documents, vector = await asyncio.gather(asyncio.to_thread(statistics.document_scores), embedding)
    intent = QueryIntent.parse(query_text, today)
    calibration = calibration_for(embedder.name)
    return AnalyzedQuery(
        term_weights=weights,
        vector=vector,
        direction=calibration.query_direction(vector),
        cosine_floor=calibration.query_floor(vector, statistics.largest_row_count),
        calibration=calibration,
        average_length=statistics.average_length,
        document_scores=MULTI_ANSWER_DOCUMENT_FACTOR * documents if intent.asks_for_several else documents,
        intent=intent,
    )
