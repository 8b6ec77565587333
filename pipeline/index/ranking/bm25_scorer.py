"""Weights of a query's terms, and BM25 scores of the rows of one segment."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pipeline.index.ranking.ranking_parameters import B
from pipeline.index.segments.postings import Postings
from pipeline.text.analyzer import term_hashes, words


@dataclass(frozen=True)
class TermWeights:
    """The weight of each query term in its namespace; deferred terms come last."""

    weights: Mapping[int, float]
    deferred_terms: Collection[int] = ()
    """Common terms of little total weight: in a large namespace they do not select candidates."""
    expansion_terms: Collection[int] = ()
    """Terms that stand for the query's own: forms in other languages, and what query expansion added."""

    @property
    def discriminative_terms(self) -> Iterator[int]:
        return (term for term in self.weights if term not in self.deferred_terms)

    def word_weight(self, word: str) -> float:
        """The weight of a word; 0 for a stopword."""
        return max((self.weights.get(term, 0.0) for part in words(word) for term in term_hashes(part)), default=0.0)

    @cached_property
    def total_weight(self) -> float:
        """The sum of the weights of the query's own terms."""
        return sum(self.weights[term] for term in self._own_terms)

    @cached_property
    def own_count(self) -> int:
        """The number of the query's own terms."""
        return len(self._own_terms)

    @cached_property
    def _own_terms(self) -> list[int]:
        return [term for term in self.weights if term not in self.expansion_terms]


@dataclass(frozen=True, slots=True)
class Bm25Scorer:
    """BM25 within 0 and 1: divided by the limit that a row of nothing but the query's terms would approach."""

    term_weights: TermWeights
    postings: Postings
    average_length: float
    k1: float

    def score(self, terms: Iterable[int]) -> NDArray[np.float32]:
        """Score every row by these terms; only rows that have one are normalized by length."""
        scores = np.zeros(len(self.postings.lengths), np.float32)
        for term, term_rows, counts in self.postings.find_all(terms):
            # numpy indexes by intp unchecked, in half the time that it takes for smaller integers.
            rows = term_rows.astype(np.intp)
            norms = self._length_norms(self.postings.lengths.take(rows, mode="clip"))
            scores[rows] = scores.take(rows, mode="clip") + self._term_scores(term, counts, norms)
        return scores

    def add_terms(
        self, scores: NDArray[np.float32], rows: NDArray[np.intp], terms: Iterable[int]
    ) -> NDArray[np.float32]:
        """Add what these terms give to the scores of some rows."""
        scores, norms = scores.copy(), self._length_norms(self.postings.lengths[rows])
        row_numbers = rows.astype(self.postings.rows.dtype)
        for term, term_rows, counts in self.postings.find_all(terms):
            places = term_rows.searchsorted(row_numbers)
            # A place behind the end is clipped to the last row, which differs from the one looked for.
            matches = np.flatnonzero(term_rows.take(places, mode="clip") == row_numbers)
            scores[matches] += self._term_scores(term, counts[places[matches]], norms[matches])
        return scores

    def _length_norms(self, lengths: NDArray[np.uint32]) -> NDArray[np.float32]:
        return (self.k1 * (1.0 - B + B / self.average_length * lengths)).astype(np.float32)

    def _term_scores(
        self, term: int, counts: NDArray[np.uint8], length_norms: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        scores = counts.astype(np.float32)
        scores /= scores + length_norms
        scores *= np.float32(self.term_weights.weights[term] / self.term_weights.total_weight)
        return scores
