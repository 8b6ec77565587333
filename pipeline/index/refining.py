"""A second look at the candidates: cues in their text, and what memories and passages say of each other."""

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from pipeline.index.candidates import Scored
from pipeline.index.cues import Cues
from pipeline.index.documents import DocumentSide
from pipeline.index.parameters import ANSWERS, OUTDATED, REMEMBERED, REPEATED
from pipeline.index.scoring import Question
from pipeline.rows import ChunkColumns, MemoryColumns


def refined(question: Question, found: Sequence[Scored], documents: DocumentSide) -> list[Scored]:
    """The same rows, scored again: pure, so that it does not matter where they came from."""
    again = _cued(question.cues, found, documents)
    lifts: dict[int, float] = {}
    stale: dict[int, float] = {}
    home = _homes(found)
    for memory, passage in home.items():
        scores = lifts if _holds(found[memory]) else stale
        scores[passage] = max(scores.get(passage, -math.inf), again[memory].score)
    for passage, score in lifts.items():
        again[passage] = again[passage].gaining("remembered", max(REMEMBERED * score, 0.0))
    answers = question.scale.cut(ANSWERS)
    for passage, score in stale.items():
        if score > max(lifts.get(passage, -math.inf), answers):
            again[passage] = again[passage].gaining("outdated", -OUTDATED)
    for memory, passage in home.items():
        if _holds(found[memory]) and again[passage].score >= again[memory].score:
            again[memory] = again[memory].gaining("repeated", -REPEATED)
    return again


def _cued(cues: Cues, found: Sequence[Scored], documents: DocumentSide) -> list[Scored]:
    """With what the cues of the question give."""
    of_its_time = _of_its_time(cues, found, documents)
    cued = []
    for one, text in zip(found, _texts(found), strict=True):
        scored = one
        for name, amount in cues.gains(text):
            scored = scored.gaining(name, amount)
        if of_its_time and (nearness := of_its_time.get(one.document)):
            scored = scored.gaining("date", nearness)
        cued.append(scored)
    return cued


def _texts(found: Sequence[Scored]) -> Iterator[str]:
    """What each says; those of a segment are read together."""
    for part, some in groupby(found, lambda one: one.part):
        yield from part.segment.columns.texts.some(np.array([one.row for one in some]))


def _of_its_time(cues: Cues, found: Sequence[Scored], documents: DocumentSide) -> dict[int, float]:
    """What rows gain by the day of their document, by its ordinal."""
    if not cues.times:
        return {}
    facts = {ordinal: documents.facts(ordinal) for ordinal in {one.document for one in found}}
    return {ordinal: cues.nearness(one.day) for ordinal, one in facts.items() if one is not None}


def _homes(found: Sequence[Scored]) -> dict[int, int]:
    """By the place of a memory that of the passage it was made of, where both are among these."""
    places = {at: start for at, one in enumerate(found) if (start := _made_at(one)) >= 0}
    if not places:
        return {}
    passages: dict[int, list[tuple[int, int, int]]] = {}
    for at, one in enumerate(found):
        columns = one.part.segment.columns
        if isinstance(columns, ChunkColumns):
            span = (int(columns.starts[one.row]), int(columns.ends[one.row]), at)
            passages.setdefault(one.document, []).append(span)
    for spans in passages.values():
        spans.sort()
    homes: dict[int, int] = {}
    for at, start in places.items():
        spans = passages.get(found[at].document, [])
        before = bisect_right(spans, start, key=lambda span: span[0])
        if before and start < spans[before - 1][1]:
            homes[at] = spans[before - 1][2]
    return homes


def _made_at(one: Scored) -> int:
    """Where in its document the sentence of a memory begins; -1 for anything else."""
    columns = one.part.segment.columns
    return int(columns.starts[one.row]) if isinstance(columns, MemoryColumns) else -1


def _holds(one: Scored) -> bool:
    """Whether a memory was neither replaced nor forgotten."""
    columns = one.part.segment.columns
    return isinstance(columns, MemoryColumns) and bool(
        columns.is_latest[one.row] and not columns.forgotten[one.row]
    )
