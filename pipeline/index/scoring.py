"""How well a row answers a question: BM25 and cosine, both bounded, fused, and put on a scale of 0 to 1.

Pure functions over arrays, the same for a namespace in memory and for one that is streamed from disk.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pipeline.index.postings import Postings
from pipeline.rows import Vector
from pipeline.text.terms import term_hashes, words

# BM25 for short texts: on LoCoMo .9 and .4 find 62.1 % of the evidence in ten, the usual 1.2 and .75 61.5 %.
K1 = 0.9
B = 0.4
PRIOR_ROWS = 100
"""Rows without any of the terms that every namespace is thought to hold besides its own: in one of five rows,
a word in two of them still says something. No effect beyond some hundred rows."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """From the two scores to the similarity that callers see and cut.

    raw = words * bm25 + meaning * (cosine - floor), bm25 and cosine within 0 and 1;
    similarity = 1 / (1 + exp((middle - raw) / width)).
    """

    words: float
    meaning: float
    middle: float
    width: float
    floor: float = 0.0

    def similarity(self, raw: float) -> float:
        """Within 0 and 1; grows with `raw`."""
        return 1.0 / (1.0 + math.exp(min((self.middle - raw) / self.width, 700.0)))

    def cut(self, threshold: float) -> float:
        """The raw score that has this similarity."""
        if threshold <= 0.0:
            return -math.inf
        if threshold >= 1.0:
            return math.inf
        return self.middle + self.width * math.log(threshold / (1.0 - threshold))


# Weights 10 and 8: the best or within half a point of it on LoCoMo, Cranfield, SciFact and Vaswani. Middle
# and width: fitted on LoCoMo (turns, chunks of 800 characters, namespaces of 12 turns) and Cranfield so that
# a similarity of 0.3 lies between the best evidence and what foreign questions reach: docs/benchmarks.md.
WORDLLAMA = Calibration(words=10.0, meaning=8.0, middle=4.0, width=1.9)
# Without vectors only half of the scale is ever reached, so it is stretched.
NONE = Calibration(words=10.0, meaning=0.0, middle=2.5, width=1.4)
# Models of sentences give unrelated texts a cosine of 0.1 to 0.2, which is no relation. An estimate from
# published cosines, not a fit: there was no such model to fit on.
SENTENCES = Calibration(words=10.0, meaning=10.0, middle=4.0, width=1.9, floor=0.15)


def calibration(embedder: str) -> Calibration:
    """The scale that belongs to an embedder, by its name."""
    if embedder == "none":
        return NONE
    return WORDLLAMA if embedder.startswith("wordllama") else SENTENCES


@dataclass(slots=True)
class Statistics:
    """What a namespace's rows say about the terms of one question; add rows up, then ask."""

    frequencies: dict[int, int]
    rows: dict[str, int] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str, postings: Postings, live: NDArray[np.bool_] | None) -> None:
        """Count the live rows of a segment (None: all of them)."""
        for term in self.frequencies:
            rows, _ = postings.find(term)
            self.frequencies[term] += len(rows) if live is None else int(np.count_nonzero(live[rows]))
        if live is None:
            rows_here, length = len(postings.lengths), int(postings.lengths.sum())
        else:
            rows_here, length = int(np.count_nonzero(live)), int(postings.lengths[live].sum())
        self.rows[kind] = self.rows.get(kind, 0) + rows_here
        self.lengths[kind] = self.lengths.get(kind, 0) + length

    def average(self, kind: str) -> float:
        """Mean number of terms of a row of this kind."""
        return max(self.lengths.get(kind, 0) / max(self.rows.get(kind, 0), 1), 1.0)

    def weights(self) -> "Weights":
        """Inverse document frequencies, smoothed for small namespaces."""
        total = sum(self.rows.values()) + PRIOR_ROWS
        return Weights(
            {term: math.log1p((total - count) / (count + 1.0)) for term, count in self.frequencies.items()}
        )


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
    """Everything a row is scored by."""

    weights: Weights
    vector: Vector
    scale: Calibration
    average: Callable[[str], float]


def raw_scores(
    question: Question, kind: str, postings: Postings, vectors: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The raw score of every row of a segment."""
    scores = question.scale.words * bm25(question.weights, postings, question.average(kind))
    if question.scale.meaning and vectors.shape[1] == len(question.vector):
        scores += question.scale.meaning * (cosines(vectors, question.vector) - question.scale.floor)
    return scores


def cosines(vectors: NDArray[np.float32], vector: Vector) -> NDArray[np.float32]:
    """The cosine of every row, all being of unit length.

    Row by row, not as a product with the matrix: the result does not depend on which rows lie together, and
    no second thread is called in, which on a busy machine takes longer than the work.
    """
    near: NDArray[np.float32] = np.vecdot(vectors, vector)
    return near


def bm25(weights: Weights, postings: Postings, average: float) -> NDArray[np.float32]:
    """BM25 of every row, divided by what a row full of nothing but these terms would approach."""
    scores = np.zeros(len(postings.lengths), np.float32)
    most = weights.total * (K1 + 1.0)
    for term, weight in weights.terms.items():
        rows, counts = postings.find(term)
        if len(rows):
            often = counts.astype(np.float32)
            slack = K1 * (1.0 - B + B / average * postings.lengths[rows].astype(np.float32))
            scores[rows] += np.float32(weight * (K1 + 1.0) / most) * often / (often + slack)
    return scores


def best(scores: NDArray[np.float32], rows: NDArray[np.intp], limit: int) -> NDArray[np.intp]:
    """The `limit` rows of highest score among `rows`, best first; equal scores in row order."""
    if len(rows) > limit:
        among = scores[rows]
        least = np.partition(among, len(rows) - limit)[len(rows) - limit]
        rows = rows[among >= least]
    return rows[np.argsort(-scores[rows], kind="stable")][:limit]
