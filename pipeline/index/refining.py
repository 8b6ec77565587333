"""A second look at the candidates: cues in their text, and what memories and passages say of each other."""

from bisect import bisect_right
from collections.abc import Sequence

from pipeline.index.candidates import Scored
from pipeline.index.parameters import REMEMBERED, REPEATED
from pipeline.index.scoring import Question
from pipeline.rows import ChunkColumns, MemoryColumns


def refined(question: Question, found: Sequence[Scored]) -> list[Scored]:
    """The same rows, scored again: pure, so that it does not matter where they came from."""
    cued = [one._replace(score=one.score + question.cues.gain(one.text)) for one in found]
    home = _homes(cued)
    scores = [one.score for one in cued]
    for memory, passage in home.items():
        lifted = cued[passage].score + REMEMBERED * max(cued[memory].score, 0.0)
        scores[passage] = max(scores[passage], lifted)
    for memory, passage in home.items():
        if scores[passage] >= scores[memory]:
            scores[memory] -= REPEATED
    return [one._replace(score=score) for one, score in zip(cued, scores, strict=True)]


def _homes(found: Sequence[Scored]) -> dict[int, int]:
    """By the place of a current memory that of the passage it was made of, where both are among these."""
    passages: dict[int, list[tuple[int, int, int]]] = {}
    for at, one in enumerate(found):
        columns = one.part.segment.columns
        if isinstance(columns, ChunkColumns):
            span = (int(columns.starts[one.row]), int(columns.ends[one.row]), at)
            passages.setdefault(one.document, []).append(span)
    for spans in passages.values():
        spans.sort()
    homes: dict[int, int] = {}
    for at, one in enumerate(found):
        columns = one.part.segment.columns
        if isinstance(columns, MemoryColumns) and not columns.forgotten[one.row]:
            start = int(columns.starts[one.row])
            spans = passages.get(one.document, [])
            before = bisect_right(spans, start, key=lambda span: span[0])
            if start >= 0 and before and start < spans[before - 1][1]:
                homes[at] = spans[before - 1][2]
    return homes
