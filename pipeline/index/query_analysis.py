"""Query analysis: term weights in the namespace, vector, intent and calibration."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from datetime import date
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import RetryableError
from pipeline.index.asker_name import AskedByName, asked_about_user, asked_by_name, asked_of_speakers
from pipeline.index.namespace_index import NamespaceIndex
from pipeline.index.ranking.analyzed_query import AnalyzedQuery
from pipeline.index.ranking.calibration import calibration_for
from pipeline.index.ranking.collection_statistics import CollectionStatistics
from pipeline.index.ranking.query_intent import QueryIntent
from pipeline.index.ranking.ranking_parameters import MULTI_ANSWER_DOCUMENT_FACTOR
from pipeline.index.ranking.second_stage.verbatim_text import verbatim_parts
from pipeline.ports import Embedder
from pipeline.rows import Vector
from pipeline.text.analyzer import fold, query_term_forms, spelling_forms
from pipeline.text.statement_words import capitalized_names
from pipeline.text.word_lists import list_pattern, read_list

MAX_QUERY_TERMS = 256
MAX_QUERY_CHARS = 8_000
"""Longer queries are cut to this length."""

NO_EMBEDDER = "none"
"""Name of the embedder whose calibration ranks by words alone."""
_WORD = re.compile(r"[^\W\d_]+")
_cached_spelling_forms = lru_cache(maxsize=256)(spelling_forms)
"""Some 500 spellings of each word, hashed once for a question that is asked again."""
log = logging.getLogger(__name__)


async def analyze_query(
    index: NamespaceIndex,
    embedder: Embedder,
    query_text: str,
    today: date | None = None,
    *,
    words_suffice: bool = False,
    keeps_names: bool = False,
    namespace: str = "",
) -> AnalyzedQuery:
    """Analyze a query against the current rows of a namespace.

    `today`: the day from which "last week" counts; None: only times with a year are resolved. `words_suffice`:
    while the embedder is away, rank by words alone, as without an embedder. `keeps_names`: what is meant of one
    speaker is not meant of another, nor all of a topic, as where memories are deleted. `namespace`: its name, which may
    be that of whom its rows are about.
    """
    query_text = query_text[:MAX_QUERY_CHARS]
    looked_for = without_frame(query_text)
    forms = query_term_forms(looked_for)[:MAX_QUERY_TERMS]
    statistics = await index.collect_statistics(dict.fromkeys(term for group in forms for term in group))
    corrections = await _spelling_corrections(index, looked_for, forms, statistics)
    unknown_names = () if corrections else tuple(_unknown_names(query_text, statistics.row_frequencies, namespace))
    asked = _asked_by_user(index, query_text, statistics, reads_pronouns=not keeps_names)
    statistics.choose_forms(forms, corrections)
    if asked is not None:
        query_text = asked.text
        statistics.asker_terms = {term for word in asked.name_words for form in query_term_forms(word) for term in form}
    weights = statistics.term_weights()
    meant = query_text
    if asked is None and not keeps_names:
        meant = asked_of_speakers(query_text, index.speaker_names(statistics.row_frequencies))
    embedding: Awaitable[Vector] = embedder.embed_query(meant, weights.word_weight)
    if words_suffice:
        embedding = _embedding_or_zeros(embedding, embedder.dimensions)
    documents, vector = await _document_scores_and(embedding, index, statistics)
    calibration = calibration_for(embedder.name if vector.any() else NO_EMBEDDER)
    topic = None if keeps_names or not index.remembers_user else calibration.asked_topic(vector)
    intent = QueryIntent.parse(query_text, today)
    return AnalyzedQuery(
        term_weights=weights,
        vector=vector,
        direction=calibration.query_direction(vector),
        cosine_floor=calibration.query_floor(vector, statistics.largest_row_count),
        calibration=calibration,
        average_length=statistics.average_length,
        document_scores=MULTI_ANSWER_DOCUMENT_FACTOR * documents if intent.asks_for_several else documents,
        intent=intent,
        unknown_names=unknown_names,
        verbatim_parts=verbatim_parts(looked_for, len(forms)),
        row_count=statistics.largest_row_count,
        asked_kind=calibration.asked_kind(vector) if topic is None else None,
        topic=topic,
    )


def _asked_by_user(
    index: NamespaceIndex, query_text: str, statistics: CollectionStatistics, *, reads_pronouns: bool
) -> AskedByName | None:
    """Return a query that names the user as they would ask it themselves; None where it names nobody known as such."""
    asked = asked_by_name(query_text, index.introduced_names(statistics.row_frequencies))
    if asked is None and index.remembers_user:
        asked = asked_about_user(query_text, reads_pronouns=reads_pronouns)
    return asked


async def _document_scores_and(
    embedding: Awaitable[Vector], index: NamespaceIndex, statistics: CollectionStatistics
) -> tuple[NDArray[np.float32], Vector]:
    """Return the scores of documents and the query's vector; side by side where the namespace is large."""
    if index.fits_inline_search:
        return statistics.document_scores(), await embedding
    return await asyncio.gather(asyncio.to_thread(statistics.document_scores), embedding)


