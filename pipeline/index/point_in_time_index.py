"""Index of a namespace as it was at a past moment, reconstructed from the tables."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from pipeline.columns import memory_columns, to_microseconds
from pipeline.index.namespace_index import NamespaceIndex
from pipeline.index.namespace_index_loader import NamespaceIndexLoader
from pipeline.memory.versioning.memory_history import MemoriesAsOf, memories_as_of
from pipeline.rows import DocumentColumns, MemoryRow


@dataclass(frozen=True, slots=True)
class OmittedCounts:
    """Counts of rows that cannot be reconstructed: documents changed and memories forgotten since."""

    changed_documents: int
    hidden_memories: int


class PointInTimeIndex(NamespaceIndex):
    """Documents and chunks that existed then and still do, and memories in their state then; for one query."""

    def __init__(self, documents: DocumentColumns, memories: MemoriesAsOf, moment: datetime) -> None:
        super().__init__(documents)
        as_of = to_microseconds(moment)
        existed = documents.created_at <= as_of
        self.documents.present[1:] &= existed
        self._memories_as_of = memories
        self._as_of = as_of
        changed = int(np.count_nonzero(existed & (documents.updated_at > as_of)))
        self.omitted = OmittedCounts(changed, len(memories.hidden_ids))

    @classmethod
    async def load(
        cls, moment: datetime, loader: NamespaceIndexLoader, incarnations: Sequence[str], *, include_forgotten: bool
    ) -> "PointInTimeIndex":
        """Load the state at a moment; `include_forgotten`: with memories that were forgotten since."""
        columns = await loader.documents.columns(incarnations)
        rows = await loader.memories.list_rows(incarnations)
        memories = await asyncio.to_thread(memories_as_of, rows, moment, include_forgotten=include_forgotten)
        index = await asyncio.to_thread(cls, columns, memories, moment)
        await loader.add_batches(index, index.chunks, loader.chunks.stream(incarnations))
        await asyncio.to_thread(index.restore_rows_as_of)
        return index

    def restore_rows_as_of(self) -> None:
        """Delete chunks created later, and add the memories in their state at the moment."""
        self.chunks.delete_rows(lambda segment: np.flatnonzero(segment.columns.created_at > self._as_of))
        self.memories.add(memory_columns(self._memories_as_of.rows))

    def current_memories(self) -> list[MemoryRow]:
        """The memories that were current and had an existing source document."""
        current = [row for row in self._memories_as_of.rows if row.is_active]
        return [row for row in current if self._has_source(row)]

    def _has_source(self, row: MemoryRow) -> bool:
        ordinals = self.documents.ordinals(row.sources)
        return bool(self.documents.present[ordinals].any())
