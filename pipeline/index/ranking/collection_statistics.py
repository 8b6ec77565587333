"""Statistics of a namespace about the terms of one query: document frequencies, lengths, document scores."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pipeline.index.ranking.bm25_scorer import TermWeights
from pipeline.index.ranking.ranking_parameters import (
    ASKER_NAME_FACTOR,
    COMMON_TERM_ROW_SHARE,
    DOCUMENT_B,
    DOCUMENT_K1,
    IDF_PRIOR_ROWS,
    MAX_DEFERRED_WEIGHT_SHARE,
)
from pipeline.index.segments.document_lengths import DocumentLengths
from pipeline.index.segments.postings import Postings

_SPARSE_COUNT_MIN_DOCUMENTS = 4_096


@dataclass(frozen=True, slots=True)
class _ChunkPostings:
    """The rows of a segment that have a term, how often, and the documents of all rows of the segment."""

    document_ordinals: NDArray[np.int32]
    rows: NDArray[np.uint16]
    counts: NDArray[np.uint8]


@dataclass(slots=True)
class CollectionStatistics:
    """Counts of visible rows for the terms of one query; add every segment first, then read."""

    row_frequencies: dict[int, int]
    row_counts: dict[str, int] = field(default_factory=dict)
    term_counts: dict[str, int] = field(default_factory=dict)
    chunk_postings: dict[int, list[_ChunkPostings]] = field(default_factory=dict)
    """Chunks by term."""
    chunk_lengths: list[DocumentLengths] = field(default_factory=list)
    """Those of each segment of chunks."""
    total_lengths: DocumentLengths | None = None
    """Their sum, where the caller has it; nobody reads every document for each query."""
    other_forms: dict[int, int] = field(default_factory=dict)
    """Further forms of a query's terms, each with the term that it stands for."""
    asker_terms: Collection[int] = ()
    """Terms of the asker's own name, which their texts replace by *I*: they weigh less."""

    def add_segment(
        self,
        kind: str,
        postings: Postings,
        live_rows: NDArray[np.bool_] | None,
        document_ordinals: NDArray[np.int32],
        document_lengths: DocumentLengths,
    ) -> None:
        """Count the live rows of a segment (None: all); `document_lengths` are those of its live rows."""
        for term, term_rows, term_counts in postings.find_all(self.row_frequencies):
            seen = slice(None) if live_rows is None else live_rows.take(term_rows.astype(np.intp), mode="clip")
            rows, counts = term_rows[seen], term_counts[seen]
            self.row_frequencies[term] += len(rows)
            if kind == "chunk" and len(rows):
                self.chunk_postings.setdefault(term, []).append(_ChunkPostings(document_ordinals, rows, counts))
        if kind == "chunk":
            self.chunk_lengths.append(document_lengths)
        row_count = len(document_ordinals) if live_rows is None else int(np.count_nonzero(live_rows))
        self.row_counts[kind] = self.row_counts.get(kind, 0) + row_count
        self.term_counts[kind] = self.term_counts.get(kind, 0) + document_lengths.term_count

    def add_terms(self, counted: "CollectionStatistics", terms: Iterable[int]) -> None:
        """Take over what was counted of further terms."""
        for term in terms:
            self.row_frequencies[term] = counted.row_frequencies[term]
            self.chunk_postings[term] = counted.chunk_postings.get(term, [])

    def choose_forms(self, forms: Iterable[Sequence[int]], corrections: Mapping[int, int]) -> None:
        """Keep one form of each query term: its own where the namespace has it, else the most frequent other.

        A name is in one namespace in texts of several languages, whose stemmers cut it in other ways: its
        further forms stand for it, and weigh as much as the most frequent one of them, which a row seldom has twice.
        `corrections`: terms that stand for misspelled ones.
        """
        frequencies = self.row_frequencies
        chosen: dict[int, None] = {}
        others: dict[int, int] = {}
        for group in forms:
            own = group[0] if frequencies[group[0]] else max(group, key=frequencies.__getitem__)
            chosen[own] = None
            others |= {term: own for term in group if frequencies[term]}
        self.other_forms = {term: own for term, own in (others | dict(corrections)).items() if term not in chosen}
        self.row_frequencies = {term: frequencies[term] for term in (*chosen, *self.other_forms)}

    @property
    def largest_row_count(self) -> int:
        """The number of rows of the kind that has more."""
        return max(self.row_counts.values(), default=0)

    def average_length(self, kind: str) -> float:
        """Mean number of terms of a row of this kind."""
        return max(self.term_counts.get(kind, 0) / max(self.row_counts.get(kind, 0), 1), 1.0)

    def term_weights(self) -> TermWeights:
        """Inverse document frequencies, smoothed for small namespaces."""
        total = sum(self.row_counts.values()) + IDF_PRIOR_ROWS
        weights = {
            term: self._share(term) * math.log1p((total - count) / (count + 1.0))
            for term, count in self.row_frequencies.items()
        }
        weights |= {term: min(weights[term], weights[own]) for term, own in self.other_forms.items()}
        deferred = self._deferred_terms(weights)
        ordered = {term: weights[term] for term in sorted(weights, key=deferred.__contains__)}
        return TermWeights(ordered, deferred, self.other_forms.keys())

    def _share(self, term: int) -> float:
        return ASKER_NAME_FACTOR if term in self.asker_terms else 1.0

    def _deferred_terms(self, weights: Mapping[int, float]) -> frozenset[int]:
        deferred, weight_left = set[int](), MAX_DEFERRED_WEIGHT_SHARE * sum(weights.values())
        common_from = COMMON_TERM_ROW_SHARE * sum(self.row_counts.values())
        for term in sorted(weights, key=weights.__getitem__):
            weight_left -= weights[term]
            if weight_left < 0 or self.row_frequencies[term] <= common_from:
                break
            deferred.add(term)
        return frozenset(deferred)

    def document_scores(self) -> NDArray[np.float32]:
        """BM25 of whole documents by ordinal, within 0 and 1; the last entry, 0, is for newer documents.

        Only discriminative terms count: a term common among chunks is in nearly every document.
        """
        if self.total_lengths is None:
            self.total_lengths = DocumentLengths.sum(self.chunk_lengths)
        lengths, document_count = self.total_lengths.term_counts, self.total_lengths.document_count
        average = max(self.total_lengths.term_count / max(document_count, 1), 1.0)
        # Pages of zeros that nobody writes to cost nothing: only documents with a term are touched.
        scores, total_weight, found = np.zeros(len(lengths) + 1), 0.0, [np.zeros(0, np.intp)]
        for term in self.term_weights().discriminative_terms:
            documents, counts = self._document_counts(term, len(lengths))
            frequency = len(documents)
            weight = self._share(term) * math.log1p((document_count + 0.5 - frequency) / (frequency + 1.0))
            total_weight += 0.0 if term in self.other_forms else weight
            norms = DOCUMENT_K1 * (1 - DOCUMENT_B + DOCUMENT_B * lengths[documents] / average)
            scores[documents] += weight * counts / (counts + norms)
            found.append(documents)
        normalized, documents = np.zeros(len(scores), np.float32), np.concatenate(found)
        normalized[documents] = scores[documents] / (total_weight or 1.0)
        return normalized

    def _document_counts(self, term: int, documents_end: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """The documents that have a term, ascending, and how often."""
        parts = self.chunk_postings.get(term)
        if not parts:
            return np.zeros(0, np.intp), np.zeros(0)
        documents = np.concatenate(
            [part.document_ordinals.take(part.rows.astype(np.intp), mode="clip") for part in parts]
        )
        counts = np.concatenate([part.counts for part in parts])
        if documents_end > _SPARSE_COUNT_MIN_DOCUMENTS and (documents[1:] >= documents[:-1]).all():
            # Chunks lie by document as they are loaded: sum the runs instead of an array of all documents.
            run_starts = np.append(0, np.flatnonzero(documents[1:] != documents[:-1]) + 1)
            return documents[run_starts].astype(np.intp), np.add.reduceat(counts, run_starts, dtype=np.float64)
        sums = np.bincount(documents, counts)
        present = np.flatnonzero(sums)
        return present, sums[present].astype(np.float64, copy=False)
