"""Query expansion for `rewriteQuery`: add similar words of the namespace to a query.

The words of the first results are the vocabulary; those whose vectors are most similar to a query word are
added with a part of its weight.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pipeline.index.namespace_index import NamespaceIndex
from pipeline.index.ranking.analyzed_query import AnalyzedQuery
from pipeline.index.ranking.bm25_scorer import TermWeights
from pipeline.index.ranking.search_request_and_hits import SearchRequest
from pipeline.ports import WordVectors
from pipeline.text.analyzer import content_words, term_hashes, words

# Measured on three collections (decision record 0016): how many results make the vocabulary, from which cosine
# on a word counts beside another, how many beside each, and what it is given of the other's weight.
_VOCABULARY_HITS = 100
_MIN_SIMILARITY = 0.5
_MAX_EXPANSIONS_PER_WORD = 8
_EXPANSION_WEIGHT = 0.4
_MIN_WORD_CHARS = 3


@dataclass(frozen=True, slots=True)
class ExpansionTerm:
    """The query term that an added term stands for, and their similarity."""

    original_term: int
    similarity: float


async def expand_query(
    index: NamespaceIndex, query: AnalyzedQuery, query_text: str, request: SearchRequest, vectors: WordVectors
) -> AnalyzedQuery:
    """Add expansion terms, which weigh less than the query's own."""
    wider = replace(request, limit=_VOCABULARY_HITS, threshold=0.0, explain=False)
    found = await index.search(query, wider)
    # Words not seen before take a tenth of a millisecond each, which must not hold up other requests.
    more = await asyncio.to_thread(find_expansion_terms, query_text, [hit.text for hit in found], vectors)
    if not more:
        return query
    weights = query.term_weights
    counted = (await index.collect_statistics(more.keys())).term_weights()
    added = {
        term: _EXPANSION_WEIGHT
        * expansion.similarity
        * min(counted.weights[term], weights.weights.get(expansion.original_term, 0.0))
        for term, expansion in more.items()
    }
    terms = {**added, **weights.weights}
    return replace(
        query,
        term_weights=TermWeights(terms, weights.deferred_terms, frozenset(added) | frozenset(weights.expansion_terms)),
    )


def find_expansion_terms(query_text: str, texts: Sequence[str], vectors: WordVectors) -> dict[int, ExpansionTerm]:
    """Words of texts that are most similar to the words of a query, by term, without the query's own."""
    # A word of one language may be a stopword of another, which has no term here: Turkish "iş" is a job.
    asked = [word for word in content_words(words(query_text)) if term_hashes(word)]
    own = {term for word in asked for term in term_hashes(word)}
    vocabulary = [
        word for word in dict.fromkeys(word for text in texts for word in words(text)) if _is_expansion_word(word, own)
    ]
    if not asked or not vocabulary:
        return {}
    # Pair by pair, as in reranking: a product of matrices would wake threads.
    near = np.vecdot(vectors.word_vectors(asked)[:, None], vectors.word_vectors(vocabulary)[None])
    found: dict[int, ExpansionTerm] = {}
    for at, word in enumerate(asked):
        for place in np.argsort(-near[at], kind="stable")[:_MAX_EXPANSIONS_PER_WORD].tolist():
            alike, term = float(near[at, place]), term_hashes(vocabulary[place])[0]
            if alike >= _MIN_SIMILARITY and (term not in found or found[term].similarity < alike):
                found[term] = ExpansionTerm(term_hashes(word)[0], alike)
    return found


def _is_expansion_word(word: str, query_terms: set[int]) -> bool:
    terms = term_hashes(word)
    return len(word) >= _MIN_WORD_CHARS and word.isalpha() and bool(terms) and query_terms.isdisjoint(terms)
