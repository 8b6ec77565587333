"""A namespace as it was at a past moment, as far as the tables can tell: searched by the same functions."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from pipeline.columns import memory_columns, microseconds
from pipeline.index.loading import Loading
from pipeline.index.namespace import NamespaceIndex
from pipeline.memory.past import Past, past
from pipeline.rows import DocumentColumns, MemoryRow


@dataclass(frozen=True, slots=True)
class Unseen:
    """What can't be shown as it was: documents changed since, and memories that are forgotten since."""

    changed: int
    withheld: int


class PastNamespace(NamespaceIndex):
    """Documents and passages that were there and still are, memories as they stood. For one question."""

    def __init__(self, documents: DocumentColumns, past: Past, moment: datetime) -> None:
        super().__init__(documents)
        until = microseconds(moment)
        there = documents.created_at <= until
        self.documents.present[1:] &= there
        self._past = past
        self._until = until
        changed = int(np.count_nonzero(there & (documents.updated_at > until)))
        self.unseen = Unseen(changed, len(past.withheld))

    @classmethod
    async def at(
        cls, moment: datetime, loading: Loading, spaces: Sequence[str], *, forgotten: bool
    ) -> "PastNamespace":
        """Read everything that was there. `forgotten`: with what is so by now."""
        columns = await loading.documents.columns(spaces)
        rows = await loading.memories.in_spaces(spaces)
        found = await asyncio.to_thread(past, rows, moment, forgotten=forgotten)
        index = await asyncio.to_thread(cls, columns, found, moment)
        await loading.fill(index, index.chunks, loading.chunks.stream(spaces))
        await asyncio.to_thread(index.forget_what_came)
        return index

    def forget_what_came(self) -> None:
        """Passages of later, and memories of now."""
        self.chunks.remove(lambda one: np.flatnonzero(one.columns.created_at > self._until))
        self.memories.add(memory_columns(self._past.rows))

    def remembered(self) -> list[MemoryRow]:
        """The memories that were current, as far as a document of theirs was there."""
        current = [row for row in self._past.rows if row.recallable]
        return [row for row in current if self._has_source(row)]

    def _has_source(self, row: MemoryRow) -> bool:
        ordinals = self.documents.ordinals(row.sources)
        return bool(self.documents.present[ordinals].any())
