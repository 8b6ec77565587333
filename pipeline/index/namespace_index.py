"""Search index of one namespace: documents, chunks and memories, held or mapped from disk."""

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence

from pipeline.columns import chunk_columns, memory_columns
from pipeline.index.asker_name import introduced_names, speaker_names
from pipeline.index.memory_relation_lookup import find_related_memories
from pipeline.index.pending_changes import PendingChanges
from pipeline.index.ranking.analyzed_query import AnalyzedQuery
from pipeline.index.ranking.candidate_generation import SegmentScan, filter_views, fits_exact_scoring, split_work
from pipeline.index.ranking.candidates import AnySegmentView, Candidates, ScoredRows, row_kind
from pipeline.index.ranking.collection_statistics import CollectionStatistics
from pipeline.index.ranking.ranking_parameters import COMMON_TERM_ROW_SHARE
from pipeline.index.ranking.search_request_and_hits import (
    CurrentMemory,
    Hit,
    RelatedMemories,
    SearchRequest,
)
from pipeline.index.ranking.second_stage.memory_chunk_support import expand_successors
from pipeline.index.ranking.second_stage.second_stage_ranking import apply_second_stage, compare_by_passages
from pipeline.index.ranking.top_hits import collect_top_hits, nearest_memories, newest_memories
from pipeline.index.segments import segment_list
from pipeline.index.segments.document_lengths import DocumentLengths
from pipeline.index.segments.document_store import DocumentStore
from pipeline.index.segments.mmap_store import MmapStore
from pipeline.rows import ChunkColumns, ChunkRow, DocumentColumns, MemoryColumns, Vector
from schemas.filters import FilterExpression

MAX_INLINE_ROWS = 20_000
"""Rows up to which a search runs inline; a longer one would block the event loop."""
SCAN_THREADS = 2
"""Threads per search: numpy releases the GIL."""


