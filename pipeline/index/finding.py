"""What is shown of rows that were found, and lists that need no question: in memory and from disk."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pipeline.index.candidates import SAME, Candidates, visible
from pipeline.index.documents import NO_DOCUMENT, DocumentSide
from pipeline.index.hits import Hit, Remembered, Wanted
from pipeline.index.live import Visible
from pipeline.index.refining import refined
from pipeline.index.scoring import Question, best, cosines
from pipeline.rows import ChunkColumns, MemoryColumns, Vector


def find(question: Question, wanted: Wanted, documents: DocumentSide, among: Candidates) -> list[Hit]:
    """The best of the candidates after a second look, best first."""
    again = refined(question, among, documents)
    chosen = again.best(question.scale.cut(wanted.threshold), wanted.kinds, wanted.limit)
    return ranked([_hit(question, documents, again, at) for at in chosen.tolist()], wanted.limit)


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
    seen = [(part.segment.columns, visible(part, forgotten=False)) for part in parts]
    return latest([*_newest(seen, limit, lasting=True), *_newest(seen, limit, lasting=False)], limit)


def _newest(
    seen: Sequence[tuple[MemoryColumns, NDArray[np.bool_]]], limit: int, *, lasting: bool
) -> Iterator[Remembered]:
    """Of one kind at least as many; all that came at one moment, for ids decide between them."""
    found = [(columns, np.flatnonzero(current & (columns.is_static == lasting))) for columns, current in seen]
    every = np.concatenate([np.zeros(0, np.int64), *(columns.updated_at[rows] for columns, rows in found)])
    cut = len(every) - limit
    least = np.partition(every, cut)[cut] if cut > 0 else None
    for columns, rows in found:
        early = rows if least is None else rows[columns.updated_at[rows] >= least]
        texts = (columns.ids.some(early), columns.texts.some(early), columns.dates.some(early))
        times = columns.updated_at[early].tolist()
        for row, at, id_, text, date in zip(early.tolist(), times, *texts, strict=True):
            yield Remembered(at, id_, text, lasting, columns.vectors[row], date)


def latest(memories: Iterable[Remembered], limit: int) -> list[Remembered]:
    """At most `limit` of either kind, newest first; of one moment, by id."""
    ordered = sorted(memories, key=lambda one: (-one.updated_at, one.id))
    lasting = [one for one in ordered if one.is_static][:limit]
    return [*lasting, *[one for one in ordered if not one.is_static][:limit]]


def ranked(hits: Iterable[Hit], limit: int) -> list[Hit]:
    """Best first; what scores the same, by kind and id, so that every path gives one order."""
    return sorted(hits, key=lambda hit: (-round(hit.raw, SAME), hit.kind, hit.id))[:limit]


def _hit(question: Question, documents: DocumentSide, found: Candidates, at: int) -> Hit:
    part, row = found.place(at)
    columns, raw = part.segment.columns, float(found.scores[at])
    created_at = int(columns.created_at[row])
    hit = partial(
        Hit,
        id=columns.ids[row],
        text=columns.texts[row],
        raw=raw,
        similarity=round(question.scale.similarity(raw), 4),
        document=documents.facts(int(found.documents[at])) or NO_DOCUMENT,
        vector=columns.vectors[row],
        created_at=created_at,
        gave=found.made_of(at),
    )
    if isinstance(columns, ChunkColumns):
        return hit(
            kind="chunk",
            updated_at=created_at,
            position=int(columns.positions[row]),
            start=int(columns.starts[row]),
            end=int(columns.ends[row]),
        )
    return hit(
        kind="memory",
        updated_at=int(columns.updated_at[row]),
        is_latest=bool(columns.is_latest[row] and not columns.forgotten[row]),
        is_inference=bool(columns.is_inference[row]),
    )
