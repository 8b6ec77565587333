"""Finding the best rows of a question among segments: the same for segments in memory and from disk."""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.index.documents import DocumentFacts, DocumentSide
from pipeline.index.hits import Hit, Kind, Remembered, Wanted
from pipeline.index.live import Visible, look
from pipeline.index.scoring import Question, best, cosines, raw_scores
from pipeline.index.segments import C
from pipeline.rows import ChunkColumns, MemoryColumns, Vector

Part = Visible[ChunkColumns] | Visible[MemoryColumns]
NO_DOCUMENT = DocumentFacts("", "", "", "", "", "", 0, 0)
"""What is shown for a document that went while its rows were being ranked."""
_SAME = 4
"""Decimals of a score that count for the order; below, it is rounding."""


class Scored(NamedTuple):
    """A row and its raw score."""

    score: float
    part: Part
    row: int


def find(
    question: Question,
    wanted: Wanted,
    documents: DocumentSide,
    passing: NDArray[np.bool_] | None,
    parts: Iterable[Part],
) -> list[Hit]:
    """The best rows, best first. `passing` says by ordinal which documents the filter lets through."""
    cut = question.scale.cut(wanted.threshold)
    found: list[Scored] = []
    for part in passed(parts, documents, passing):  # type: ignore[misc]  # segments of either kind
        segment = part.segment
        scores = raw_scores(question, kind_of(part), segment.postings, segment.columns.vectors)
        allowed = visible(part, forgotten=wanted.forgotten)
        allowed &= scores >= cut
        rows = best(scores, np.flatnonzero(allowed), wanted.limit)
        found += [Scored(float(scores[row]), part, row) for row in rows.tolist()]
    hits = [_hit(question, documents, one) for one in _top(found, wanted.limit)]
    return ranked(hits, wanted.limit)


def nearest(parts: Iterable[Visible[MemoryColumns]], vector: Vector, limit: int) -> list[tuple[str, float]]:
    """Ids of the newest, not forgotten memories with their cosine, best first."""
    found: list[tuple[str, float]] = []
    for part in parts:
        columns = part.segment.columns
        if columns.vectors.shape[1] == len(vector):
            near = cosines(columns.vectors, vector)
            top = best(near, np.flatnonzero(visible(part, forgotten=False)), limit)
            found += [(columns.ids[row], float(near[row])) for row in top.tolist()]
    return sorted(found, key=lambda one: (-one[1], one[0]))[:limit]


def newest(parts: Iterable[Visible[MemoryColumns]], limit: int) -> list[Remembered]:
    """The newest current memories, at most `limit` that last and `limit` that do not, newest first."""
    found: list[Remembered] = []
    for part in parts:
        columns = part.segment.columns
        current = visible(part, forgotten=False)
        for kind in (columns.is_static, ~columns.is_static):
            rows = np.flatnonzero(current & kind)
            # One more at the same moment may have the id that decides, so ties are kept.
            if len(rows) > limit:
                times = columns.updated_at[rows]
                rows = rows[times >= np.partition(times, len(rows) - limit)[len(rows) - limit]]
            found += [_remembered(columns, row) for row in rows.tolist()]
    return latest(found, limit)


def latest(memories: Iterable[Remembered], limit: int) -> list[Remembered]:
    """At most `limit` of either kind, newest first; of one moment, by id."""
    ordered = sorted(memories, key=lambda one: (-one.updated_at, one.id))
    lasting = [one for one in ordered if one.is_static][:limit]
    return [*lasting, *[one for one in ordered if not one.is_static][:limit]]


def _remembered(columns: MemoryColumns, row: int) -> Remembered:
    return Remembered(
        updated_at=int(columns.updated_at[row]),
        id=columns.ids[row],
        text=columns.texts[row],
        is_static=bool(columns.is_static[row]),
        vector=columns.vectors[row],
        date=columns.dates[row],
    )


def ranked(hits: Iterable[Hit], limit: int) -> list[Hit]:
    """Best first; what scores the same, by kind and id, so that every path gives one order."""
    return sorted(hits, key=lambda hit: (-round(hit.raw, _SAME), hit.kind, hit.id))[:limit]


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


def _top(found: list[Scored], limit: int) -> list[Scored]:
    """The best of all segments, with whatever ties with the last, so that ids decide."""
    if len(found) <= limit:
        return found
    found.sort(key=lambda one: -one.score)
    least = found[limit - 1].score - 10.0**-_SAME
    return [one for one in found if one.score >= least]


def _hit(question: Question, documents: DocumentSide, one: Scored) -> Hit:
    part, row, columns = one.part, one.row, one.part.segment.columns
    facts = documents.facts(int(part.documents[row])) or NO_DOCUMENT
    hit = Hit(
        kind=kind_of(part),
        id=columns.ids[row],
        text=columns.texts[row],
        raw=one.score,
        similarity=round(question.scale.similarity(one.score), 4),
        document=facts,
        vector=columns.vectors[row],
        created_at=int(columns.created_at[row]),
        updated_at=int(columns.created_at[row]),
    )
    if isinstance(columns, ChunkColumns):
        return replace(
            hit,
            position=int(columns.positions[row]),
            start=int(columns.starts[row]),
            end=int(columns.ends[row]),
        )
    return replace(
        hit,
        updated_at=int(columns.updated_at[row]),
        is_latest=bool(columns.is_latest[row] and not columns.forgotten[row]),
        is_inference=bool(columns.is_inference[row]),
    )
