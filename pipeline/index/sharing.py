"""Memories that share rare words with a text: found through the postings, whatever the namespace holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.index.documents import DocumentSide
from pipeline.index.live import Visible
from pipeline.index.postings import MAXIMUM_ROWS
from pipeline.ports import Neighbour, Neighbours
from pipeline.rows import MemoryColumns, Terms

COMMON = 256
"""A word that more memories have than this finds none: it bounds the work for one text."""
MOST = 16
"""Neighbours of one text."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """As `ports.SharedWords`, on the segments as they were when this was made."""

    parts: Sequence[Visible[MemoryColumns]]
    documents: DocumentSide

    def __call__(self, terms: Terms) -> Neighbours:
        """The memories that share most with these terms, and in how many memories each term is."""
        frequencies = dict.fromkeys(np.unique(terms).tolist(), 0)
        found: list[tuple[int, int, NDArray[np.uint16]]] = []
        for at, part in enumerate(self.parts):
            for term, rows, _ in part.segment.postings.find_all(frequencies):
                frequencies[term] += len(rows)
                found.append((at, term, rows))
        rare = [one for one in found if frequencies[one[1]] <= COMMON]
        return Neighbours(
            rows=sum(len(part.segment) for part in self.parts),
            frequencies=frequencies,
            found=tuple(self._best(rare, frequencies)),
        )

    def _best(
        self, found: Sequence[tuple[int, int, NDArray[np.uint16]]], frequencies: Mapping[int, int]
    ) -> list[Neighbour]:
        """What shares most, the oldest first of what shares as much. `found`: parts, terms and their rows."""
        if not found:
            return []
        places = np.concatenate([rows.astype(np.int64) + at * MAXIMUM_ROWS for at, _, rows in found])
        weights = [1.0 / (1 + frequencies[term]) for _, term, _ in found]
        different, which = np.unique(places, return_inverse=True)
        shared = np.bincount(which, np.repeat(weights, [len(rows) for _, _, rows in found]))
        best: list[Neighbour] = []
        for place in different[np.argsort(-shared, kind="stable")].tolist():
            at, row = divmod(place, MAXIMUM_ROWS)
            part = self.parts[at]
            if _is_current(part, row) and not part.segment.columns.is_inference[row]:
                columns = part.segment.columns
                document = self.documents.key(int(part.documents[row]))
                best.append(Neighbour(columns.ids[row], columns.texts[row], document))
            if len(best) == MOST:
                break
        return best


def _is_current(part: Visible[MemoryColumns], row: int) -> bool:
    columns = part.segment.columns
    seen = part.mask is None or bool(part.mask[row])
    return seen and bool(columns.is_latest[row]) and not columns.forgotten[row]
