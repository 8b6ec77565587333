"""A namespace as it was at a past moment, as far as the tables can tell: searched by the same functions."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from pipeline.columns import memory_columns, microseconds
from pipeline.index.documents import DocumentSide
from pipeline.index.live import SEGMENT_ROWS, Visible, chunk_owners, look
from pipeline.index.segments import pieces, segment
from pipeline.index.streamed import StreamedNamespace
from pipeline.memory.past import Past, past
from pipeline.ports import Chunks, Documents, Memories
from pipeline.rows import ChunkColumns, MemoryColumns, MemoryRow


@dataclass(frozen=True, slots=True)
class Unseen:
    """What can't be shown as it was: documents changed since, and memories that are forgotten since."""

    changed: int
    withheld: int


class PastNamespace(StreamedNamespace):
    """Documents and passages that were there and still are, memories as they stood. For one question."""

    def __init__(
        self,
        documents: DocumentSide,
        chunks: Chunks,
        memories: Memories,
        spaces: Sequence[str],
        *,
        moment: datetime,
        past: Past,
        unseen: Unseen,
    ) -> None:
        super().__init__(documents, chunks, memories, spaces)
        self._until = microseconds(moment)
        self._past = past
        self.unseen = unseen

    @classmethod
    async def at(
        cls,
        moment: datetime,
        documents: Documents,
        chunks: Chunks,
        memories: Memories,
        spaces: Sequence[str],
        *,
        forgotten: bool,
    ) -> "PastNamespace":
        """Read documents and memories; passages come when asked for. `forgotten`: with what is so by now."""
        columns = await documents.columns(spaces)
        rows = await memories.in_spaces(spaces)
        found = await asyncio.to_thread(past, rows, moment, forgotten=forgotten)
        until = microseconds(moment)
        there = columns.created_at <= until
        side = await asyncio.to_thread(DocumentSide, columns)
        side.present[1:] &= there
        unseen = Unseen(int(np.count_nonzero(there & (columns.updated_at > until))), len(found.withheld))
        return cls(side, chunks, memories, spaces, moment=moment, past=found, unseen=unseen)

    def remembered(self) -> list[MemoryRow]:
        """The memories that were current, as far as a document of theirs was there."""
        current = [row for row in self._past.rows if row.is_latest and row.forgotten_at is None]
        return [row for row in current if self._has_source(row)]

    def _has_source(self, row: MemoryRow) -> bool:
        ordinals = self.documents.ordinals(row.sources)
        return bool(self.documents.present[ordinals].any())

    def _chunk_part(self, batch: ChunkColumns) -> Visible[ChunkColumns]:
        made = segment(batch, chunk_owners(self.documents, batch))
        return look(made.without(np.flatnonzero(batch.created_at > self._until)), self.documents)

    async def _memory_parts(self, *, vectors: bool = True) -> AsyncIterator[Visible[MemoryColumns]]:
        columns = memory_columns(self._past.rows)
        if not vectors:
            columns = replace(columns, vectors=np.zeros((len(columns.ids), 0), np.float32))
        for piece in pieces(columns, SEGMENT_ROWS):
            yield await asyncio.to_thread(self._memory_part, piece)
