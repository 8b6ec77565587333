"""Known memories nearest to a document, by words or by vectors, as far as the document's group may see them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from pipeline.memory.formation.document_memory_builder import ExtractionJob, matches_group, metadata_with_group
from pipeline.memory.formation.rule_based_extraction import CandidateFact
from pipeline.ports import (
    DocumentTable,
    Embedder,
    LexicalNeighborIndex,
    LexicalNeighborSearch,
    NearestMemories,
    NearestMemoryIndex,
)
from pipeline.rows import MemoryRow, NamespaceRow
from pipeline.runtime.cooperative_yield import CooperativeYield
from pipeline.text.analyzer import hash_terms
from schemas.base import Metadata

MAX_QUERY_CHARS = 2_000
"""Leading characters of a document that form the query."""
CANDIDATES_PER_DOCUMENT = 40
"""Nearest memories fetched per document; the group filter may drop some."""
MAX_NEAREST_MEMORIES = 20
"""Memories in one prompt."""
MAX_SEARCHED_NAMESPACE_MEMORIES = 200_000
"""Memories of a namespace up to which it is searched; in larger ones nothing is found."""


@dataclass(frozen=True, slots=True)
class LexicalNeighborFinder:
    """Finds memories that share rare words with new facts, as of the moment a namespace was opened."""

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
        if not job.group:
            return found
        keys = {neighbor.document for nearest in found.values() for neighbor in nearest.memories}
        visible = await _visible_documents(self.documents, keys, job.group)
        return {
            text: replace(nearest, memories=tuple(row for row in nearest.memories if row.document in visible))
            for text, nearest in found.items()
        }


@dataclass(frozen=True, slots=True)
class NearestMemoryFinder:
    """Finds memories by cosine similarity for a language model's prompt; none without an embedder.

    `count_memories` returns the number of current memories per incarnation without reading tables.
    """

    index: NearestMemoryIndex
    embedder: Embedder
    documents: DocumentTable
    count_memories: Callable[[Sequence[str]], Mapping[str, int]]

    async def __call__(self, namespace: NamespaceRow, jobs: Sequence[ExtractionJob]) -> list[MemoryRow]:
        """Return current memories stated by other documents than these, nearest first."""
        if (
            self.embedder.dimensions == 1
            or sum(self.count_memories(namespace.incarnations).values()) > MAX_SEARCHED_NAMESPACE_MEMORIES
        ):
            return []
        vectors = await self.embedder.embed_documents([job.text[:MAX_QUERY_CHARS] for job in jobs])
        best_by_id: dict[str, tuple[float, MemoryRow]] = {}
        for job, vector in zip(jobs, vectors, strict=True):
            neighbors = await self.index.nearest(namespace.name, vector, CANDIDATES_PER_DOCUMENT)
            for row, cosine in await self._visible_to_job(job, neighbors):
                if row.id not in best_by_id or best_by_id[row.id][0] < cosine:
                    best_by_id[row.id] = (cosine, row)
        ordered = sorted(best_by_id.values(), key=lambda scored: (-scored[0], scored[1].id))
        return [row for _, row in ordered[:MAX_NEAREST_MEMORIES]]

    async def _visible_to_job(
        self, job: ExtractionJob, neighbors: Sequence[tuple[MemoryRow, float]]
    ) -> list[tuple[MemoryRow, float]]:
        others = [(row, cosine) for row, cosine in neighbors if any(source != job.document for source in row.sources)]
        if not job.group:
            return others
        visible = await _visible_documents(self.documents, {key for row, _ in others for key in row.sources}, job.group)
        return [(row, cosine) for row, cosine in others if not visible.isdisjoint(row.sources)]


async def _visible_documents(documents: DocumentTable, keys: Collection[str], group: Metadata) -> frozenset[str]:
    """Return the keys of the documents that a group may see."""
    rows = await documents.get(keys)
    return frozenset(
        key for key, found in rows.items() if found and matches_group(metadata_with_group(found[0]), group)
    )
