"""The rows that score best by what the index knows of them: of few all, of many by their codes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.index.documents import DocumentSide
from pipeline.index.hits import Kind, Wanted
from pipeline.index.live import Visible, look
from pipeline.index.parameters import CANDIDATES, EXACT_ROWS, NOMINATED
from pipeline.index.parts import Parts, ScorePart
from pipeline.index.scoring import Question, best, meaning, of_documents, of_meaning
from pipeline.index.segments import C
from pipeline.rows import ChunkColumns, MemoryColumns

Part = Visible[ChunkColumns] | Visible[MemoryColumns]
SAME = 4
"""Decimals of a score that count for the order; below, it is rounding."""


class Scored(NamedTuple):
    """A row and its raw score. `gave`: what that is made of, where an explanation is asked for."""

    score: float
    part: Part
    row: int
    gave: Parts | None = None

    def gaining(self, name: ScorePart, amount: float) -> "Scored":
        """The same row with so much more, or less."""
        gave = None if self.gave is None else {**self.gave, name: self.gave.get(name, 0.0) + amount}
        return Scored(self.score + amount, self.part, self.row, gave)

    @property
    def kind(self) -> Kind:
        """What it is."""
        return kind_of(self.part)

    @property
    def text(self) -> str:
        """What it says."""
        return self.part.segment.columns.texts[self.row]

    @property
    def document(self) -> int:
        """The ordinal of the document it is seen with."""
        return int(self.part.documents[self.row])


def candidates(
    question: Question,
    wanted: Wanted,
    documents: DocumentSide,
    passing: NDArray[np.bool_] | None,
    parts: Iterable[Part],
) -> list[Scored]:
    """At least CANDIDATES of either kind, if there are as many, in no order.

    `passing` says by ordinal which documents the filter lets through.
    """
    most = max(wanted.limit, CANDIDATES)
    seen = list(passed(parts, documents, passing))  # type: ignore[misc]  # segments of either kind
    exact = sum(len(part.segment) for part in seen) <= EXACT_ROWS
    looked: dict[Kind, list[_Rows]] = {}
    for part in seen:
        rows = np.flatnonzero(visible(part, forgotten=wanted.forgotten))
        looked.setdefault(kind_of(part), []).append(_best(question, part, rows, most, exact=exact))
    found = [one for some in looked.values() for one in _best_of(some, most)]
    return [
        one for some in found for one in (_explained(question, some) if wanted.explained else some.scored())
    ]


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of a segment and their scores."""

    part: Part
    rows: NDArray[np.intp]
    scores: NDArray[np.float32]

    def scored(self) -> list[Scored]:
        """One by one."""
        pairs = zip(self.scores.tolist(), self.rows.tolist(), strict=True)
        return [Scored(score, self.part, row) for score, row in pairs]


def _best_of(found: Sequence[_Rows], most: int) -> list[_Rows]:
    """The best `most` of all, with whatever ties with the last."""
    every = np.concatenate([one.scores for one in found])
    if len(every) <= most:
        return list(found)
    least = np.partition(every, len(every) - most)[len(every) - most] - 10.0**-SAME
    kept = [(one, one.scores >= least) for one in found]
    return [_Rows(one.part, one.rows[keep], one.scores[keep]) for one, keep in kept]


def _best(question: Question, part: Part, rows: NDArray[np.intp], most: int, *, exact: bool) -> _Rows:
    """The `most` best of these rows of a segment."""
    words, documents = question.words(kind_of(part), part.segment.postings), part.documents
    vectors, codes, scale = part.segment.columns.vectors, part.segment.codes, question.scale.words
    nominated = most * NOMINATED
    if not exact and codes is not None and question.compares(vectors) and len(rows) > nominated:
        told = words.every(question.weights.telling)
        rough = scale * told + of_documents(question, documents)
        rows = np.sort(best(rough + of_meaning(question, codes.near(question.vector)), rows, nominated))
        scores = scale * words.more(told[rows], rows, question.weights.passed_over)
        scores += of_documents(question, documents[rows])
        scores += meaning(question, vectors[rows])
        chosen = best(scores, np.arange(len(rows)), most)
        return _Rows(part, rows[chosen], scores[chosen])
    scores = scale * words.every() + of_documents(question, documents)
    if question.compares(vectors):
        scores += meaning(question, vectors)
    rows = best(scores, rows, most)
    return _Rows(part, rows, scores[rows])


def _explained(question: Question, found: _Rows) -> list[Scored]:
    """One by one, each with what its score is made of."""
    part, rows, segment = found.part, found.rows, found.part.segment
    words = question.words(kind_of(part), segment.postings)
    told = words.more(np.zeros(len(rows), np.float32), rows, question.weights.terms)
    gave: dict[ScorePart, list[float]] = {
        "words": (question.scale.words * told).tolist(),
        "document": of_documents(question, part.documents[rows]).tolist(),
    }
    if question.compares(segment.columns.vectors):
        gave["meaning"] = meaning(question, segment.columns.vectors[rows]).tolist()
    return [
        one._replace(gave={name: amounts[at] for name, amounts in gave.items()})
        for at, one in enumerate(found.scored())
    ]


def top(found: list[Scored], limit: int) -> list[Scored]:
    """The best, with whatever ties with the last, so that ids decide."""
    if len(found) <= limit:
        return found
    found.sort(key=lambda one: -one.score)
    least = found[limit - 1].score - 10.0**-SAME
    return [one for one in found if one.score >= least]


def kind_of(part: Part) -> Kind:
    """What kind of rows a segment holds."""
    return "chunk" if isinstance(part.segment.columns, ChunkColumns) else "memory"


def passed(
    parts: Iterable[Visible[C]], documents: DocumentSide, passing: NDArray[np.bool_] | None
) -> Iterable[Visible[C]]:
    """The segments with only the rows that a filter lets through."""
    return parts if passing is None else [look(part.segment, documents, passing) for part in parts]


def visible(part: Part, *, forgotten: bool) -> NDArray[np.bool_]:
    """Which rows may be results: those that are seen, and, of memories, the newest versions."""
    columns = part.segment.columns
    if isinstance(columns, MemoryColumns):
        allowed = columns.is_latest & ~columns.forgotten
        if forgotten:
            allowed |= columns.forgotten
    else:
        allowed = np.ones(len(part.segment), np.bool_)
    if part.mask is not None:
        allowed &= part.mask
    return allowed
