"""Loading of a namespace index from the tables, in memory or spilled to disk when it is too large."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from pipeline.index.namespace_index import NamespaceIndex
from pipeline.index.segments.mmap_store import MmapStore
from pipeline.index.segments.segment import C, concatenate_columns
from pipeline.index.segments.segment_list import SegmentList
from pipeline.index.snapshots.index_snapshots import IndexSnapshots, OpenedIndex
from pipeline.ports import ChunkTable, DocumentTable, MemoryTable


@dataclass(frozen=True, slots=True)
class NamespaceIndexLoader:
    """Loads namespaces; one larger than `limit_bytes` is mapped from files of `mmap_store`."""

    documents: DocumentTable
    chunks: ChunkTable
    memories: MemoryTable
    limit_bytes: int
    mmap_store: MmapStore
    snapshots: IndexSnapshots | None = None

    async def open(self, incarnations: Sequence[str]) -> OpenedIndex:
        """The index of the rows of these incarnations, from a snapshot if there is one."""
        opened = None if self.snapshots is None else await self.snapshots.open(incarnations)
        return opened or OpenedIndex(await self.load(incarnations))

    async def load(self, incarnations: Sequence[str]) -> NamespaceIndex:
        """The index of the rows of these incarnations, read from the tables."""
        columns = await self.documents.columns(incarnations)
        index = await asyncio.to_thread(NamespaceIndex, columns)
        await self.add_batches(index, index.chunks, self.chunks.stream(incarnations))
        await self.add_batches(index, index.memories, self.memories.stream(incarnations))
        return index

    async def add_batches(self, index: NamespaceIndex, segments: SegmentList[C], batches: AsyncIterator[C]) -> None:
        """Add streamed rows to an index, in segments as large as allowed."""
        waiting: list[C] = []
        async for batch in batches:
            if sum(len(columns.ids) for columns in waiting) + len(batch.ids) > segments.max_segment_rows:
                await self._add_segment(index, segments, waiting)
                waiting = []
            waiting.append(batch)
        if waiting:
            await self._add_segment(index, segments, waiting)

    async def _add_segment(self, index: NamespaceIndex, segments: SegmentList[C], batches: Sequence[C]) -> None:
        await asyncio.to_thread(lambda: segments.add(concatenate_columns(batches)))
        if index.nbytes > self.limit_bytes and not index.is_spilled:
            await asyncio.to_thread(spill_index, index, self.mmap_store)


def spill_index(index: NamespaceIndex, mmap_store: MmapStore) -> None:
    """Merge segments into large ones and map all of them from disk."""
    index.spill_to_disk(mmap_store)
    index.chunks.merge_for_spill()
    index.memories.merge_for_spill()
    while index.spill_next_segment():
        pass