class NamespaceIndex:
    def __init__(self, documents: DocumentColumns | DocumentStore) -> None:
        self.documents = documents if isinstance(documents, DocumentStore) else DocumentStore(documents)
        self.chunks = segment_list.SegmentList[ChunkColumns](self.documents, segment_list.chunk_parents)
        self.memories = segment_list.SegmentList[MemoryColumns](self.documents, segment_list.memory_parents)
        self.revision = 0
        """Number of batches of changes applied; results derived at the same revision are still valid."""
        self._active_scans = 0
        self._summed_chunks: tuple[segment_list.SegmentView[ChunkColumns], ...] = ()
        self._lengths = DocumentLengths.sum(())
        """Lengths of the documents of those chunks."""

    def __len__(self) -> int:
        return len(self.chunks) + len(self.memories)

    @property
    def nbytes(self) -> int:
        return self.documents.nbytes + self.chunks.nbytes + self.memories.nbytes

    @property
    def fits_inline_search(self) -> bool:
        """True when a search takes less time than handing it to a thread."""
        return len(self) <= MAX_INLINE_ROWS

    @property
    def is_spilled(self) -> bool:
        """True when large arrays are mapped from disk."""
        return self.documents.is_spilled

    def spill_to_disk(self, mmap_store: MmapStore) -> None:
        """Map documents and new segments from disk; `spill_next_segment` maps segments still in memory."""
        self.documents.spill_to_disk(mmap_store)
        self.chunks.spill_to_disk(mmap_store)
        self.memories.spill_to_disk(mmap_store)

    def spill_next_segment(self) -> bool:
        """Map one large segment that is still in memory; False when there is none."""
        return self.chunks.spill_next_segment() or self.memories.spill_next_segment()

    def apply_changes(self, changes: PendingChanges) -> None:
        """Apply changes; every later search sees them."""
        self.revision += 1
        changed_ordinals = self.documents.apply(changes.documents)
        if changes.chunks:
            self._replace_chunks(changes.chunks)
        if changes.memories:
            self.memories.delete_rows(segment_list.live_rows_with_ids(changes.memories.keys()))
            self.memories.add(memory_columns([row for rows in changes.memories.values() for row in rows]))
        self.chunks.compact()
        self.memories.compact()
        if len(changed_ordinals):
            self.chunks.refresh_visibility(changed_ordinals)
            self.memories.refresh_visibility(changed_ordinals)

    async def collect_statistics(self, terms: Collection[int]) -> CollectionStatistics:
        chunks = self.chunks.snapshot()
        if self._summed_chunks is not chunks:
            self._lengths = DocumentLengths.sum(view.document_lengths for view in chunks)
            self._summed_chunks = chunks
        statistics = CollectionStatistics(dict.fromkeys(terms, 0), total_lengths=self._lengths)
        for view in self._views():
            statistics.add_segment(
                row_kind(view), view.segment.postings, view.mask, view.document_ordinals, view.document_lengths
            )
        return statistics

    def introduced_names(self, terms: Collection[int]) -> Iterator[str]:
        """Names with one of these terms that memories say to be the user's own; looked for as they are asked for."""
        return introduced_names(self.memories.snapshot(), terms)

    @property
    def remembers_user(self) -> bool:
        """Return whether a memory tells of the user who wrote the texts."""
        return any(view.segment.columns.in_profile.any() for view in self.memories.snapshot())

    def speaker_names(self, row_frequencies: Mapping[int, int]) -> Iterator[str]:
        """Names of those who speak in passages with the common ones of these terms; given are their numbers of rows."""
        least = COMMON_TERM_ROW_SHARE * len(self)
        common = [term for term, count in row_frequencies.items() if count > least]
        return speaker_names(self.chunks.snapshot(), common)

    async def search(self, query: AnalyzedQuery, request: SearchRequest) -> list[Hit]:
        """The best rows for a query, best first."""
        views = self._views()  # of both kinds: memories and passages affect each other's scores
        passing = None if request.documents is None else self.documents.mask_of(request.documents)
        if request.filter is not None:
            filtered = self.documents.filter_mask(request.filter)
            passing = filtered if passing is None else passing & filtered
        scan = SegmentScan(query, request, self.documents, passing, fits_exact_scoring(views))
        rows = scan.scan(views) if self.fits_inline_search else await self._scan_in_threads(scan, views)
        candidates = scan.select_candidates(rows)
        if request.rescore is None:
            return self._rank(query, request, candidates)
        return await asyncio.to_thread(self._rank, query, request, candidates)

    def _rank(self, query: AnalyzedQuery, request: SearchRequest, candidates: Candidates) -> list[Hit]:
        if "chunk" not in request.kinds:
            candidates = compare_by_passages(candidates)
        candidates, successors = expand_successors(query, candidates)
        ranked = apply_second_stage(query, candidates, successors, self.documents, request)
        return collect_top_hits(query, request, self.documents, ranked)

    async def _scan_in_threads(self, scan: SegmentScan, views: Sequence[AnySegmentView]) -> list[ScoredRows]:
        """Scan in threads; in several only while no other search of this namespace runs."""
        self._active_scans += 1
        try:
            groups = split_work(views, SCAN_THREADS if self._active_scans == 1 else 1)
            scanned = await asyncio.gather(*(asyncio.to_thread(scan.scan, group) for group in groups))
        finally:
            self._active_scans -= 1
        return [rows for group in scanned for rows in group]

    async def nearest_memories(self, vector: Vector, limit: int) -> list[tuple[str, float]]:
        """Ids of the nearest current memories with their cosines, best first."""
        return nearest_memories(self.memories.snapshot(), vector, limit)

    async def newest_memories(self, expression: FilterExpression | None, limit: int) -> list[CurrentMemory]:
        """The newest current memories, at most `limit` static and `limit` dynamic ones, newest first."""
        passing = None if expression is None else self.documents.filter_mask(expression)
        return newest_memories(filter_views(self.memories.snapshot(), self.documents, passing), limit)

    async def related_memories(
        self, ids: Sequence[str], expression: FilterExpression | None, *, include_forgotten: bool
    ) -> dict[str, RelatedMemories]:
        """Direct relations of memories, as far as they pass the filter."""
        return find_related_memories(
            self.documents, self.memories.snapshot(), ids, expression, include_forgotten=include_forgotten
        )

    def _replace_chunks(self, rows_by_document: Mapping[str, list[ChunkRow]]) -> None:
        keys = [key for key in rows_by_document if self.documents.has_ordinal(key)]
        if keys:
            self.chunks.delete_rows(segment_list.live_rows_of_documents(self.documents.ordinals(keys)))
        self.chunks.add(chunk_columns([row for rows in rows_by_document.values() for row in rows]))

    def _views(self) -> list[AnySegmentView]:
        return [*self.chunks.snapshot(), *self.memories.snapshot()]
