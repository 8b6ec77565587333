"""All rows of one kind in a namespace: immutable segments, and the visibility of their rows."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from pipeline.index.segments.document_lengths import DocumentLengths
from pipeline.index.segments.document_store import DocumentStore
from pipeline.index.segments.mmap_store import MmapStore
from pipeline.index.segments.segment import C, ParentDocuments, Segment, build_segment, merge_segments, split_columns
from pipeline.rows import ChunkColumns, MemoryColumns

MAX_SEGMENT_ROWS = 16_384
"""Rows of the largest segment; bounds time and memory of building and merging one."""
MIN_SPILLED_ROWS = 4_096
"""Rows from which a segment of a spilled namespace is mapped from disk."""
_MAX_SPILLED_SEGMENT_ROWS = 65_536
"""Rows of the largest segment of a spilled namespace: the number that 16-bit postings can address."""
_MERGE_RATIO = 4
"""Segments are merged unless the older one is this many times larger."""


@dataclass(frozen=True, eq=False)
class SegmentView(Generic[C]):
    """A segment, the document of each of its rows, and a mask of the visible rows (None: all)."""

    segment: Segment[C]
    document_ordinals: NDArray[np.int32]
    mask: NDArray[np.bool_] | None

    @cached_property
    def document_lengths(self) -> DocumentLengths:
        """Lengths of the documents, counted over visible rows."""
        lengths = self.segment.postings.lengths
        return DocumentLengths.from_rows(lengths if self.mask is None else lengths * self.mask, self.document_ordinals)


class SegmentList(Generic[C]):
    """Segments of one kind, oldest and largest first. Searches read a `snapshot`, which never changes."""

    def __init__(self, documents: DocumentStore, parents_of: Callable[[DocumentStore, C], ParentDocuments]) -> None:
        self._documents = documents
        self._parents_of: Callable[[DocumentStore, C], ParentDocuments] = parents_of
        self._views: tuple[SegmentView[C], ...] = ()
        self._mmap_store: MmapStore | None = None

    def __len__(self) -> int:
        return sum(len(view.segment) for view in self._views)

    @property
    def nbytes(self) -> int:
        return sum(view.segment.nbytes + view.document_ordinals.nbytes for view in self._views)

    @property
    def max_segment_rows(self) -> int:
        """Rows of the largest segment that `add` builds."""
        return MAX_SEGMENT_ROWS if self._mmap_store is None else _MAX_SPILLED_SEGMENT_ROWS

    def spill_to_disk(self, mmap_store: MmapStore) -> None:
        """Map new segments from disk from now on; `spill_next_segment` maps those already in memory."""
        self._mmap_store = mmap_store

    def spill_next_segment(self) -> bool:
        """Map the next segment that is large enough and still in memory; False when there is none."""
        if self._mmap_store is None:
            return False
        views = list(self._views)
        place = next((place for place, view in enumerate(views) if _should_spill(view.segment)), None)
        if place is not None:
            segment = views[place].segment.spill_to_disk(self._mmap_store)
            views[place] = replace(views[place], segment=segment)
            self._views = tuple(views)
        return place is not None

    def merge_for_spill(self) -> None:
        """Merge neighboring segments up to the size limit of a spilled namespace."""
        groups: list[list[Segment[C]]] = []
        for view in self._views:
            if groups and sum(map(len, groups[-1])) + len(view.segment) <= self.max_segment_rows:
                groups[-1].append(view.segment)
            else:
                groups.append([view.segment])
        self._views = tuple(self._view_of(merge_segments(group) if len(group) > 1 else group[0]) for group in groups)

    def snapshot(self) -> tuple[SegmentView[C], ...]:
        """The current segments; later changes do not affect them."""
        return self._views

    def restore(self, segments: Iterable[Segment[C]]) -> None:
        """Take over segments that were built before."""
        self._views = tuple(self._view_of(segment) for segment in segments)

    def add(self, columns: C) -> None:
        for piece in split_columns(columns, self.max_segment_rows):
            segment = build_segment(piece, self._parents_of(self._documents, piece))
            if self._mmap_store is not None and _should_spill(segment):
                segment = segment.spill_to_disk(self._mmap_store)
            self._views += (self._view_of(segment),)

    def delete_rows(self, select_rows: Callable[[Segment[C]], NDArray[np.intp] | list[int]]) -> None:
        """Mark the rows that `select_rows` returns for each segment as deleted."""
        views = []
        for view in self._views:
            rows = select_rows(view.segment)
            views.append(self._view_of(view.segment.with_deleted(rows)) if len(rows) else view)
        self._views = tuple(views)

    def compact(self) -> None:
        """Merge small segments and drop deleted rows, so that time and memory per search stay bounded."""
        before = [view.segment for view in self._views]
        after = [
            group[0] if len(group) == 1 and 2 * live_rows >= len(group[0]) else merge_segments(group)
            for group, live_rows in _plan_merges(before)
        ]
        if after != before:
            views = {view.segment: view for view in self._views}
            self._views = tuple(views.get(segment) or self._view_of(segment) for segment in after)

    def refresh_visibility(self, changed_ordinals: NDArray[np.intp]) -> None:
        """Recompute the masks of segments that have rows of documents that appeared or disappeared."""
        self._views = tuple(
            self._view_of(view.segment) if view.segment.parents.has_any(changed_ordinals) else view
            for view in self._views
        )

    def _view_of(self, segment: Segment[C]) -> SegmentView[C]:
        return segment_view(segment, self._documents)


def segment_view(
    segment: Segment[C], documents: DocumentStore, passing_documents: NDArray[np.bool_] | None = None
) -> SegmentView[C]:
    """The visible rows of a segment: those that are not deleted and have a document that is present.

    `passing_documents`: mask by ordinal of the documents that pass a filter. A memory of several sources is
    visible if one of them passes, and is shown with that one.
    """
    present = documents.present
    # Documents may have been added after the filter was evaluated; no row of this snapshot belongs to them.
    allowed = present if passing_documents is None else present[: len(passing_documents)] & passing_documents
    owners = segment.parents.first_present(allowed, len(segment))
    mask = allowed[owners] & ~segment.deleted
    return SegmentView(segment, owners, None if mask.all() else mask)


def _should_spill(segment: Segment[C]) -> bool:
    return not segment.is_spilled and len(segment) >= MIN_SPILLED_ROWS


def _plan_merges(segments: Sequence[Segment[C]]) -> list[tuple[list[Segment[C]], int]]:
    """Groups of segments to merge, each with its number of live rows; empty segments are left out."""
    groups: list[tuple[list[Segment[C]], int]] = []
    for segment in segments:
        if live_rows := len(segment) - int(np.count_nonzero(segment.deleted)):
            groups.append(([segment], live_rows))
        while len(groups) > 1 and _should_merge(groups[-2][1], groups[-1][1]):
            (older, older_rows), (newer, newer_rows) = groups[-2:]
            groups[-2:] = [(older + newer, older_rows + newer_rows)]
    return groups


def _should_merge(older_rows: int, newer_rows: int) -> bool:
    return older_rows < _MERGE_RATIO * newer_rows and older_rows + newer_rows <= MAX_SEGMENT_ROWS


def chunk_parents(documents: DocumentStore, columns: ChunkColumns) -> ParentDocuments:
    return ParentDocuments(documents.ordinals(columns.documents))


def memory_parents(documents: DocumentStore, columns: MemoryColumns) -> ParentDocuments:
    """The source documents of each memory; it is shown with the first that is present."""
    sources = [keys.split() for keys in columns.sources]
    rows = np.repeat(np.arange(len(sources), dtype=np.int32), [len(keys) for keys in sources])
    return ParentDocuments(documents.ordinals(key for keys in sources for key in keys), rows)


def live_rows_with_ids(ids: Collection[str]) -> Callable[[Segment[MemoryColumns]], list[int]]:
    return lambda segment: [row for row in segment.lookup.rows_with_ids(ids) if not segment.deleted[row]]


def live_rows_of_documents(ordinals: NDArray[np.int32]) -> Callable[[Segment[ChunkColumns]], NDArray[np.intp]]:
    if len(ordinals) == 1:
        return lambda part: np.flatnonzero((part.parents.ordinals == ordinals[0]) & ~part.deleted)
    return lambda part: np.flatnonzero(np.isin(part.parents.ordinals, ordinals) & ~part.deleted)
