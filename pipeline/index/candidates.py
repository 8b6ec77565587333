"""The rows that score best by what the index knows of them: of few all, of many by their codes."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

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
Gave = Mapping[ScorePart, NDArray[np.float32]]
"""What each part gave to the scores of the rows of a segment."""
Number = TypeVar("Number", bound=np.generic)
SAME = 4
"""Decimals of a score that count for the order; below, it is rounding."""


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
        """The best rows of each segment; of memories also those that may say where an answer stood."""
        seen: Iterable[Part] = passed(parts, self.documents, self.passing)  # type: ignore[misc]  # either kind
        return [found for part in seen for found in self._at(part)]

    def _at(self, part: Part) -> list["Found"]:
        groups = _groups(part, forgotten=self.wanted.forgotten)
        return _best(self.question, part, groups, self.most(kind_of(part)), exact=self.exact)

    def candidates(self, found: Iterable["Found"]) -> "Candidates":
        """Of all segments at least as many of either kind as CANDIDATES says, where they are, in no order.

        So many memories that may be shown, and so many others: neither takes the other's place.
        """
        looked: dict[tuple[Kind, bool], list[Found]] = {}
        for one in found:
            looked.setdefault((kind_of(one.part), one.shown), []).append(one)
        best_of = [one for (kind, _), some in looked.items() for one in _best_of(some, self.most(kind))]
        gave = (
            [explained(self.question, one.part, one.rows) for one in best_of]
            if self.wanted.explained
            else None
        )
        return Candidates.of(best_of, gave, forgotten=self.wanted.forgotten)


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
    """Rows of a segment and their scores. `shown`: whether they may be results."""

    part: Part
    rows: NDArray[np.intp]
    scores: NDArray[np.float32]
    shown: bool = True


@dataclass(frozen=True, slots=True)
class Candidates:
    """Rows of some segments side by side, which get a second look. Arrays have one entry per row.

    `documents`: the ordinal each is seen with. `gave`: what scores are made of, where an explanation is
    asked for; NaN where a part has no say.
    """

    found: Sequence[Found]
    scores: NDArray[np.float64]
    documents: NDArray[np.int32]
    chunks: NDArray[np.bool_]
    """Whether it is a passage."""
    holds: NDArray[np.bool_]
    """Whether it was neither replaced nor forgotten."""
    shown: NDArray[np.bool_]
    """Whether it may be a result."""
    gave: Mapping[ScorePart, NDArray[np.float64]] | None = None

    @classmethod
    def of(
        cls, found: Sequence[Found], gave: Sequence["Gave"] | None = None, *, forgotten: bool = False
    ) -> "Candidates":
        """The rows of these segments, one after the other. `forgotten`: forgotten memories may be results."""
        many = [len(one.rows) for one in found]
        passages = [kind_of(one.part) == "chunk" for one in found]
        names = dict.fromkeys(name for one in gave or () for name in one)
        holds = _joined([_holding(one, forgotten=False) for one in found], np.bool_)
        return cls(
            found,
            _joined([one.scores for one in found], np.float64),
            _joined([one.part.documents[one.rows] for one in found], np.int32),
            np.repeat(np.array(passages, np.bool_), many),
            holds,
            _joined([_holding(one, forgotten=True) for one in found], np.bool_) if forgotten else holds,
            None if gave is None else {name: _given(name, gave, many) for name in names},
        )

    def __len__(self) -> int:
        return len(self.scores)

    def beside(self, question: Question, part: Part, rows: NDArray[np.intp]) -> "Candidates":
        """The same and, after them, these rows of a segment, which may be results."""
        gave = explained(question, part, rows)
        scores: NDArray[np.float32] = np.add.reduce([*gave.values()])
        more = Candidates.of([Found(part, rows, scores)], None if self.gave is None else [gave])
        names = {**(self.gave or {}), **(more.gave or {})}
        return Candidates(
            [*self.found, *more.found],
            _joined([self.scores, more.scores], np.float64),
            _joined([self.documents, more.documents], np.int32),
            _joined([self.chunks, more.chunks], np.bool_),
            _joined([self.holds, more.holds], np.bool_),
            _joined([self.shown, more.shown], np.bool_),
            None
            if self.gave is None
            else {name: _given(name, [self.gave, more.gave or {}], [len(self), len(more)]) for name in names},
        )

    def gaining(
        self, name: ScorePart, amounts: NDArray[np.float64], rows: NDArray[np.intp] | NDArray[np.bool_]
    ) -> "Candidates":
        """The same, some of them with so much more, or less. Each has one of the amounts."""
        scores = self.scores.copy()
        scores[rows] += amounts
        return replace(
            self, scores=scores, gave=None if self.gave is None else self._more(name, amounts, rows)
        )

    def _more(
        self, name: ScorePart, amounts: NDArray[np.float64], rows: NDArray[np.intp] | NDArray[np.bool_]
    ) -> Mapping[ScorePart, NDArray[np.float64]]:
        before = (self.gave or {}).get(name)
        gave = np.full(len(self), np.nan) if before is None else before.copy()
        gave[rows] = np.nan_to_num(gave[rows]) + amounts
        return {**(self.gave or {}), name: gave}

    def texts(self) -> list[str]:
        """What each says."""
        return [text for one in self.found for text in one.part.segment.columns.texts.some(one.rows)]

    def beginnings(self, characters: int) -> list[bytes]:
        """So many characters of each at least, where it has them."""
        return [
            head for one in self.found for head in one.part.segment.columns.texts.heads(one.rows, characters)
        ]

    def text(self, at: int) -> str:
        """What a row says."""
        part, row = self.place(at)
        return part.segment.columns.texts[row]

    def best(self, cut: float, kinds: Collection[Kind], limit: int) -> NDArray[np.intp]:
        """The places of the best of these kinds from `cut` on, with what ties with the last: ids decide."""
        wanted = [kind in kinds for kind in ("memory", "chunk")]
        fits = np.array(wanted).take(self.chunks.astype(np.intp))
        among = np.flatnonzero((self.scores >= cut) & fits & self.shown)
        if len(among) <= limit:
            return among
        scores = self.scores[among]
        least = np.partition(scores, len(among) - limit)[len(among) - limit] - 10.0**-SAME
        best: NDArray[np.intp] = among[scores >= least]
        return best

    def at(self, part: Part, row: int) -> int | None:
        """The place of a row of a segment; None where it is not among them."""
        before = 0
        for one in self.found:
            if one.part is part and len(places := np.flatnonzero(one.rows == row)):
                return before + int(places[0])
            before += len(one.rows)
        return None

    def place(self, at: int) -> tuple[Part, int]:
        """The segment of a row, and its place there."""
        for one in self.found:
            if at < len(one.rows):
                return one.part, int(one.rows[at])
            at -= len(one.rows)
        raise IndexError(at)

    def made_of(self, at: int) -> Parts | None:
        """What a row's score is made of."""
        if self.gave is None:
            return None
        return {name: float(gave[at]) for name, gave in self.gave.items() if not np.isnan(gave[at])}


