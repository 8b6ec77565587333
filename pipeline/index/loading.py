"""Reading a namespace from the store into memory, unless it is too large for that."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from pipeline.index.live import SEGMENT_ROWS, LiveRows
from pipeline.index.namespace import NamespaceIndex
from pipeline.index.segments import C, concatenate
from pipeline.ports import Chunks, Documents, Memories


async def load(
    documents: Documents, chunks: Chunks, memories: Memories, spaces: Sequence[str], limit_bytes: int
) -> NamespaceIndex | None:
    """The namespace's index; None as soon as it is known to be larger than `limit_bytes`."""
    columns = await documents.columns(spaces)
    index = await asyncio.to_thread(NamespaceIndex, columns)
    if not await _fill(index, index.chunks, chunks.stream(spaces), limit_bytes):
        return None
    if not await _fill(index, index.memories, memories.stream(spaces), limit_bytes):
        return None
    return index


async def _fill(
    index: NamespaceIndex, rows: LiveRows[C], batches: AsyncIterator[C], limit_bytes: int
) -> bool:
    waiting: list[C] = []
    async for batch in batches:
        if sum(len(one.ids) for one in waiting) + len(batch.ids) > SEGMENT_ROWS:
            await asyncio.to_thread(_add, rows, waiting)
            waiting = []
            if index.nbytes > limit_bytes:
                return False
        waiting.append(batch)
    if waiting:
        await asyncio.to_thread(_add, rows, waiting)
    return index.nbytes <= limit_bytes


def _add(rows: LiveRows[C], batches: Sequence[C]) -> None:
    """One segment from several batches."""
    rows.add(concatenate(batches))