def _unknown_names(query_text: str, row_frequencies: Mapping[int, int], namespace: str) -> Iterator[str]:
    """Yield the folded names in a query that no row has in any form, and the namespace's own name neither.

    >>> question = "Where does Ada live?"
    >>> list(_unknown_names(question, {}, "user-ada")), list(_unknown_names(question, {}, "user-7"))
    ([], ['ada'])
    """
    holders = _WORD.findall(fold(namespace))
    for name in capitalized_names(query_text):
        terms = [term for form in query_term_forms(name) for term in form]
        if terms and fold(name) not in holders and not any(row_frequencies.get(term) for term in terms):
            yield fold(name)


async def _spelling_corrections(
    index: NamespaceIndex, query_text: str, forms: Sequence[Sequence[int]], statistics: CollectionStatistics
) -> dict[int, int]:
    """Return the most frequent term that is a letter from a word of the query that the namespace has in no form.

    By that term, with the term that it stands for; it is counted in the statistics, too.
    """
    frequencies = statistics.row_frequencies
    unknown = frozenset(group[0] for group in forms if not any(frequencies[term] for term in group))
    alike = _cached_spelling_forms(query_text, unknown) if unknown else {}
    if not alike:
        return {}
    counted = await index.collect_statistics({term for terms in alike.values() for term in terms})
    likeliest = {max(terms, key=counted.row_frequencies.__getitem__): term for term, terms in alike.items() if terms}
    corrections = {term: misspelled for term, misspelled in likeliest.items() if counted.row_frequencies[term]}
    statistics.add_terms(counted, corrections)
    return corrections


async def _embedding_or_zeros(embedding: Awaitable[Vector], dimensions: int) -> Vector:
    try:
        return await embedding
    except RetryableError as error:
        log.warning("A search goes on by words alone: %s", error)
        return np.zeros(dimensions, np.float32)


def without_frame(question: str) -> str:
    """Return a question without a frame that says only that something is looked for; itself where that is all.

    >>> without_frame("Tell me about Skiraum"), without_frame("What do you know about INV-20391?")
    ('Skiraum', 'INV-20391?')
    >>> without_frame("Skiraumについて教えて"), without_frame("Tell me about")
    ('Skiraum', 'Tell me about')
    >>> without_frame("What did Anna find?")
    'What did Anna find?'
    """
    rest = _frames().sub(" ", question).strip()
    return rest if any(char.isalnum() for char in rest) else question


@cache
def _frames() -> re.Pattern[str]:
    """Return a pattern of frames at the beginning of a question, and at its end where they are more than a word."""
    frames = read_list("request_frames").split()
    anywhere = list_pattern(frames, as_written=True)
    at_end = list_pattern((frame for frame in frames if "_" in frame or frame[0] == "*"), as_written=True)
    return re.compile(rf"^\W*(?:please )?(?:{anywhere})|(?:{at_end})(?=\W*$)", re.IGNORECASE)
