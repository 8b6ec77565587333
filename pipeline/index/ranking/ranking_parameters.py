"""All parameters of the ranking, and their sources.

The weights of the first stage were chosen for e5 on LoCoMo's development conversations, Cranfield, Chroma's
chunking texts, guides in five languages and the open half of `bench.paraphrases`, none alone. docs/benchmarks.md
has the effect of each part, decision 0043 the steps.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from pipeline.index.ranking.learned.answer_bias import (
    E5_BIAS_FILE,
    E5_WITH_ENCODER_BIAS_FILE,
    AnswerBias,
    read_answer_bias,
)
from pipeline.index.ranking.learned.answer_kinds import (
    E5_KINDS_FILE,
    E5_WITH_ENCODER_KINDS_FILE,
    AnswerKinds,
    AskedKind,
    read_answer_kinds,
)
from pipeline.index.ranking.learned.told_changes import (
    E5_CHANGES_FILE,
    E5_WITH_ENCODER_CHANGES_FILE,
    ToldChanges,
    read_told_changes,
)
from pipeline.index.ranking.search_request_and_hits import RowKind
from pipeline.index.segments.common_part import E5_FILE, E5_WITH_ENCODER_FILE, CommonPart, read_common_part
from pipeline.rows import Vector
from pipeline.text.context_terms import OWN_TERM_WEIGHT

# BM25 for short texts: on LoCoMo 0.9 and 0.4 find 62.1 % of the evidence in ten results; the usual 1.2 and
# 0.75 find 61.5 %.
K1 = 0.9
B = 0.4
CHUNK_K1 = OWN_TERM_WEIGHT * K1
"""Chunk terms are counted OWN_TERM_WEIGHT times, so saturation starts at as many times the count."""
ASKER_NAME_FACTOR = 0.3
"""Share of their weight that words of the asker's own name keep. By 0 to 0.5 the same 34 of 39 open questions of
`bench.datasets.asked_by_name` are answered first; what others write names the asker, so it is not 0."""
IDF_PRIOR_ROWS = 100
"""Rows without any query term that are added to every namespace for the IDF, so that in five rows a word of
two rows still weighs something. No effect beyond a few hundred rows."""
DOCUMENT_K1 = 3.6
DOCUMENT_B = 0.75
"""Textbook BM25 for whole documents: 1.2 and 0.75, at about three counts for each word of a document."""

MULTI_ANSWER_DOCUMENT_FACTOR = 0.3
"""Factor on document scores for questions about several things, whose answers are spread over documents. On
LoCoMo 1.5 points more of their evidence is within 2,000 tokens; leave-one-conversation-out training gives
0 to 0.15 (decision record 0014)."""

SECOND_STAGE_CANDIDATES: Mapping[RowKind, int] = {"chunk": 256, "memory": 128}
"""Rows that get second-stage ranking. 128 chunks lose 0.2 points of LoCoMo's evidence within 2,000 tokens; 64
memories find 0.7 points less by themselves."""
MAX_EXACT_SCORING_ROWS = 4_096
RESCORE_CANDIDATES = 640
"""Largest namespace with exact cosines for all rows, and the number of rows per segment that get exact cosines
above it: faster from that size on, with the same ten results (decision record 0012)."""
COMMON_TERM_ROW_SHARE = 0.05
MAX_DEFERRED_WEIGHT_SHARE = 0.2
"""Terms in more than this share of the rows are scored only for preselected rows, as long as they have at most
this share of the query's weight."""
SPEAKER_BOOST = 0.8
"""Gain of a chunk spoken entirely by somebody the query names; else in proportion to the share of its text."""
TIME_BOOST = 2.7
NUMBER_BOOST = 1.0
"""Gain of a text with a time for a query that asks when, and with a number for one that asks how many."""
DATE_BOOST = 3.0
DATE_DECAY_DAYS = 10.0
"""Gain of a document of the time that the query names, and the days after which the gain falls to 1/e."""
FULL_CUE_SIMILARITY = 0.3
CUE_DECAY_SCORE = 6.0
"""Similarity from which a speaker, a time, a number or a date counts in full (below it counts in proportion), and the
distance to the best score at which it counts by 1/e: it orders what answers about as well, and lifts nothing else."""
CUE_LEAD_SHARE = 0.1
"""Share that counts of a lead over the best score without cues: they order, but an unrelated statement that has a time
or a number is no surer answer for it."""
FEATURE_RANKS_PER_RESULT = 3
MIN_FEATURE_RANKS = 50
"""A text is read for speakers, times and numbers if these can lift it to this multiple of the number of results, or to
this rank: a third less work in conversations, where all texts have speakers (decision 0014)."""
NEWER_MAX_CHARS = 160
NEWER_CANDIDATES = 8
"""Of so many of the best statements, short ones, a newer one may answer instead of an older one (`newer_statement`)."""
ALIKE_MIN_COSINE = 0.22
"""Least cosine of a relative's statement and the asker's own about the same thing. On the open half of
`bench.paraphrases` nine of ten statements that replace another have this cosine to it, and one of a hundred pairs of
other facts."""
NEWEST_MAX_DIFFERENCE = 0.15
"""How much lower the sum of a statement's cosines to the replaced one and to the question may be than the largest such
sum, for it to be raised because it is newest."""
RELATIVE_MAX_SIMILARITY = 0.35
"""Highest similarity of a short statement about a relative or friend to a question about the asker alone."""
NO_NUMBER_MAX_SIMILARITY = 0.25
"""Highest similarity of a short statement without a number to a question that asks for one: below the default
threshold, and found with a lower one."""
OTHER_RELATIVE_MAX_SIMILARITY = 0.25
"""The same of a short statement about another relative or friend to a question about one of the asker's."""
TELLING_LOG_ODDS = 1.0
NOT_TELLING_LOG_ODDS = 0.0
TELLING_MAX_LEAD = 1.0
"""Log-odds above and below which a statement tells the kind of answer asked for, or does not; and the raw score by
which the latter may lead and still comes after the former."""
NEIGHBOR_SHARE = 0.6
NEIGHBOR_MAX_CHARS = 600
"""Share of the cosine lead of the passage before or after that a passage gains; less the longer the
passage is, and none from NEIGHBOR_MAX_CHARS: a turn of a conversation depends on the turn before it."""
MEMORY_SUPPORT_FACTOR = 0.2
"""Share of the score of its best memory that a chunk gains."""
STATED_IN_CHUNK_PENALTY = 3.0
"""Penalty for a memory whose source chunk already ranks higher."""
OUTDATED_CHUNK_PENALTY = 3.0
"""Penalty for a chunk whose best memory was superseded or forgotten. Equal to STATED_IN_CHUNK_PENALTY, so that
of chunks that answer alike the valid one comes first. Not learned."""
MIN_ANSWER_SIMILARITY = 0.3
"""Similarity from which such a memory counts as an answer: the default threshold of searches."""


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
    common_part: CommonPart | None = None
    """Taken out of both sides before their cosine; None for the plain cosine."""
    answer_bias: AnswerBias | None = None
    answer_kinds: AnswerKinds | None = None
    told_changes: ToldChanges | None = None

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


