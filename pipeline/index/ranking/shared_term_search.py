"""Memories that share rare terms with a text, found through the postings in bounded time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.index.segments.document_store import DocumentStore
from pipeline.index.segments.postings import MAX_ROWS
from pipeline.index.segments.segment_list import SegmentView
from pipeline.ports import NearestMemories, NearestMemory
from pipeline.rows import MemoryColumns, Terms

MAX_ROWS_PER_TERM = 256
"""Terms with more rows select no neighbor: this bounds the work for one text."""
MAX_NEIGHBORS = 16
"""Neighbors of one text."""


@dataclass(frozen=True, slots=True)
class SharedTermSearch:
    """Implementation of `ports.LexicalNeighborSearch` over an immutable snapshot of the segments."""

    views: Sequence[SegmentView[MemoryColumns]]
    documents: DocumentStore

    def __call__(self, terms: Terms) -> NearestMemories:
        """The memories that share most with these terms, and the document frequency of each term."""
        frequencies = dict.fromkeys(np.unique(terms).tolist(), 0)
        postings: list[tuple[int, int, NDArray[np.uint16]]] = []
        for view_number, view in enumerate(self.views):
            for term, rows, _ in view.segment.postings.find_all(frequencies):
                frequencies[term] += len(rows)
                postings.append((view_number, term, rows))
        rare = [entry for entry in postings if frequencies[entry[1]] <= MAX_ROWS_PER_TERM]
        return NearestMemories(
            row_count=sum(len(view.segment) for view in self.views),
            document_frequencies=frequencies,
            memories=tuple(self._top_neighbors(rare, frequencies)),
        )

    def _top_neighbors(
        self, term_rows: Sequence[tuple[int, int, NDArray[np.uint16]]], document_frequencies: Mapping[int, int]
    ) -> list[NearestMemory]:
        """The memories of highest shared weight, older ones first among equals.

        `term_rows`: number of the view, term, and the rows that have it.
        """
        if not term_rows:
            return []
        places = np.concatenate([rows.astype(np.int64) + number * MAX_ROWS for number, _, rows in term_rows])
        weights = [1.0 / (1 + document_frequencies[term]) for _, term, _ in term_rows]
        distinct, inverse = np.unique(places, return_inverse=True)
        shared = np.bincount(inverse, np.repeat(weights, [len(rows) for _, _, rows in term_rows]))
        neighbors: list[NearestMemory] = []
        for place in distinct[np.argsort(-shared, kind="stable")].tolist():
            number, row = divmod(int(place), MAX_ROWS)
            view = self.views[number]
            columns = view.segment.columns
            if _is_current(view, row) and not columns.is_inference[row]:
                document = self.documents.key(int(view.document_ordinals[row]))
                neighbors.append(NearestMemory(columns.ids[row], columns.texts[row], document))
            if len(neighbors) == MAX_NEIGHBORS:
                break
        return neighbors


def _is_current(view: SegmentView[MemoryColumns], row: int) -> bool:
    columns = view.segment.columns
    visible = view.mask is None or bool(view.mask[row])
    return visible and bool(columns.is_latest[row]) and not columns.forgotten[row]
