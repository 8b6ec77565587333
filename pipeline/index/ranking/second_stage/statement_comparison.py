"""Comparison of the best short statements with each other."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np
from numpy.typing import NDArray

from pipeline.index.ranking.analyzed_query import AnalyzedQuery
from pipeline.index.ranking.candidates import Candidates
from pipeline.index.ranking.learned.newer_statement import usual_likeness
from pipeline.index.ranking.query_intent import MAX_SPEAKER_NAME_CHARS
from pipeline.index.ranking.ranking_parameters import NEWER_CANDIDATES, NEWER_MAX_CHARS
from pipeline.index.ranking.second_stage.memory_chunk_support import MemoryChunkAlignment
from pipeline.index.segments.document_store import DocumentStore
from pipeline.packed_vectors import unpack
from pipeline.rows import Vector


@dataclass(frozen=True, slots=True)
class ComparedStatement:
    """A short candidate: place, score, cosine with the query, time, speaker (empty without a name), vector and text.

    `is_passage`: a chunk, and not a memory.
    """

    position: int
    score: float
    cosine: float
    time: tuple[date, int]
    speaker: str
    vector: Vector
    text: str
    is_passage: bool


@dataclass(frozen=True, slots=True)
class StatementComparison:
    """The best short statements, their cosines with each other, and the cosine each has with others anyway."""

    statements: list[ComparedStatement]
    cosines: NDArray[np.float32]
    usual: list[float | None]
    kind_log_odds: list[float | None]
    """Those that each tells the kind of answer that the question asks for; None where it asks for no known one."""
    are_of_another_kind: list[bool]
    """Whether each tells another kind of answer instead."""
    change_log_odds: list[float]
    """Those that each tells of a change."""
    meanings: NDArray[np.float32]
    """What the meanings of an older one (row) and a newer one (column) add to those that the newer answers instead."""

    def with_scores(self, candidates: Candidates) -> "StatementComparison":
        """The same with the scores that the candidates have now."""
        scored = [replace(each, score=float(candidates.scores[each.position])) for each in self.statements]
        return replace(self, statements=scored)

    def cosine(self, one: int, other: int) -> float:
        """The cosine of two statements."""
        return float(self.cosines[one, other])


def compare_best_statements(
    query: AnalyzedQuery, candidates: Candidates, aligned: MemoryChunkAlignment, documents: DocumentStore
) -> StatementComparison | None:
    """Compare the statements among the best candidates; None where there are fewer than two."""
    calibration = query.calibration
    if calibration.common_part is None or calibration.told_changes is None or calibration.answer_kinds is None:
        return None
    if calibration.statement_meanings is None:
        return None
    best = candidates.best_positions(NEWER_CANDIDATES).tolist()
    said = _facts_of_conversations(query, candidates, aligned, best)
    statements = [
        statement
        for position in best
        if (statement := _statement_at(query, candidates, documents, position, said.get(position, position)))
    ]
    if len(statements) < 2:
        return None
    directions = calibration.common_part.directions_of(np.stack([each.vector for each in statements]))
    likeness = directions @ directions.T
    usual = usual_likeness(likeness, candidates.document_ordinals[[each.position for each in statements]].tolist())
    told, others = calibration.answer_kinds.told_by(directions, query.asked_kind)
    changes = calibration.told_changes.log_odds(directions).tolist()
    meanings = calibration.statement_meanings.log_odds(directions)
    return StatementComparison(statements, likeness, usual, told, others, changes, meanings)


def _facts_of_conversations(
    query: AnalyzedQuery, candidates: Candidates, aligned: MemoryChunkAlignment, best: Sequence[int]
) -> dict[int, int]:
    """Return for each of the best that holds several lines where the fact in it is that is nearest to the question.

    Turns of a conversation are no statement, and their vector is none of one: what a memory has of them is compared.
    """
    talks = {at for at in best if candidates.is_chunk[at] and "\n" in candidates.text(at)}
    if not talks:
        return {}
    nearest: dict[int, tuple[float, int]] = {}
    for memory, chunk in zip(aligned.memory_positions.tolist(), aligned.chunk_positions.tolist(), strict=True):
        if chunk in talks and candidates.is_current[memory]:
            view, row = candidates.locate(memory)
            found = query.row_cosine(unpack(view.segment.columns.vectors[row])), memory
            nearest[chunk] = max(nearest.get(chunk, found), found)
    return {chunk: memory for chunk, (_, memory) in nearest.items()}


def _statement_at(
    query: AnalyzedQuery, candidates: Candidates, documents: DocumentStore, position: int, said_at: int
) -> ComparedStatement | None:
    """The statement at a position, in the words at another one; None for a longer text, or one without a vector."""
    view, row = candidates.locate(said_at)
    columns, document = view.segment.columns, documents.get(int(candidates.document_ordinals[position]))
    text, vector = columns.texts[row], unpack(columns.vectors[row])
    if document is None or len(text) > NEWER_MAX_CHARS or not vector.any():
        return None
    speaker, colon, _ = text[:MAX_SPEAKER_NAME_CHARS].partition(":")
    time = (document.effective_date, document.created_at)
    cosine = query.row_cosine(vector)
    if said_at != position:
        own, at = candidates.locate(position)
        cosine = max(cosine, query.row_cosine(unpack(own.segment.columns.vectors[at])))
    score, is_passage = float(candidates.scores[position]), bool(candidates.is_chunk[position])
    return ComparedStatement(position, score, cosine, time, speaker if colon else "", vector, text, is_passage)