@cache
def _e5_calibration() -> Calibration:
    return Calibration(
        bm25_weight=16.0,
        document_weight=2.0,
        vector_weight=8.0,
        midpoint=0.75,
        cosine_floor=0.05,
        common_part=read_common_part(E5_FILE),
        answer_bias=read_answer_bias(E5_BIAS_FILE),
        answer_kinds=read_answer_kinds(E5_KINDS_FILE),
        told_changes=read_told_changes(E5_CHANGES_FILE),
    )


@cache
def _e5_with_encoder_calibration() -> Calibration:
    return replace(
        _e5_calibration(),
        vector_weight=9.0,
        midpoint=0.7,
        common_part=read_common_part(E5_WITH_ENCODER_FILE),
        answer_bias=read_answer_bias(E5_WITH_ENCODER_BIAS_FILE),
        answer_kinds=read_answer_kinds(E5_WITH_ENCODER_KINDS_FILE),
        told_changes=read_told_changes(E5_WITH_ENCODER_CHANGES_FILE),
    )


def calibration_for(embedder_name: str) -> Calibration:
    """The calibration for an embedder, by its name."""
    if embedder_name == "none":
        return BM25_ONLY_CALIBRATION
    if embedder_name == E5_NAME:
        return _e5_calibration()
    if embedder_name == E5_WITH_ENCODER_NAME:
        return _e5_with_encoder_calibration()
    return WORDLLAMA_CALIBRATION if embedder_name.startswith("wordllama") else SENTENCE_MODEL_CALIBRATION


E5_NAME = "multilingual-e5-small"
E5_WITH_ENCODER_NAME = "multilingual-e5-small with sentence encoder"
"""Names of the embedders whose vectors have a known common part."""
