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
from pipeline.index.scoring import Question, best, meaning, of_documents
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
    def document(self) -> int:
        """The ordinal of the document it is seen with."""
        return int(self.part.documents[self.row])


@dataclass(frozen=True, slots=True)
class Look:
    """How segments are looked at for one question, each by itself and so in any thread."""

    question: Question
    wanted: Wanted
    documents: DocumentSide
    passing: NDArray[np.bool_] | None
    """By ordinal: which documents the filter lets through."""
    exact: bool
    """Whether every row gets its cosine."""

    def most(self, kind: Kind) -> int:
        """How many rows of a kind are candidates."""
        return max(self.wanted.limit, CANDIDATES[kind])

    def at(self, parts: Iterable[Part]) -> list["Found"]:
        """The best rows of each segment."""
        seen: Iterable[Part] = passed(parts, self.documents, self.passing)  # type: ignore[misc]  # either kind
        return [self._at(part) for part in seen]

    def _at(self, part: Part) -> "Found":
        rows = _rows(part, forgotten=self.wanted.forgotten, witnesses="chunk" in self.wanted.kinds)
        return _best(self.question, part, rows, self.most(kind_of(part)), exact=self.exact)

    def candidates(self, found: Iterable["Found"]) -> list[Scored]:
        """Of all segments at least as many of either kind as CANDIDATES says, where they are, in no order."""
        looked: dict[Kind, list[Found]] = {}
        for one in found:
            looked.setdefault(kind_of(one.part), []).append(one)
        best_of = [one for kind, some in looked.items() for one in _best_of(some, self.most(kind))]
        explained = self.wanted.explained
        return [
            one
            for some in best_of
            for one in (_explained(self.question, some) if explained else some.scored())
        ]


def few(parts: Sequence[Part]) -> bool:
    """Whether each of their rows is worth an exact cosine."""
    return sum(len(part.segment) for part in parts) <= EXACT_ROWS


def hands(parts: Sequence[Part], many: int) -> list[list[Part]]:
    """The segments in so many groups of about as many rows, or fewer."""
    groups: list[list[Part]] = [[] for _ in range(many)]
    for part in sorted(parts, key=lambda one: -len(one.segment)):
        min(groups, key=lambda some: sum(len(one.segment) for one in some)).append(part)
    return [some for some in groups if some]


@dataclass(frozen=True, slots=True)
class Found:
    """Rows of a segment and their scores."""

    part: Part
    rows: NDArray[np.intp]
    scores: NDArray[np.float32]

    def scored(self) -> list[Scored]:
        """One by one."""
        pairs = zip(self.scores.tolist(), self.rows.tolist(), strict=True)
        return [Scored(score, self.part, row) for score, row in pairs]


def _best_of(found: Sequence[Found], most: int) -> list[Found]:
    """The best `most` of all, with whatever ties with the last."""
    every = np.concatenate([one.scores for one in found])
    if len(every) <= most:
        return list(found)
    least = np.partition(every, len(every) - most)[len(every) - most] - 10.0**-SAME
    kept = [(one, one.scores >= least) for one in found]
    return [Found(one.part, one.rows[keep], one.scores[keep]) for one, keep in kept]


def _best(question: Question, part: Part, rows: NDArray[np.intp] | None, most: int, *, exact: bool) -> Found:
    """The `most` best of these rows of a segment; None: of all."""
    words, documents = question.words(kind_of(part), part.segment.postings), part.documents
    vectors, codes, scale = part.segment.columns.vectors, part.segment.codes, question.scale
    many, nominated = len(documents) if rows is None else len(rows), max(most, NOMINATED)
    if not exact and codes is not None and question.compares(vectors) and many > nominated:
        told, rough = words.telling(), codes.near(question.vector)
        rough *= scale.meaning
        rough += scale.words * told
        rough += of_documents(question, documents)
        rows = _nominated(rough, rows, nominated)
        scores = scale.words * words.more(told[rows], rows, question.weights.passed_over)
        scores += of_documents(question, documents[rows])
        scores += meaning(question, vectors[rows])
        chosen = best(scores, np.arange(len(rows)), most)
        return Found(part, rows[chosen], scores[chosen])
    scores = scale.words * words.every() + of_documents(question, documents)
    if question.compares(vectors):
        scores += meaning(question, vectors)
    rows = best(scores, np.arange(many) if rows is None else rows, most)
    return Found(part, rows, scores[rows])


def _nominated(scores: NDArray[np.float32], rows: NDArray[np.intp] | None, many: int) -> NDArray[np.intp]:
    """As many of these rows as score best, ascending: what lies together is read together."""
    chosen = np.argpartition(scores if rows is None else scores[rows], -many)[-many:]
    return np.sort(chosen if rows is None else rows[chosen])


def _explained(question: Question, found: Found) -> list[Scored]:
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


def _rows(part: Part, *, forgotten: bool, witnesses: bool) -> NDArray[np.intp] | None:
    """The rows that may be results, ascending, None for all; as `witnesses` also memories that end."""
    columns = part.segment.columns
    if part.mask is None and isinstance(columns, ChunkColumns):
        return None
    if witnesses and isinstance(columns, MemoryColumns):
        return None if part.mask is None else np.flatnonzero(part.mask)
    return np.flatnonzero(visible(part, forgotten=forgotten))


def is_shown(one: Scored, *, forgotten: bool) -> bool:
    """Whether a candidate may be a result, as `visible` says."""
    columns = one.part.segment.columns
    if not isinstance(columns, MemoryColumns):
        return True
    return bool(columns.is_latest[one.row] and not columns.forgotten[one.row]) or (
        forgotten and bool(columns.forgotten[one.row])
    )


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