def _joined(parts: Sequence[NDArray[Any]], kind: type[Number]) -> NDArray[Number]:
    return np.concatenate([np.zeros(0, kind), *parts], dtype=kind, casting="same_kind")


def _holding(found: Found, *, forgotten: bool) -> NDArray[np.bool_]:
    columns = found.part.segment.columns
    if not isinstance(columns, MemoryColumns):
        return np.ones(len(found.rows), np.bool_)
    return _current(columns, found.rows, forgotten=forgotten)


def _current(columns: MemoryColumns, rows: NDArray[np.intp] | slice, *, forgotten: bool) -> NDArray[np.bool_]:
    """Which of these memories are the newest versions and hold; with `forgotten` also those that were."""
    gone = columns.forgotten[rows]
    current: NDArray[np.bool_] = columns.is_latest[rows] & ~gone
    return current | gone if forgotten else current


def _given(
    name: ScorePart, gave: Sequence[Mapping[ScorePart, NDArray[Any]]], many: Sequence[int]
) -> NDArray[np.float64]:
    parts = [one.get(name, np.full(count, np.nan)) for one, count in zip(gave, many, strict=True)]
    return _joined(parts, np.float64)


def _best_of(found: Sequence[Found], most: int) -> list[Found]:
    """The best `most` of all, with whatever ties with the last."""
    every = np.concatenate([one.scores for one in found])
    if len(every) <= most:
        return list(found)
    least = np.partition(every, len(every) - most)[len(every) - most] - 10.0**-SAME
    kept = [(one, one.scores >= least) for one in found]
    return [replace(one, rows=one.rows[keep], scores=one.scores[keep]) for one, keep in kept]


