"""Table of memories with a filter for lookups by documents that are new to the generation."""

from collections.abc import Collection

from pipeline.ports import MemoryTable
from pipeline.rows import MemoryRow
from pipeline.store.lancedb.key_filter import KeyFilter


class MemorySourceFilter:
    """`ports.MemoryTable` that skips lookups of unseen documents, which would read the whole table."""

    def __init__(self, memories: MemoryTable) -> None:
        self._memories = memories
        self._seen_documents = KeyFilter[str]()

    async def get(self, entity_keys: Collection[str]) -> dict[str, list[MemoryRow]]:
        return await self._memories.get(entity_keys)

    async def find_by_documents(self, documents: Collection[str]) -> list[MemoryRow]:
        """Return the memories of documents that were asked for before; first lookups find none."""
        seen = self._seen_documents.may_contain(documents)
        self._seen_documents.add(documents)
        return await self._memories.find_by_documents(seen) if seen else []
