"""`rewriteQuery`: a question is also asked in the namespace's own words for what it says.

The words of what is found first are the vocabulary: those whose vectors are likest to a word of the question
count beside it, for a part of its weight. A word that nobody there would use brings nothing in.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pipeline.index.hits import Wanted
from pipeline.index.namespace import NamespaceIndex
from pipeline.index.scoring import Question, Weights
from pipeline.ports import WordVectors
from pipeline.text.terms import telling, term_hashes, words

# Measured on three collections (docs/benchmarks.md): how many results make the vocabulary, from which cosine
# on a word counts beside another, how many beside each, and what it is given of the other's weight.
_RESULTS = 100
_ALIKE = 0.5
_EACH = 8
_SHARE = 0.4
_SHORTEST = 3


@dataclass(frozen=True, slots=True)
class Beside:
    """A term that stands beside one of the question's, and how alike the two are."""

    of: int
    alike: float


async def widened(
    index: NamespaceIndex, question: Question, query: str, wanted: Wanted, vectors: WordVectors
) -> Question:
    """The same question with more words, which add to scores as its own do, and less than these."""
    wider = replace(wanted, limit=_RESULTS, threshold=0.0, explained=False)
    found = await index.search(question, wider)
    more = beside(query, [hit.text for hit in found], vectors)
    if not more:
        return question
    weights = question.weights
    counted = (await index.statistics(more.keys())).weights()
    added = {
        term: _SHARE * one.alike * min(counted.terms[term], weights.terms.get(one.of, 0.0))
        for term, one in more.items()
    }
    terms = {**added, **weights.terms}
    return replace(question, weights=Weights(terms, weights.passed_over, frozenset(added)))


def beside(query: str, texts: Sequence[str], vectors: WordVectors) -> dict[int, Beside]:
    """By term, the words of texts that are likest to those of a query, without its own."""
    asked = telling(words(query))
    own = {term for word in asked for term in term_hashes(word)}
    vocabulary = [
        word for word in dict.fromkeys(word for text in texts for word in words(text)) if _says(word, own)
    ]
    if not asked or not vocabulary:
        return {}
    # Pair by pair, as in reranking: a product of matrices would wake threads.
    near = np.vecdot(vectors.word_vectors(asked)[:, None], vectors.word_vectors(vocabulary)[None])
    found: dict[int, Beside] = {}
    for at, word in enumerate(asked):
        for place in np.argsort(-near[at], kind="stable")[:_EACH].tolist():
            alike, term = float(near[at, place]), term_hashes(vocabulary[place])[0]
            if alike >= _ALIKE and (term not in found or found[term].alike < alike):
                found[term] = Beside(term_hashes(word)[0], alike)
    return found


def _says(word: str, own: set[int]) -> bool:
    terms = term_hashes(word)
    return len(word) >= _SHORTEST and word.isalpha() and bool(terms) and own.isdisjoint(terms)
