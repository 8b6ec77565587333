"""Reading a namespace from the store into memory, or onto the shelf when it is too large for that."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from pipeline.index.live import LiveRows
from pipeline.index.namespace import NamespaceIndex
from pipeline.index.segments import C, concatenate
from pipeline.index.shelf import Shelf
from pipeline.ports import Chunks, Documents, Memories


@dataclass(frozen=True, slots=True)
class Loading:
    """Loads namespaces. From `limit_bytes` on one is mapped from files on `shelf`."""

    documents: Documents
    chunks: Chunks
    memories: Memories
    limit_bytes: int
    shelf: Shelf

    async def load(self, spaces: Sequence[str]) -> NamespaceIndex:
        """The index of what these spaces hold."""
        columns = await self.documents.columns(spaces)
        index = await asyncio.to_thread(NamespaceIndex, columns)
        await self.fill(index, index.chunks, self.chunks.stream(spaces))
        await self.fill(index, index.memories, self.memories.stream(spaces))
        return index

    async def fill(self, index: NamespaceIndex, rows: LiveRows[C], batches: AsyncIterator[C]) -> None:
        """Add what is read to the rows of an index."""
        waiting: list[C] = []
        async for batch in batches:
            if sum(len(one.ids) for one in waiting) + len(batch.ids) > rows.loaded_rows:
                await self._add(index, rows, waiting)
                waiting = []
            waiting.append(batch)
        if waiting:
            await self._add(index, rows, waiting)

    async def _add(self, index: NamespaceIndex, rows: LiveRows[C], batches: Sequence[C]) -> None:
        """One segment from several batches."""
        await asyncio.to_thread(lambda: rows.add(concatenate(batches)))
        if index.nbytes > self.limit_bytes and not index.shelved:
            await asyncio.to_thread(shelved, index, self.shelf)


def shelved(index: NamespaceIndex, shelf: Shelf) -> None:
    """Map all that can be, in large segments."""
    index.shelve(shelf)
    index.chunks.gather()
    index.memories.gather()
    while index.map_next():
        pass
