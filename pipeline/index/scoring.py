"""How well a row answers a question: BM25 of the row and of its document, and cosine, all bounded, fused.

Pure functions over arrays, the same whether these are held or mapped from disk.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pipeline.index.cues import Cues
from pipeline.index.parameters import (
    COMMON,
    DOCUMENT_B,
    DOCUMENT_K1,
    K1,
    PASSAGE_K1,
    PASSED_OVER,
    PRIOR_ROWS,
    B,
    Calibration,
)
from pipeline.index.postings import Postings
from pipeline.rows import Vector
from pipeline.text.terms import term_hashes, words

_MANY_DOCUMENTS = 4_096


@dataclass(frozen=True, slots=True)
class Lengths:
    """How many terms the passages of a document have together, from the document of ordinal `first` on."""

    first: int
    sums: NDArray[np.float64]

    @classmethod
    def of(cls, rows: NDArray[np.uint32], documents: NDArray[np.int32]) -> "Lengths":
        """From the lengths of rows and the documents they belong to."""
        if not len(documents):
            return cls(0, np.zeros(0))
        first = int(documents.min())
        return cls(first, np.bincount(documents - first, rows).astype(np.float64, copy=False))


@dataclass(frozen=True, slots=True)
class _Holding:
    """The rows of a segment that have a term, how often, and the documents of all its rows."""

    documents: NDArray[np.int32]
    rows: NDArray[np.uint16]
    counts: NDArray[np.uint8]


@dataclass(slots=True)
class Statistics:
    """What a namespace's rows say about the terms of one question; add rows up, then ask."""

    frequencies: dict[int, int]
    rows: dict[str, int] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    holding: dict[int, list[_Holding]] = field(default_factory=dict)
    """By term: the passages that have it."""
    document_lengths: NDArray[np.float64] = field(default_factory=lambda: np.zeros(1))
    """By ordinal of the document."""

    def add(
        self,
        kind: str,
        postings: Postings,
        live: NDArray[np.bool_] | None,
        documents: NDArray[np.int32],
        lengths: Lengths,
    ) -> None:
        """Count the live rows of a segment (None: all of them). `documents`: the ordinal each belongs to.

        `lengths`: those of the live rows.
        """
        for term, found, often in postings.find_all(self.frequencies):
            seen = slice(None) if live is None else live.take(found.astype(np.intp), mode="clip")
            rows, counts = found[seen], often[seen]
            self.frequencies[term] += len(rows)
            if kind == "chunk" and len(rows):
                self.holding.setdefault(term, []).append(_Holding(documents, rows, counts))
        if kind == "chunk":
            self._add_lengths(lengths)
        rows_here = len(documents) if live is None else int(np.count_nonzero(live))
        self.rows[kind] = self.rows.get(kind, 0) + rows_here
        self.lengths[kind] = self.lengths.get(kind, 0) + int(lengths.sums.sum())

    def _add_lengths(self, lengths: Lengths) -> None:
        last = lengths.first + len(lengths.sums)
        if last > len(self.document_lengths):
            grown = np.zeros(max(last, 2 * len(self.document_lengths)))
            grown[: len(self.document_lengths)] = self.document_lengths
            self.document_lengths = grown
        self.document_lengths[lengths.first : last] += lengths.sums

    def average(self, kind: str) -> float:
        """Mean number of terms of a row of this kind."""
        return max(self.lengths.get(kind, 0) / max(self.rows.get(kind, 0), 1), 1.0)

    def weights(self) -> "Weights":
        """Inverse document frequencies, smoothed for small namespaces."""
        total = sum(self.rows.values()) + PRIOR_ROWS
        weights = {
            term: math.log1p((total - count) / (count + 1.0)) for term, count in self.frequencies.items()
        }
        last = self._passed_over(weights)
        return Weights({term: weights[term] for term in sorted(weights, key=last.__contains__)}, last)

    def _passed_over(self, weights: Mapping[int, float]) -> frozenset[int]:
        common, left = set[int](), PASSED_OVER * sum(weights.values())
        most = COMMON * sum(self.rows.values())
        for term in sorted(weights, key=weights.__getitem__):
            left -= weights[term]
            if left < 0 or self.frequencies[term] <= most:
                break
            common.add(term)
        return frozenset(common)

    def documents(self) -> NDArray[np.float32]:
        """BM25 of whole documents by ordinal, within 0 and 1; the last is 0, for those that came since.

        By the telling terms: what is common among passages is in nearly every document.
        """
        lengths = self.document_lengths
        there = int(np.count_nonzero(lengths))
        average = max(lengths.sum() / max(there, 1), 1.0)
        scores, most = np.zeros(len(lengths) + 1), 0.0
        for term in self.weights().telling:
            documents, counts = self._counts(term)
            weight = math.log1p((there + 0.5 - len(documents)) / (len(documents) + 1.0))
            most += weight
            slack = DOCUMENT_K1 * (1 - DOCUMENT_B + DOCUMENT_B * lengths[documents] / average)
            scores[documents] += weight * counts / (counts + slack)
        return (scores / (most or 1.0)).astype(np.float32)

    def _counts(self, term: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """The documents that have a term, ascending, and how often."""
        parts = self.holding.get(term)
        if not parts:
            return np.zeros(0, np.intp), np.zeros(0)
        documents = np.concatenate(
            [one.documents.take(one.rows.astype(np.intp), mode="clip") for one in parts]
        )
        counts = np.concatenate([one.counts for one in parts])
        if len(self.document_lengths) > _MANY_DOCUMENTS and (documents[1:] >= documents[:-1]).all():
            # Where passages lie by document, as they are loaded, only those that have it are passed.
            first = np.append(0, np.flatnonzero(documents[1:] != documents[:-1]) + 1)
            return documents[first].astype(np.intp), np.add.reduceat(counts, first, dtype=np.float64)
        summed = np.bincount(documents, counts)
        held = np.flatnonzero(summed)
        return held, summed[held].astype(np.float64, copy=False)


@dataclass(frozen=True)
class Weights:
    """The weight of each term of a question in its namespace; those that are passed over come last."""

    terms: Mapping[int, float]
    passed_over: Collection[int] = ()
    """Common ones that weigh little together: in a large namespace they name nobody who deserves a look."""
    beside: Collection[int] = ()
    """Those that only stand beside the question's own."""

    @property
    def telling(self) -> Iterator[int]:
        """The others."""
        return (term for term in self.terms if term not in self.passed_over)

    def word(self, word: str) -> float:
        """The weight of a word; 0 for a stopword."""
        return max(
            (self.terms.get(term, 0.0) for part in words(word) for term in term_hashes(part)), default=0.0
        )

    @cached_property
    def total(self) -> float:
        """What the question's own terms weigh together."""
        return sum(weight for term, weight in self.terms.items() if term not in self.beside)


@dataclass(frozen=True, slots=True)
class Question:
    """Everything a row is scored by. `documents`: what each document as a whole scores, by ordinal."""

    weights: Weights
    vector: Vector
    scale: Calibration
    average: Callable[[str], float]
    documents: NDArray[np.float32]
    cues: Cues

    def words(self, kind: str, postings: Postings) -> "Bm25":
        """What the words of the rows of a segment say, without the weight that the scale gives to it."""
        return Bm25(self.weights, postings, self.average(kind), PASSAGE_K1 if kind == "chunk" else K1)

    def compares(self, vectors: NDArray[np.float32]) -> bool:
        """Whether vectors say something here: they come from the embedder that the question's came from."""
        return bool(self.scale.meaning) and vectors.shape[1] == len(self.vector)


def of_documents(question: Question, documents: NDArray[np.int32]) -> NDArray[np.float32]:
    """What their documents give to rows."""
    given: NDArray[np.float32] = question.documents.take(documents, mode="clip")
    return question.scale.documents * given


def meaning(question: Question, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """What the vectors of rows give to their raw scores."""
    near = cosines(vectors, question.vector)
    gained: NDArray[np.float32] = question.scale.meaning * (near - question.scale.floor)
    return gained


def cosines(vectors: NDArray[np.float32], vector: Vector) -> NDArray[np.float32]:
    """The cosine of every row, all being of unit length.

    Row by row, not as a product with the matrix: the result does not depend on which rows lie together, and
    no second thread is called in, which on a busy machine takes longer than the work.
    """
    near: NDArray[np.float32] = np.vecdot(vectors, vector)
    return near


@dataclass(frozen=True, slots=True)
class Bm25:
    """BM25 of the rows of a segment, divided by what one full of nothing but the terms would approach."""

    weights: Weights
    postings: Postings
    average: float
    k1: float

    def every(self) -> NDArray[np.float32]:
        """Of every row."""
        scores = np.zeros(len(self.postings.lengths), np.float32)
        slack = self._slack(self.postings.lengths)
        for term, found, counts in self.postings.find_all(self.weights.terms):
            # numpy picks by numbers of its own size, unchecked, in half the time it takes by small ones.
            rows = found.astype(np.intp)
            given = self._given(term, counts, slack.take(rows, mode="clip"))
            scores[rows] = scores.take(rows, mode="clip") + given
        return scores

    def telling(self) -> NDArray[np.float32]:
        """Of every row, without what is passed over. Few have a telling term, so only these are weighed."""
        scores = np.zeros(len(self.postings.lengths), np.float32)
        for term, found, counts in self.postings.find_all(self.weights.telling):
            rows = found.astype(np.intp)
            slack = self._slack(self.postings.lengths.take(rows, mode="clip"))
            scores[rows] = scores.take(rows, mode="clip") + self._given(term, counts, slack)
        return scores

    def more(
        self, scores: NDArray[np.float32], rows: NDArray[np.intp], terms: Iterable[int]
    ) -> NDArray[np.float32]:
        """Scores of some rows and what these terms add."""
        scores, slack = scores.copy(), self._slack(self.postings.lengths[rows])
        wanted = rows.astype(self.postings.rows.dtype)
        for term, found, counts in self.postings.find_all(terms):
            places = found.searchsorted(wanted)
            # Behind the last one comes the last one, which is none of those it is compared with.
            at = np.flatnonzero(found.take(places, mode="clip") == wanted)
            scores[at] += self._given(term, counts[places[at]], slack[at])
        return scores

    def _slack(self, lengths: NDArray[np.uint32]) -> NDArray[np.float32]:
        return (self.k1 * (1.0 - B + B / self.average * lengths)).astype(np.float32)

    def _given(self, term: int, counts: NDArray[np.uint8], slack: NDArray[np.float32]) -> NDArray[np.float32]:
        often = counts.astype(np.float32)
        often /= often + slack
        often *= np.float32(self.weights.terms[term] / self.weights.total)
        return often


def best(scores: NDArray[np.float32], rows: NDArray[np.intp], limit: int) -> NDArray[np.intp]:
    """The `limit` rows of highest score among `rows` (ascending), best first; equal scores in row order."""
    if len(rows) > limit:
        among = scores if len(rows) == len(scores) else scores[rows]
        least = np.partition(among, len(rows) - limit)[len(rows) - limit]
        rows = rows[among >= least]
    return rows[np.argsort(-scores[rows], kind="stable")][:limit]
