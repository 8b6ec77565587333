"""Memories that share rare words with a text: found through the postings, whatever the namespace holds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.index.documents import DocumentSide
from pipeline.index.live import Visible
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
        unique = np.unique(terms)
        frequencies = {int(term): 0 for term in unique}
        found = []
        for part in self.parts:
            for term in frequencies:
                rows, _ = part.segment.postings.find(term)
                frequencies[term] += len(rows)
                found.append((part, term, rows))
        shared: dict[tuple[int, int], float] = {}
        places = {id(part): at for at, part in enumerate(self.parts)}
        for part, term, rows in found:
            if len(rows) and frequencies[term] <= COMMON:
                weight = 1.0 / (1 + frequencies[term])
                for row in rows.tolist():
                    key = (places[id(part)], row)
                    shared[key] = shared.get(key, 0.0) + weight
        return Neighbours(
            rows=sum(len(part.segment) for part in self.parts),
            frequencies=frequencies,
            found=tuple(self._best(shared)),
        )

    def _best(self, shared: dict[tuple[int, int], float]) -> list[Neighbour]:
        best: list[Neighbour] = []
        for at, row in sorted(shared, key=lambda one: (-shared[one], one)):
            part = self.parts[at]
            if _is_current(part, row) and not part.segment.columns.is_inference[row]:
                columns = part.segment.columns
                facts = self.documents.facts(int(part.documents[row]))
                best.append(Neighbour(columns.ids[row], columns.texts[row], facts.key if facts else ""))
            if len(best) == MOST:
                break
        return best


def _is_current(part: Visible[MemoryColumns], row: int) -> bool:
    columns = part.segment.columns
    seen = part.mask is None or bool(part.mask[row])
    return seen and bool(columns.is_latest[row]) and not columns.forgotten[row]
