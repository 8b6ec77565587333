"""Weights of the first stage for each embedder, and the mapping from raw scores to similarity."""

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.index.ranking.learned.answer_kinds import AnswerKinds, AskedKind
from pipeline.index.ranking.learned.life_topics import AskedTopic, LifeTopics
from pipeline.index.ranking.learned.statement_directions import AnswerBias, StatementMeanings, ToldChanges
from pipeline.index.segments.common_part import E5_FILE, E5_WITH_ENCODER_FILE, CommonPart, read_common_part
from pipeline.rows import Vector


@dataclass(frozen=True, slots=True)
class DescribedTopics:
    """Topics of somebody's life, divided among descriptions: `shares` (descriptions, topics)."""

    common_part: CommonPart
    life_topics: LifeTopics
    shares: NDArray[np.float32]

    def told_by(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """The probability that a statement tells what a description names: (statements, descriptions)."""
        probabilities: NDArray[np.float32] = (
            self.life_topics.told_by(self.common_part.directions_of(vectors)) @ self.shares.T
        )
        return probabilities


@dataclass(frozen=True, slots=True)
class Calibration:
    """Weights of the first stage, and the mapping from raw scores to similarity.

    raw score = bm25_weight * bm25^2 + document_weight * bm25 of the document
    + vector_weight * (cosine - the query's floor), where each score is within 0 and 1;
    similarity = 1 / (1 + exp((midpoint - raw score) / width)).
    """

    bm25_weight: float
    document_weight: float
    vector_weight: float
    midpoint: float
    width: float = 1.0
    cosine_floor: float = 0.0
    full_word_evidence: float = 0.0
    """Sum of the weights of a question's words from which words count in full, and below it in proportion; 0 for none.

    A word of one row weighs 4 in a namespace of ten rows and 8 in one of 5,000.
    """
    common_part: CommonPart | None = None
    """Taken out of both sides before their cosine; None for the plain cosine."""
    answer_bias: AnswerBias | None = None
    answer_kinds: AnswerKinds | None = None
    life_topics: LifeTopics | None = None
    told_changes: ToldChanges | None = None
    statement_meanings: StatementMeanings | None = None

    def similarity(self, raw_score: float) -> float:
        """The similarity of a raw score: within 0 and 1, monotonic."""
        return 1.0 / (1.0 + math.exp(min((self.midpoint - raw_score) / self.width, 700.0)))

    def raw_score_at(self, similarity: float) -> float:
        """The raw score that has this similarity."""
        if similarity <= 0.0:
            return -math.inf
        if similarity >= 1.0:
            return math.inf
        return self.midpoint + self.width * math.log(similarity / (1.0 - similarity))

    def query_direction(self, vector: Vector) -> Vector:
        """The query's vector as it is compared."""
        if self.common_part is None or not vector.any():
            return vector
        direction = self.common_part.query_direction(vector)
        return direction if self.answer_bias is None else direction - self.answer_bias.near_all

    def asked_kind(self, vector: Vector) -> AskedKind | None:
        """The kind of answer that a query asks for; None where it asks for no known one."""
        if self.common_part is None or self.answer_kinds is None:
            return None
        return self.answer_kinds.asked_for(self.common_part.query_direction(vector))

    def asked_topic(self, vector: Vector) -> AskedTopic | None:
        """The topic of somebody's life that a query names; None where it asks for one thing."""
        if self.common_part is None or self.life_topics is None:
            return None
        return self.life_topics.named_by(self.common_part.query_direction(vector))

    def described_topics(self, vectors: NDArray[np.float32]) -> DescribedTopics | None:
        """The topics of somebody's life that descriptions name; None where none are learned."""
        if self.common_part is None or self.life_topics is None:
            return None
        directions = np.stack([*map(self.common_part.query_direction, vectors)])
        return DescribedTopics(self.common_part, self.life_topics, self.life_topics.divide(directions))

    def query_floor(self, vector: Vector, row_count: int) -> float:
        """Return the cosine up to which vectors are not evidence, which depends on the kind of question as well."""
        floor = self.usual_floor(vector, row_count)
        if self.common_part is None or self.answer_bias is None:
            return floor
        return floor + float(self.common_part.query_direction(vector) @ self.answer_bias.question_weights)

    def usual_floor(self, vector: Vector, row_count: int) -> float:
        """Return the floor of a question of any kind: higher for unusual questions and in large namespaces.

        The less a question is like others, and the more it is like any everyday statement, the higher its cosines
        with everything; and the more rows there are, the higher the best cosine among those that have nothing to do
        with it.
        """
        if self.common_part is None:
            return self.cosine_floor
        typicality = float(vector @ self.common_part.query_mean)
        likeness = float(self.common_part.query_direction(vector) @ self.common_part.everyday)
        rows = FLOOR_PER_ROWS * math.log10(max(row_count, 1))
        return self.cosine_floor + rows + likeness - FLOOR_PER_TYPICALITY * (typicality - USUAL_TYPICALITY)


FULL_WORD_EVIDENCE = 12.0
"""Of a question of fewer and commoner words ("where do I live?") their match proves little: with 8, 12, 16 and 24 the
open half of LoCoMo has 88.3, 88.7, 88.6 and 87.6 % of its evidence within 720 tokens, 87.9 without (decision 0043)."""
FLOOR_PER_TYPICALITY = 2.0
USUAL_TYPICALITY = 0.78
FLOOR_PER_ROWS = 0.05
"""What raises the floor of cosines: the distance of a question from the mean question, and each factor of ten of
rows. Fitted on five collections so that of the open half's questions about 2 % lose their answer (decision 0043)."""

# Without vectors: 0.3 is a fifth of the greatest BM25 score. WordLlama's and other models' are estimates.
BM25_ONLY_CALIBRATION = Calibration(bm25_weight=14.0, document_weight=2.0, vector_weight=0.0, midpoint=1.4)
WORDLLAMA_CALIBRATION = Calibration(
    bm25_weight=14.0, document_weight=2.0, vector_weight=5.0, midpoint=1.8, cosine_floor=0.1
)
# Sentence models give unrelated texts a cosine of 0.1 to 0.2.
SENTENCE_MODEL_CALIBRATION = Calibration(
    bm25_weight=14.0, document_weight=2.0, vector_weight=7.0, midpoint=1.3, cosine_floor=0.2
)


E5_NAME = "multilingual-e5-small"
E5_WITH_ENCODER_NAME = "multilingual-e5-small with sentence encoder"
"""Names of the embedders whose vectors have a known common part."""
_LEARNED = {
    E5_NAME: ("e5", E5_FILE, 8.0, 0.75),
    E5_WITH_ENCODER_NAME: ("e5_with_encoder", E5_WITH_ENCODER_FILE, 9.0, 0.7),
}
"""What their files begin with, the common part, and the weight of vectors and midpoint."""


def learned_file(embedder_name: str, what: str) -> Path:
    """The file of what was learned for the vectors of an embedder."""
    return Path(__file__).parent / "learned" / f"{_LEARNED[embedder_name][0]}_{what}.npy"


@cache
def _learned_calibration(embedder_name: str) -> Calibration:
    def read(what: str) -> NDArray[np.float32]:
        rows: NDArray[np.float32] = np.load(learned_file(embedder_name, what)).astype(np.float32)
        return rows

    _, common_part, vector_weight, midpoint = _LEARNED[embedder_name]
    changes = read("told_changes")
    return Calibration(
        bm25_weight=16.0,
        document_weight=2.0,
        vector_weight=vector_weight,
        midpoint=midpoint,
        cosine_floor=0.05,
        full_word_evidence=FULL_WORD_EVIDENCE,
        common_part=read_common_part(common_part),
        answer_bias=AnswerBias(*read("answer_bias")),
        answer_kinds=AnswerKinds.from_rows(read("answer_kinds")),
        life_topics=LifeTopics(*read("life_topics")),
        told_changes=ToldChanges(changes[:-1], float(changes[-1])),
        statement_meanings=StatementMeanings(*read("statement_meanings")),
    )


def calibration_for(embedder_name: str) -> Calibration:
    if embedder_name in _LEARNED:
        return _learned_calibration(embedder_name)
    if embedder_name == "none":
        return BM25_ONLY_CALIBRATION
    return WORDLLAMA_CALIBRATION if embedder_name.startswith("wordllama") else SENTENCE_MODEL_CALIBRATION
