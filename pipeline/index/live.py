"""The rows of one kind in a namespace: segments, and which of their rows can be seen."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from pipeline.index.documents import DocumentSide
from pipeline.index.scoring import Statistics
from pipeline.index.segments import C, Owners, Segment, joined, pieces, segment
from pipeline.rows import ChunkColumns, MemoryColumns

SEGMENT_ROWS = 16_384
"""Rows of the largest segment: bounds the time and the memory that building and merging one take."""
_GROWTH = 4
"""A segment is merged into the one before it when that one is not this many times larger."""


@dataclass(frozen=True, slots=True)
class Visible(Generic[C]):
    """A segment, the document of each of its rows, and which rows can be seen (None: all)."""

    segment: Segment[C]
    documents: NDArray[np.int32]
    mask: NDArray[np.bool_] | None


class LiveRows(Generic[C]):
    """Segments of one kind, oldest and largest first. Searches work on `view()`, which never changes."""

    def __init__(
        self, kind: str, documents: DocumentSide, owners: Callable[[DocumentSide, C], Owners]
    ) -> None:
        self.kind = kind
        self._documents = documents
        self._owners: Callable[[DocumentSide, C], Owners] = owners
        self._view: tuple[Visible[C], ...] = ()

    def __len__(self) -> int:
        return sum(len(one.segment) for one in self._view)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(one.segment.nbytes + one.documents.nbytes for one in self._view)

    def view(self) -> tuple[Visible[C], ...]:
        """The segments as they are now."""
        return self._view

    def add(self, columns: C) -> None:
        """Append rows as new segments."""
        for piece in pieces(columns, SEGMENT_ROWS):
            self._view += (self._look(segment(piece, self._owners(self._documents, piece))),)

    def remove(self, find: Callable[[Segment[C]], NDArray[np.intp] | list[int]]) -> None:
        """Mark as dead the rows that `find` names in each segment."""
        after = []
        for one in self._view:
            rows = find(one.segment)
            after.append(self._look(one.segment.without(rows)) if len(rows) else one)
        self._view = tuple(after)

    def settle(self) -> None:
        """Merge small segments and drop dead rows, so that work per search and bytes stay bounded."""
        before = [one.segment for one in self._view]
        kept: list[Segment[C]] = []
        for one in before:
            alive = len(one) - int(np.count_nonzero(one.dead))
            if alive:
                kept.append(joined([one]) if alive < len(one) // 2 else one)
            while len(kept) > 1 and _mergeable(kept[-2], kept[-1]):
                kept[-2:] = [joined(kept[-2:])]
        if kept != before:
            self._view = tuple(self._look(one) for one in kept)

    def refresh(self) -> None:
        """Look again which documents are there."""
        self._view = tuple(self._look(one.segment) for one in self._view)

    def count(self, statistics: Statistics) -> None:
        """Add the rows that can be seen to a question's statistics."""
        for one in self._view:
            statistics.add(self.kind, one.segment.postings, one.mask, one.documents)

    def find(self, ids: Collection[str]) -> Iterator[tuple[Visible[C], int]]:
        """The rows that can be seen and have these ids."""
        for one in self._view:
            for row in one.segment.lookup.find(ids):
                if one.mask is None or one.mask[row]:
                    yield one, row

    def _look(self, one: Segment[C]) -> Visible[C]:
        return look(one, self._documents)


def look(one: Segment[C], documents: DocumentSide, passing: NDArray[np.bool_] | None = None) -> Visible[C]:
    """Which rows of a segment can be seen: they are not dead, and a document of theirs is there.

    `passing` says by ordinal which documents a filter lets through: a memory of several sources is seen if
    one of them passes, as that one's.
    """
    present = documents.present
    # Documents may have come since the filter was asked; rows that were seen with it know none of them.
    allowed = present if passing is None else present[: len(passing)] & passing
    owners = one.owners.first_present(allowed, len(one))
    mask = allowed[owners] & ~one.dead
    return Visible(one, owners, None if mask.all() else mask)


def _mergeable(older: Segment[C], newer: Segment[C]) -> bool:
    return len(older) < _GROWTH * len(newer) and len(older) + len(newer) <= SEGMENT_ROWS


def chunk_owners(documents: DocumentSide, columns: ChunkColumns) -> Owners:
    """A chunk belongs to its document."""
    return Owners(documents.ordinals(columns.documents))


def memory_owners(documents: DocumentSide, columns: MemoryColumns) -> Owners:
    """A memory belongs to the first of its sources that is there."""
    sources = [one.split() for one in columns.sources]
    rows = np.repeat(np.arange(len(sources), dtype=np.int32), [len(one) for one in sources])
    return Owners(documents.ordinals(key for one in sources for key in one), rows)


def by_id(ids: Collection[str]) -> Callable[[Segment[MemoryColumns]], list[int]]:
    """Rows that have one of these ids and are not dead yet."""
    return lambda one: [row for row in one.lookup.find(ids) if not one.dead[row]]


def by_document(ordinals: NDArray[np.int32]) -> Callable[[Segment[ChunkColumns]], NDArray[np.intp]]:
    """Rows that belong to any of these documents and are not dead yet."""
    if len(ordinals) == 1:
        return lambda one: np.flatnonzero((one.owners.documents == ordinals[0]) & ~one.dead)
    return lambda one: np.flatnonzero(np.isin(one.owners.documents, ordinals) & ~one.dead)
