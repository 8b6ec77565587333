"""What is known near to documents that are about to be read, as far as their `group` lets them see it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pipeline.memory.writing import Work, is_in_group
from pipeline.ports import Documents, Embedder, MemoryIndex
from pipeline.rows import MemoryRow, NamespaceRow

OPENING = 2_000
"""Characters of a document by which its neighbours are found."""
LOOKED_AT = 40
"""Nearest memories of a document; a group may hide some."""
NEAR = 20
"""Memories beside one question."""
LARGEST = 200_000
"""Memories of a namespace that are looked through for one document; where there are more, none are shown."""


@dataclass(frozen=True, slots=True)
class NearbyMemories:
    """The nearest memories by cosine; without an embedder there are none."""

    index: MemoryIndex
    embedder: Embedder
    documents: Documents
    count: Callable[[Sequence[str]], Mapping[str, int]]
    """How many current memories spaces have, from memory."""

    async def __call__(self, owner: NamespaceRow, works: Sequence[Work]) -> list[MemoryRow]:
        """Current memories, the nearest first, that others than these documents state."""
        if self.embedder.dimensions == 1 or sum(self.count(owner.spaces).values()) > LARGEST:
            return []
        vectors = await self.embedder.documents([work.text[:OPENING] for work in works])
        found: dict[str, tuple[float, MemoryRow]] = {}
        for work, vector in zip(works, vectors, strict=True):
            near = await self.index.nearest(owner.name, vector, LOOKED_AT)
            for row, cosine in await self._of_group(work, near):
                if row.id not in found or found[row.id][0] < cosine:
                    found[row.id] = (cosine, row)
        ordered = sorted(found.values(), key=lambda one: (-one[0], one[1].id))
        return [row for _, row in ordered[:NEAR]]

    async def _of_group(
        self, work: Work, near: Sequence[tuple[MemoryRow, float]]
    ) -> list[tuple[MemoryRow, float]]:
        others = [
            (row, cosine) for row, cosine in near if any(source != work.document for source in row.sources)
        ]
        if not work.group:
            return others
        found = await self.documents.get({source for row, _ in others for source in row.sources})
        shared = {key: {**rows[0].metadata, **(rows[0].group or {})} for key, rows in found.items() if rows}
        return [
            (row, cosine)
            for row, cosine in others
            if any(is_in_group(shared.get(source, {}), work.group) for source in row.sources)
        ]
