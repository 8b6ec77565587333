"""The rows of one kind in a namespace: segments, and which of their rows can be seen."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from pipeline.index.documents import DocumentSide
from pipeline.index.scoring import Lengths, Statistics
from pipeline.index.segments import C, Owners, Segment, joined, pieces, segment
from pipeline.index.shelf import Shelf
from pipeline.rows import ChunkColumns, MemoryColumns

SEGMENT_ROWS = 16_384
"""Rows of the largest segment: bounds the time and the memory that building and merging one take."""
SHELVED_ROWS = 4_096
"""Segments of so many rows are mapped in a namespace that is too large to be held."""
_LOADED_ROWS = 65_536
"""Rows of a segment that is loaded to be mapped: as many as postings can number."""
_GROWTH = 4
"""A segment is merged into the one before it when that one is not this many times larger."""


@dataclass(frozen=True, eq=False)
class Visible(Generic[C]):
    """A segment, the document of each of its rows, and which rows can be seen (None: all)."""

    segment: Segment[C]
    documents: NDArray[np.int32]
    mask: NDArray[np.bool_] | None

    @cached_property
    def lengths(self) -> Lengths:
        """Of the rows that can be seen, by document."""
        lengths = self.segment.postings.lengths
        return Lengths.of(lengths if self.mask is None else lengths * self.mask, self.documents)


class LiveRows(Generic[C]):
    """Segments of one kind, oldest and largest first. Searches work on `view()`, which never changes."""

    def __init__(
        self, kind: str, documents: DocumentSide, owners: Callable[[DocumentSide, C], Owners]
    ) -> None:
        self.kind = kind
        self._documents = documents
        self._owners: Callable[[DocumentSide, C], Owners] = owners
        self._view: tuple[Visible[C], ...] = ()
        self._shelf: Shelf | None = None

    def __len__(self) -> int:
        return sum(len(one.segment) for one in self._view)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(one.segment.nbytes + one.documents.nbytes for one in self._view)

    @property
    def loaded_rows(self) -> int:
        """How many rows become one segment when many come at once."""
        return SEGMENT_ROWS if self._shelf is None else _LOADED_ROWS

    def shelve(self, shelf: Shelf) -> None:
        """From now on hold only what is small; `add` maps what comes, `map_next` what is here."""
        self._shelf = shelf

    def map_next(self) -> bool:
        """Map one of the segments that wait for it; False when none did."""
        if self._shelf is None:
            return False
        view = list(self._view)
        at = next((at for at, one in enumerate(view) if _belongs(one.segment)), None)
        if at is not None:
            view[at] = replace(view[at], segment=view[at].segment.shelved(self._shelf))
            self._view = tuple(view)
        return at is not None

    def gather(self) -> None:
        """Join segments up to the size of those that are loaded to be mapped: fewer to be asked."""
        kept: list[list[Segment[C]]] = []
        for one in self._view:
            if kept and sum(map(len, kept[-1])) + len(one.segment) <= self.loaded_rows:
                kept[-1].append(one.segment)
            else:
                kept.append([one.segment])
        self._view = tuple(self._look(joined(some) if len(some) > 1 else some[0]) for some in kept)

    def view(self) -> tuple[Visible[C], ...]:
        """The segments as they are now."""
        return self._view

    def add(self, columns: C) -> None:
        """Append rows as new segments."""
        for piece in pieces(columns, self.loaded_rows):
            made = segment(piece, self._owners(self._documents, piece))
            if self._shelf is not None and _belongs(made):
                made = made.shelved(self._shelf)
            self._view += (self._look(made),)

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
        kept = [
            some[0] if len(some) == 1 and 2 * alive >= len(some[0]) else joined(some)
            for some, alive in _grouped(before)
        ]
        if kept != before:
            seen = {one.segment: one for one in self._view}
            self._view = tuple(seen.get(one) or self._look(one) for one in kept)

    def refresh(self, changed: NDArray[np.intp]) -> None:
        """Look again which documents are there, where any of these (ordinals) has rows."""
        self._view = tuple(
            self._look(one.segment) if one.segment.owners.has_any(changed) else one for one in self._view
        )

    def count(self, statistics: Statistics) -> None:
        """Add the rows that can be seen to a question's statistics."""
        for one in self._view:
            statistics.add(self.kind, one.segment.postings, one.mask, one.documents, one.lengths)

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


def _belongs(one: Segment[C]) -> bool:
    return not one.mapped and len(one) >= SHELVED_ROWS


def _grouped(segments: Sequence[Segment[C]]) -> list[tuple[list[Segment[C]], int]]:
    """Those that have living rows, with the newer ones that each is merged with, and how many rows live."""
    groups: list[tuple[list[Segment[C]], int]] = []
    for one in segments:
        if alive := len(one) - int(np.count_nonzero(one.dead)):
            groups.append(([one], alive))
        while len(groups) > 1 and _mergeable(groups[-2][1], groups[-1][1]):
            (older, some), (newer, more) = groups[-2:]
            groups[-2:] = [(older + newer, some + more)]
    return groups


def _mergeable(older: int, newer: int) -> bool:
    return older < _GROWTH * newer and older + newer <= SEGMENT_ROWS


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
