"""How well a row answers a question: BM25 of the row and of its document, and cosine, all bounded, fused.

Pure functions over arrays, the same for a namespace in memory and for one that is streamed from disk.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.index.cues import Cues
from pipeline.index.parameters import DOCUMENT_B, DOCUMENT_K1, K1, PASSAGE_K1, PRIOR_ROWS, B, Calibration
from pipeline.index.parts import ScorePart
from pipeline.index.postings import Postings
from pipeline.rows import Vector
from pipeline.text.terms import term_hashes, words


@dataclass(slots=True)
class Statistics:
    """What a namespace's rows say about the terms of one question; add rows up, then ask."""

    frequencies: dict[int, int]
    rows: dict[str, int] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    document_counts: dict[int, NDArray[np.float64]] = field(default_factory=dict)
    """By term, then by ordinal of the document: how often its passages have it."""
    document_lengths: NDArray[np.float64] = field(default_factory=lambda: np.zeros(1))

    def add(
        self, kind: str, postings: Postings, live: NDArray[np.bool_] | None, documents: NDArray[np.int32]
    ) -> None:
        """Count the live rows of a segment (None: all of them). `documents`: the ordinal each belongs to."""
        lengths = postings.lengths if live is None else postings.lengths * live
        for term in self.frequencies:
            rows, counts = postings.find(term)
            if live is not None:
                seen = live[rows]
                rows, counts = rows[seen], counts[seen]
            self.frequencies[term] += len(rows)
            if kind == "chunk" and len(rows):
                self.document_counts[term] = _sum(
                    self.document_counts.get(term), np.bincount(documents[rows], counts)
                )
        if kind == "chunk" and len(documents):
            self.document_lengths = _sum(self.document_lengths, np.bincount(documents, lengths))
        rows_here = len(lengths) if live is None else int(np.count_nonzero(live))
        self.rows[kind] = self.rows.get(kind, 0) + rows_here
        self.lengths[kind] = self.lengths.get(kind, 0) + int(lengths.sum())

    def average(self, kind: str) -> float:
        """Mean number of terms of a row of this kind."""
        return max(self.lengths.get(kind, 0) / max(self.rows.get(kind, 0), 1), 1.0)

    def weights(self) -> "Weights":
        """Inverse document frequencies, smoothed for small namespaces."""
        total = sum(self.rows.values()) + PRIOR_ROWS
        return Weights(
            {term: math.log1p((total - count) / (count + 1.0)) for term, count in self.frequencies.items()}
        )

    def documents(self) -> NDArray[np.float32]:
        """BM25 of whole documents by ordinal, within 0 and 1; the last is 0, for those that came since."""
        lengths = self.document_lengths
        there = int(np.count_nonzero(lengths))
        slack = DOCUMENT_K1 * (
            1 - DOCUMENT_B + DOCUMENT_B * lengths / max(lengths.sum() / max(there, 1), 1.0)
        )
        scores, most = np.zeros(len(lengths) + 1), 0.0
        for term in self.frequencies:
            counts = self.document_counts.get(term)
            holding = 0 if counts is None else int(np.count_nonzero(counts))
            weight = math.log1p((there + 0.5 - holding) / (holding + 1.0))
            most += weight
            if counts is not None:
                scores[: len(counts)] += weight * counts / (counts + slack[: len(counts)])
        return (scores / (most or 1.0)).astype(np.float32)


def _sum(one: NDArray[np.float64] | None, other: NDArray[Any]) -> NDArray[np.float64]:
    """Element by element; the shorter ends in zeros."""
    other = other.astype(np.float64, copy=False)
    if one is None:
        return other
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    longer[: len(shorter)] += shorter
    return longer


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each term of a question in its namespace."""

    terms: Mapping[int, float]

    def word(self, word: str) -> float:
        """The weight of a word; 0 for a stopword."""
        return max(
            (self.terms.get(term, 0.0) for part in words(word) for term in term_hashes(part)), default=0.0
        )

    @property
    def total(self) -> float:
        """What all terms weigh together."""
        return sum(self.terms.values())


@dataclass(frozen=True, slots=True)
class Question:
    """Everything a row is scored by. `documents`: what each document as a whole scores, by ordinal."""

    weights: Weights
    vector: Vector
    scale: Calibration
    average: Callable[[str], float]
    documents: NDArray[np.float32]
    cues: Cues


def raw_scores(
    question: Question,
    kind: str,
    postings: Postings,
    vectors: NDArray[np.float32],
    documents: NDArray[np.int32],
) -> NDArray[np.float32]:
    """The raw score of every row of a segment, each belonging to the document of that ordinal."""
    parts = raw_parts(question, kind, postings, vectors, documents)
    _, scores = next(parts)
    for _, more in parts:
        scores += more
    return scores


def raw_parts(
    question: Question,
    kind: str,
    postings: Postings,
    vectors: NDArray[np.float32],
    documents: NDArray[np.int32],
) -> Iterator[tuple[ScorePart, NDArray[np.float32]]]:
    """What the raw score of every row is the sum of."""
    scale, saturation = question.scale, PASSAGE_K1 if kind == "chunk" else K1
    yield "words", scale.words * bm25(question.weights, postings, question.average(kind), saturation)
    yield "document", scale.documents * question.documents.take(documents, mode="clip")
    if scale.meaning and vectors.shape[1] == len(question.vector):
        yield "meaning", scale.meaning * (cosines(vectors, question.vector) - scale.floor)


def cosines(vectors: NDArray[np.float32], vector: Vector) -> NDArray[np.float32]:
    """The cosine of every row, all being of unit length.

    Row by row, not as a product with the matrix: the result does not depend on which rows lie together, and
    no second thread is called in, which on a busy machine takes longer than the work.
    """
    near: NDArray[np.float32] = np.vecdot(vectors, vector)
    return near


def bm25(weights: Weights, postings: Postings, average: float, k1: float) -> NDArray[np.float32]:
    """BM25 of every row, divided by what a row full of nothing but these terms would approach."""
    scores = np.zeros(len(postings.lengths), np.float32)
    most = weights.total
    for term, weight in weights.terms.items():
        rows, counts = postings.find(term)
        if len(rows):
            often = counts.astype(np.float32)
            slack = k1 * (1.0 - B + B / average * postings.lengths[rows].astype(np.float32))
            scores[rows] += np.float32(weight / most) * often / (often + slack)
    return scores


def best(scores: NDArray[np.float32], rows: NDArray[np.intp], limit: int) -> NDArray[np.intp]:
    """The `limit` rows of highest score among `rows`, best first; equal scores in row order."""
    if len(rows) > limit:
        among = scores[rows]
        least = np.partition(among, len(rows) - limit)[len(rows) - limit]
        rows = rows[among >= least]
    return rows[np.argsort(-scores[rows], kind="stable")][:limit]
