"""The rows that score best by what the index knows of them: the same in memory and from disk."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.index.documents import DocumentSide
from pipeline.index.hits import Kind, Wanted
from pipeline.index.live import Visible, look
from pipeline.index.parameters import CANDIDATES
from pipeline.index.parts import Parts, ScorePart
from pipeline.index.scoring import Question, best, raw_parts, raw_scores
from pipeline.index.segments import C, picked
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
    found: list[Scored] = []
    most = max(wanted.limit, CANDIDATES)
    for part in passed(parts, documents, passing):  # type: ignore[misc]  # segments of either kind
        segment = part.segment
        scores = raw_scores(
            question, kind_of(part), segment.postings, segment.columns.vectors, part.documents
        )
        rows = best(scores, np.flatnonzero(visible(part, forgotten=wanted.forgotten)), most)
        some = [
            Scored(score, part, row) for score, row in zip(scores[rows].tolist(), rows.tolist(), strict=True)
        ]
        found += _explained(question, part, some) if wanted.explained else some
    return best_of(found, most)


def _explained(question: Question, part: Part, found: Sequence[Scored]) -> list[Scored]:
    """The same, each with what its score is made of."""
    segment, rows = part.segment, [one.row for one in found]
    named = raw_parts(question, kind_of(part), segment.postings, segment.columns.vectors, part.documents)
    gave = {name: scores[rows].tolist() for name, scores in named}
    return [
        one._replace(gave={name: amounts[at] for name, amounts in gave.items()})
        for at, one in enumerate(found)
    ]


def best_of(found: Sequence[Scored], most: int) -> list[Scored]:
    """The best `most` of either kind, in no order."""
    kinds: dict[Kind, list[Scored]] = {"chunk": [], "memory": []}
    for one in found:
        kinds[one.kind].append(one)
    return [one for some in kinds.values() for one in top(some, most)]


def top(found: list[Scored], limit: int) -> list[Scored]:
    """The best, with whatever ties with the last, so that ids decide."""
    if len(found) <= limit:
        return found
    found.sort(key=lambda one: -one.score)
    least = found[limit - 1].score - 10.0**-SAME
    return [one for one in found if one.score >= least]


def detached(found: Sequence[Scored]) -> list[Scored]:
    """The same rows without the segments they lie in, so that a batch can go when the next one is read."""
    parts: dict[int, list[Scored]] = {}
    for one in found:
        parts.setdefault(id(one.part), []).append(one)
    return [one for some in parts.values() for one in _detached(some)]


def _detached(found: Sequence[Scored]) -> list[Scored]:
    part, rows = found[0].part, np.array(sorted(one.row for one in found))
    segment = picked(part.segment, rows)  # type: ignore[misc]  # segments of either kind
    alone: Part = Visible(segment, part.documents[rows], None)
    places = {row: at for at, row in enumerate(rows.tolist())}
    return [Scored(one.score, alone, places[one.row], one.gave) for one in found]


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
