"""Memories that share rare words with new facts, limited to those that the document's group may see."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pipeline.memory.formation.document_memory_builder import ExtractionJob, matches_group, metadata_with_group
from pipeline.memory.formation.rule_based_extraction import CandidateFact
from pipeline.ports import DocumentTable, LexicalNeighborIndex, LexicalNeighborSearch, NearestMemories
from pipeline.runtime.cooperative_yield import CooperativeYield
from pipeline.text.analyzer import hash_terms


@dataclass(frozen=True, slots=True)
class LexicalNeighborFinder:
    """Finds neighbors in a namespace as of the moment it was opened."""

    search: LexicalNeighborSearch
    documents: DocumentTable

    @classmethod
    async def open(
        cls, index: LexicalNeighborIndex, documents: DocumentTable, namespace: str
    ) -> "LexicalNeighborFinder | None":
        """Open a namespace; None if it is too large to be held in memory."""
        search = await index.neighbor_search(namespace)
        return None if search is None else cls(search, documents)

    async def find(
        self, job: ExtractionJob, facts: Sequence[CandidateFact], cooperative_yield: CooperativeYield
    ) -> Mapping[str, NearestMemories]:
        """Return, by the text of each fact, the memories that share most with it."""
        found: dict[str, NearestMemories] = {}
        for fact in facts:
            found[fact.text] = self.search(hash_terms(fact.text))
            await cooperative_yield.checkpoint()
        return await self._filter_by_group(job, found) if job.group else found

    async def _filter_by_group(
        self, job: ExtractionJob, neighbors_by_text: Mapping[str, NearestMemories]
    ) -> Mapping[str, NearestMemories]:
        rows = await self.documents.get(
            {neighbor.document for nearest in neighbors_by_text.values() for neighbor in nearest.memories}
        )
        visible_documents = {
            key
            for key, document_rows in rows.items()
            if document_rows and matches_group(metadata_with_group(document_rows[0]), job.group or {})
        }
        return {
            text: replace(nearest, memories=tuple(row for row in nearest.memories if row.document in visible_documents))
            for text, nearest in neighbors_by_text.items()
        }
