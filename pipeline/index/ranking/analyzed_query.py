"""A query ready for scoring, and the first-stage score of a row: words of row and document, and meaning."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.index.ranking.array_operations import cosines
from pipeline.index.ranking.bm25_scorer import Bm25Scorer, TermWeights
from pipeline.index.ranking.calibration import Calibration
from pipeline.index.ranking.learned.answer_kinds import AskedKind
from pipeline.index.ranking.learned.life_topics import OWN_SHARE, AskedTopic
from pipeline.index.ranking.learned.newer_statement import StatementPair, answers_instead
from pipeline.index.ranking.query_intent import QueryIntent
from pipeline.index.ranking.ranking_parameters import (
    CHUNK_K1,
    FEW_ROWS_EVIDENCE,
    K1,
    MAX_LOOKUP_WORDS,
    NEIGHBOR_MAX_CHARS,
    NEIGHBOR_SHARE,
    WORD_ROWS,
)
from pipeline.index.segments.binary_quantization import SignBitCodes
from pipeline.index.segments.postings import Postings
from pipeline.index.segments.segment import Segment
from pipeline.index.segments.segment_list import SegmentView
from pipeline.packed_vectors import packed_dimensions
from pipeline.rows import ChunkColumns, MemoryColumns, PackedVectors, Vector


@dataclass(frozen=True, slots=True)
class _Meant:
    """A direction that vectors are compared with, and the product with it that counts neither for nor against a row."""

    direction: Vector
    floor: float


@dataclass(frozen=True, slots=True)
class AnalyzedQuery:
    """Terms, vector and parameters of a query for scoring; `document_scores`: BM25 of whole documents by ordinal."""

    term_weights: TermWeights
    vector: Vector
    direction: Vector
    """The vector without what all questions have in common, of unit length."""
    cosine_floor: float
    """The cosine at which meaning counts neither for nor against a row."""
    calibration: Calibration
    average_length: Callable[[str], float]
    document_scores: NDArray[np.float32]
    intent: QueryIntent
    row_count: int = 0
    """Number of the namespace's passages or memories, whichever are more."""
    asked_kind: AskedKind | None = None
    topic: AskedTopic | None = None
    """The topic that the query names, all of whose statements are meant."""
    unknown_names: tuple[str, ...] = ()
    """Folded names in the query that no row of the namespace has."""
    verbatim_parts: tuple[str, ...] = ()
    """Parts of the query, in lower case, that a text should have word for word."""
    answers_instead: Callable[[StatementPair], bool] = answers_instead
    """Whether a newer statement answers instead of an older one; a measurement may record what is compared."""

    def bm25(self, kind: str, postings: Postings) -> Bm25Scorer:
        """The scorer of a segment's rows, whose scores `bm25_contribution` weighs."""
        k1 = CHUNK_K1 if kind == "chunk" else K1
        return Bm25Scorer(self.term_weights, postings, self.average_length(kind), k1)

    def vectors_comparable(self, vectors: PackedVectors) -> bool:
        """Tell whether vectors count and come from the same embedder as the query's (same dimensions)."""
        return bool(self.calibration.vector_weight) and packed_dimensions(vectors) == len(self.vector)

    def bm25_contribution(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """Weighted squares of BM25 scores: one word of several is weak evidence, most of them are strong."""
        contribution: NDArray[np.float32] = self._word_share * self.calibration.bm25_weight * scores * scores
        return contribution

    def document_contribution(self, document_ordinals: NDArray[np.int32]) -> NDArray[np.float32]:
        """Weighted scores of the documents that rows belong to."""
        scores: NDArray[np.float32] = self.document_scores.take(document_ordinals, mode="clip")
        return self._word_share * self.calibration.document_weight * scores

    @property
    def _word_share(self) -> np.float32:
        """The share of their weight that words count with: the only word of a question is found in many a text.

        And in a small namespace few rows are as near by meaning, while nobody knows how rare a word of one row is. But
        a row that has the one or two words that are looked for has all of them.
        """
        full = self.calibration.full_word_evidence
        if self.term_weights.own_count > MAX_LOOKUP_WORDS:
            full *= min(max(WORD_ROWS / max(self.row_count, 1), 1.0), FEW_ROWS_EVIDENCE)
        return np.float32(min(self.term_weights.total_weight / full, 1.0) if full else 1.0)

    def vector_contribution(
        self, segment: Segment[ChunkColumns] | Segment[MemoryColumns], rows: NDArray[np.intp] | None = None
    ) -> NDArray[np.float32]:
        """Weighted cosines of rows (None: all) without the common part, above the query's floor; and their topic."""
        meant = self._meant
        return self._weigh_products(segment, cosines(segment.columns.vectors, meant.direction, rows), meant, rows)

    def topic_contribution(
        self, topic: AskedTopic, segment: Segment[ChunkColumns] | Segment[MemoryColumns], rows: NDArray[np.intp]
    ) -> NDArray[np.float32]:
        """The part of `vector_contribution` by which rows tell the topic that the query names."""
        told = self._told_topic(topic)
        return self._weigh_products(segment, cosines(segment.columns.vectors, told.direction, rows), told, rows)

    def max_similarity_by_kind(
        self, kind: AskedKind, segment: Segment[ChunkColumns] | Segment[MemoryColumns], rows: NDArray[np.intp]
    ) -> NDArray[np.float32]:
        """The highest similarity of each row by the kind of answer that it tells; 1 for a row without a vector."""
        vectors = segment.columns.vectors[rows]
        products = self._without_common_part(segment, cosines(vectors, kind.weights), kind.weights, rows)
        highest = kind.max_similarity(products)
        if not self.intent.asks_about_asker and (kind.is_of_anything or self.intent.names_somebody):
            subjects = self._without_common_part(segment, cosines(vectors, kind.subject), kind.subject, rows)
            highest = np.minimum(highest, kind.max_similarity_by_subject(subjects, products))
        return np.where(vectors.any(axis=1), highest, np.float32(1.0))

    def neighbor_contribution(self, view: SegmentView[ChunkColumns], rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """A share of the lead that the better of the chunks before and after each row has by cosine; at least 0."""
        columns = view.segment.columns
        gains = np.zeros(len(rows), np.float32)
        lengths = (columns.ends[rows] - columns.starts[rows]).astype(np.float32)
        shares = NEIGHBOR_SHARE * np.maximum(1.0 - lengths / np.float32(NEIGHBOR_MAX_CHARS), 0.0)
        neighbors = [_adjacent_rows(view, rows, step) for step in (-1, 1)]
        gaining = np.flatnonzero((shares > 0.0) & np.logical_or(*(adjacent for _, adjacent in neighbors)))
        if len(gaining):  # most documents of a few sentences have one chunk
            own = self.vector_contribution(view.segment, rows[gaining])
            best = own.copy()
            for others, adjacent in neighbors:
                among = np.flatnonzero(adjacent[gaining])
                contribution = self.vector_contribution(view.segment, others[gaining[among]])
                best[among] = np.maximum(best[among], contribution)
            gains[gaining] = shares[gaining] * (best - own)
        return gains

    def approximate_vector_contribution(
        self, segment: Segment[ChunkColumns] | Segment[MemoryColumns], codes: SignBitCodes
    ) -> NDArray[np.float32]:
        """Estimate `vector_contribution` of every row: good for preselecting thousands, not as a score."""
        meant = self._meant
        return self._weigh_products(segment, codes.approximate_cosines(meant.direction), meant, None)

    def row_cosine(self, vector: Vector) -> float:
        """The cosine of a row's vector with the query, without the common part."""
        common = self.calibration.common_part
        if common is None:
            return float(vector @ self.direction)
        length = float(common.lengths(vector[None])[0])
        return float((vector - common.document_mean) @ self.direction) / length

    @property
    def _meant(self) -> _Meant:
        if self.topic is None:
            return _Meant(self.direction, self.cosine_floor)
        told = self._told_topic(self.topic)
        return _Meant(OWN_SHARE * self.direction + told.direction, OWN_SHARE * self.cosine_floor + told.floor)

    def _told_topic(self, topic: AskedTopic) -> _Meant:
        weight = self.calibration.vector_weight
        return _Meant(topic.weights / np.float32(weight), -topic.constant / weight)

    def _weigh_products(
        self,
        segment: Segment[ChunkColumns] | Segment[MemoryColumns],
        products: NDArray[np.float32],
        meant: _Meant,
        rows: NDArray[np.intp] | None,
    ) -> NDArray[np.float32]:
        products = self._without_common_part(segment, products, meant.direction, rows)
        contribution: NDArray[np.float32] = self.calibration.vector_weight * (products - np.float32(meant.floor))
        return contribution

    def _without_common_part(
        self,
        segment: Segment[ChunkColumns] | Segment[MemoryColumns],
        products: NDArray[np.float32],
        direction: Vector,
        rows: NDArray[np.intp] | None,
    ) -> NDArray[np.float32]:
        """Turn products of rows with a direction into those of the rows' own directions, in place."""
        common = self.calibration.common_part
        if common is not None:
            lengths = segment.length_cache.lengths(common, segment.columns.vectors)
            products -= np.float32(common.document_mean @ direction)
            products /= lengths if rows is None else lengths[rows]
        return products


def _adjacent_rows(
    view: SegmentView[ChunkColumns], rows: NDArray[np.intp], step: int
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The rows before (-1) or after (1) these, and whether each holds the chunk beside it in the same document."""
    positions = view.segment.columns.positions
    others = np.clip(rows + step, 0, len(positions) - 1)
    adjacent = positions[others] == positions[rows] + step
    return others, adjacent & (view.document_ordinals[others] == view.document_ordinals[rows])