def _best(
    question: Question, part: Part, groups: Sequence["_Group"], most: int, *, exact: bool
) -> list[Found]:
    """The `most` best rows of a segment in each of these groups."""
    words, documents = question.words(kind_of(part), part.segment.postings), part.documents
    vectors, codes, scale = part.segment.columns.vectors, part.segment.codes, question.scale
    nominated = max(most, NOMINATED)
    many = sum(len(documents) if one.rows is None else len(one.rows) for one in groups)
    if not exact and codes is not None and question.compares(vectors) and many > nominated:
        told, rough = words.telling(), codes.near(question.vector)
        rough *= scale.meaning
        rough += scale.words * told
        rough += of_documents(question, documents)
        return [
            _nearer(question, part, _nominated(rough, one.rows, nominated), told, most, shown=one.shown)
            for one in groups
        ]
    scores = scale.words * words.every() + of_documents(question, documents)
    if question.compares(vectors):
        scores += meaning(question, vectors)
    every = np.arange(len(documents))
    chosen = [best(scores, every if one.rows is None else one.rows, most) for one in groups]
    return [Found(part, rows, scores[rows], one.shown) for one, rows in zip(groups, chosen, strict=True)]


def _nearer(
    question: Question,
    part: Part,
    rows: NDArray[np.intp],
    told: NDArray[np.float32],
    most: int,
    *,
    shown: bool,
) -> Found:
    """The best of those that were nominated, by all of their words and their exact cosines."""
    words, scale = question.words(kind_of(part), part.segment.postings), question.scale
    scores = scale.words * words.more(told[rows], rows, question.weights.passed_over)
    scores += of_documents(question, part.documents[rows])
    scores += meaning(question, part.segment.columns.vectors[rows])
    chosen = best(scores, np.arange(len(rows)), most)
    return Found(part, rows[chosen], scores[chosen], shown)


def _nominated(scores: NDArray[np.float32], rows: NDArray[np.intp] | None, many: int) -> NDArray[np.intp]:
    """As many of these rows as score best, ascending: what lies together is read together."""
    among = scores if rows is None else scores[rows]
    if len(among) <= many:
        return np.arange(len(scores)) if rows is None else rows
    chosen = np.argpartition(among, -many)[-many:]
    return np.sort(chosen if rows is None else rows[chosen])


def explained(question: Question, part: Part, rows: NDArray[np.intp]) -> Gave:
    """What the scores of these rows are made of before they are looked at twice."""
    segment = part.segment
    words = question.words(kind_of(part), segment.postings)
    told = words.more(np.zeros(len(rows), np.float32), rows, question.weights.terms)
    gave: dict[ScorePart, NDArray[np.float32]] = {
        "words": question.scale.words * told,
        "document": of_documents(question, part.documents[rows]),
    }
    if question.compares(segment.columns.vectors):
        gave["meaning"] = meaning(question, segment.columns.vectors[rows])
    return gave


def kind_of(part: Part) -> Kind:
    """What kind of rows a segment holds."""
    return "chunk" if isinstance(part.segment.columns, ChunkColumns) else "memory"


def passed(
    parts: Iterable[Visible[C]], documents: DocumentSide, passing: NDArray[np.bool_] | None
) -> Iterable[Visible[C]]:
    """The segments with only the rows that a filter lets through."""
    return parts if passing is None else [look(part.segment, documents, passing) for part in parts]


@dataclass(frozen=True, slots=True)
class _Group:
    """Rows of a segment, ascending, None for all. `shown`: whether they may be results."""

    rows: NDArray[np.intp] | None
    shown: bool = True


def _groups(part: Part, *, forgotten: bool) -> list[_Group]:
    """The rows that are seen: those that may be results, and memories that were replaced or forgotten."""
    columns = part.segment.columns
    if isinstance(columns, ChunkColumns):
        return [_Group(None if part.mask is None else np.flatnonzero(part.mask))]
    shown = visible(part, forgotten=forgotten)
    if shown.all():
        return [_Group(None)]
    others = ~shown if part.mask is None else part.mask & ~shown
    return [_Group(np.flatnonzero(shown)), _Group(np.flatnonzero(others), shown=False)]


def visible(part: Part, *, forgotten: bool) -> NDArray[np.bool_]:
    """Which rows may be results: those that are seen, and, of memories, the newest versions."""
    columns = part.segment.columns
    if isinstance(columns, MemoryColumns):
        allowed = _current(columns, slice(None), forgotten=forgotten)
    else:
        allowed = np.ones(len(part.segment), np.bool_)
    if part.mask is not None:
        allowed &= part.mask
    return allowed
