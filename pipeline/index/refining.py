"""A second look at the candidates: cues in their text, and what memories and passages say of each other."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.index.candidates import Candidates
from pipeline.index.cues import LONGEST_NAME, Cues
from pipeline.index.documents import DocumentSide
from pipeline.index.parameters import ANSWERS, OUTDATED, REMEMBERED, REPEATED
from pipeline.index.parts import ScorePart
from pipeline.index.scoring import Question
from pipeline.index.succession import Succession, succeeded
from pipeline.rows import MemoryColumns

_BEGINNINGS = np.int64(1) << 40
"""More than the characters of any document: one number says in which something begins, and where."""


def refined(question: Question, found: Candidates, documents: DocumentSide) -> Candidates:
    """These rows, scored again, with memories that replaced some of them: pure, wherever they came from."""
    found, succession = succeeded(question, found)
    again = _inherited(_dated(question.cues, _cued(question.cues, found), documents), succession)
    made = homes(again.documents, again.chunks, *_spans(again))
    if not len(made.memories):
        return again
    holds = again.holds[made.memories]
    said, replaced = _most(again, made, holds), _most(again, made, ~holds)
    lifted = np.flatnonzero(said > 0.0)
    again = again.gaining("remembered", REMEMBERED * said[lifted], lifted)
    outdated = replaced > np.maximum(said, question.scale.cut(ANSWERS))
    again = _handed_on(again, succession, made, np.where(outdated, replaced, np.inf))
    again = again.gaining("outdated", np.full(np.count_nonzero(outdated), -OUTDATED), outdated)
    repeated = made.memories[holds & (again.scores[made.passages] >= again.scores[made.memories])]
    return again.gaining("repeated", np.full(len(repeated), -REPEATED), repeated)


def _inherited(found: Candidates, succession: Succession) -> Candidates:
    """With memories scored at least as what they replaced."""
    return _raised(found, succession.heirs, found.scores[succession.replaced])


def _handed_on(
    found: Candidates, succession: Succession, made: "Homes", answered: NDArray[np.float64]
) -> Candidates:
    """With passages scored at least as those whose answer theirs replaced.

    `answered`: by place of a passage the score of the replaced memory that answers for it, if one does.
    """
    home = np.full(len(found), -1, np.intp)
    home[made.memories] = made.passages
    before, after = home[succession.replaced], home[succession.heirs]
    moved = (before >= 0) & (after >= 0) & (before != after)
    moved &= found.scores[succession.replaced] >= answered[before]
    return _raised(found, after[moved], found.scores[before[moved]])


def _raised(found: Candidates, rows: NDArray[np.intp], least: NDArray[np.float64]) -> Candidates:
    """With each of these rows scored so much at least."""
    most = found.scores.copy()
    np.maximum.at(most, rows, least)
    higher = np.flatnonzero(most > found.scores)
    return found.gaining("updates", (most - found.scores)[higher], higher)


def _most(found: Candidates, made: "Homes", among: NDArray[np.bool_]) -> NDArray[np.float64]:
    """By place of a passage what the best of these memories of it scores; -inf where there is none."""
    most = np.full(len(found), -np.inf)
    np.maximum.at(most, made.passages[among], found.scores[made.memories[among]])
    return most


def _cued(cues: Cues, found: Candidates) -> Candidates:
    """With what the cues of the question give for what is said."""
    gained: dict[ScorePart, dict[int, float]] = {}
    for at, text in _promising(cues, found):
        for name, amount in cues.gains(text):
            gained.setdefault(name, {})[at] = amount
    for name, amounts in gained.items():
        found = found.gaining(name, np.array(list(amounts.values())), np.array(list(amounts)))
    return found


def _promising(cues: Cues, found: Candidates) -> Iterable[tuple[int, str]]:
    """The places and texts of those that may gain something by what they say."""
    if cues.anywhere:
        return enumerate(found.texts())
    heads = found.beginnings(LONGEST_NAME)
    return [(at, found.text(at)) for at, head in enumerate(heads) if b":" in head]


def _dated(cues: Cues, found: Candidates, documents: DocumentSide) -> Candidates:
    """With what rows gain by the day of their document."""
    if not cues.times:
        return found
    ordinals, which = np.unique(found.documents, return_inverse=True)
    facts = [documents.facts(ordinal) for ordinal in ordinals.tolist()]
    near = np.array([0.0 if one is None else cues.nearness(one.day) for one in facts])[which]
    rows = np.flatnonzero(near)
    return found.gaining("date", near[rows], rows)


@dataclass(frozen=True, slots=True)
class Homes:
    """The places of memories and those of the passages they were made of, each with its own."""

    memories: NDArray[np.intp]
    passages: NDArray[np.intp]


def homes(
    documents: NDArray[np.int32],
    chunks: NDArray[np.bool_],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> Homes:
    """Where both are among these rows: the last passage that begins before the memory, if it goes on there.

    `chunks`: whether it is a passage, with `starts` and `ends`; a memory has `starts` alone (-1: none).
    """
    memories, passages = np.flatnonzero(~chunks & (starts >= 0)), np.flatnonzero(chunks)
    if not len(memories) or not len(passages):
        return Homes(memories[:0], passages[:0])
    begin = documents * _BEGINNINGS + starts
    passages = passages[np.lexsort((ends[passages], begin[passages]))]
    before = begin[passages].searchsorted(begin[memories], side="right") - 1
    among = passages[before]
    there = (before >= 0) & (documents[among] == documents[memories]) & (starts[memories] < ends[among])
    return Homes(memories[there], among[there])


def _spans(found: Candidates) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where in its document each passage begins and ends, and each memory begins."""
    starts, ends = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for one in found.found:
        columns = one.part.segment.columns
        if isinstance(columns, MemoryColumns):
            starts.append(columns.starts[one.rows])
            ends.append(np.zeros(len(one.rows), np.int64))
        else:
            starts.append(columns.starts[one.rows])
            ends.append(columns.ends[one.rows])
    return np.concatenate(starts), np.concatenate(ends)
