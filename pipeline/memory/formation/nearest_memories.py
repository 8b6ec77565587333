"""Known memories nearest to documents that a language model is about to read, as far as their group may see
them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pipeline.memory.formation.document_memory_builder import ExtractionJob, matches_group, metadata_with_group
from pipeline.ports import DocumentTable, Embedder, NearestMemoryIndex
from pipeline.rows import MemoryRow, NamespaceRow

MAX_QUERY_CHARS = 2_000
"""Leading characters of a document that form the query."""
CANDIDATES_PER_DOCUMENT = 40
"""Nearest memories fetched per document; the group filter may drop some."""
MAX_NEAREST_MEMORIES = 20
"""Memories in one prompt."""
MAX_SEARCHED_NAMESPACE_MEMORIES = 200_000
"""Memories of a namespace up to which it is searched; in larger ones nothing is found."""


@dataclass(frozen=True, slots=True)
class NearestMemoryFinder:
    """Finds memories by cosine similarity; none without an embedder.

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
        rows_by_key = await self.documents.get({source for row, _ in others for source in row.sources})
        shared_metadata = {key: metadata_with_group(rows[0]) for key, rows in rows_by_key.items() if rows}
        return [
            (row, cosine)
            for row, cosine in others
            if any(matches_group(shared_metadata.get(source, {}), job.group) for source in row.sources)
        ]
