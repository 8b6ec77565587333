"""The memories of a generation that is being filled, asked for by documents it may not know yet."""

from collections.abc import Collection

from pipeline.ports import Memories
from pipeline.rows import MemoryRow
from pipeline.store.keyset import KeySet


class FirstSources:
    """A document that is met for the first time supports nothing yet; asking would read the whole table."""

    def __init__(self, memories: Memories) -> None:
        self._memories = memories
        self._met = KeySet[str]()

    async def get(self, groups: Collection[str]) -> dict[str, list[MemoryRow]]:
        """As `Memories.get`."""
        return await self._memories.get(groups)

    async def of_documents(self, documents: Collection[str]) -> list[MemoryRow]:
        """As `Memories.of_documents`."""
        known = self._met.known(documents)
        self._met.add(documents)
        return await self._memories.of_documents(known) if known else []
