"""Memories by their keys, from what is held: what a new one is compared with, without asking a table."""

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pipeline.columns import moment, prints, relations_of, texts
from pipeline.index.documents import DocumentSide
from pipeline.index.live import Visible
from pipeline.index.segments import NO_TERMS, Segment
from pipeline.rows import MemoryColumns, MemoryRow, Vector

_NO_VECTOR: Vector = np.zeros(0, np.float32)


def keyed(
    parts: Sequence[Visible[MemoryColumns]],
    documents: DocumentSide,
    spaces: Sequence[str],
    keys: Collection[str],
) -> list[MemoryRow]:
    """The memories of these spaces that may have one of these keys, and surely all that have; see `ports`."""
    wanted, owned = prints(texts(keys)), {hash(space): space for space in spaces}
    return [row for part in parts for row in _rows(part.segment, documents, wanted, owned)]


def _rows(
    segment: Segment[MemoryColumns],
    documents: DocumentSide,
    wanted: NDArray[np.uint32],
    owned: Mapping[int, str],
) -> Iterator[MemoryRow]:
    for row in segment.keys.find(wanted) if segment.keys is not None else ():
        space = owned.get(int(segment.columns.spaces[row]))
        if space is not None and not segment.dead[row]:
            yield _row(segment, documents, row, space)


def _row(segment: Segment[MemoryColumns], documents: DocumentSide, row: int, space: str) -> MemoryRow:
    columns = segment.columns
    updated_at = moment(columns.updated_at[row])
    return MemoryRow(
        id=columns.ids[row],
        space=space,
        text=columns.texts[row],
        sources=tuple(key for one in segment.owners.of(row) if (key := documents.key(one))),
        seq=0,
        created_at=moment(columns.created_at[row]),
        updated_at=updated_at,
        vector=_NO_VECTOR,
        terms=NO_TERMS,
        is_static=bool(columns.is_static[row]),
        is_inference=bool(columns.is_inference[row]),
        is_latest=bool(columns.is_latest[row]),
        forgotten_at=updated_at if columns.forgotten[row] else None,
        version=int(columns.versions[row]),
        date=columns.dates[row] or None,
        relations=relations_of(columns.relations[row]),
    )
