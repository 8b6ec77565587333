"""Changes of a namespace that its index has not applied yet."""

from dataclasses import dataclass, field
from typing import Any, Literal

from pipeline.ports import Row
from pipeline.rows import ChunkRow, DocumentRow, MemoryRow

ChangeKind = Literal["documents", "chunks", "memories"]


@dataclass(eq=False, slots=True)
class PendingChanges:
    """The newest rows of each changed key. Recording is cheap, because it happens synchronously on commit."""

    documents: dict[str, list[DocumentRow]] = field(default_factory=dict)
    chunks: dict[str, list[ChunkRow]] = field(default_factory=dict)
    memories: dict[str, list[MemoryRow]] = field(default_factory=dict)
    recorded: int = 0
    """Keys and rows recorded, with repetition: bounds the memory for a namespace that nobody searches."""

    def __len__(self) -> int:
        return len(self.documents) + len(self.chunks) + len(self.memories)

    def record(self, kind: ChangeKind, key: str, rows: list[Any]) -> None:
        """Record the current rows of a key (empty: deleted): of a document, its chunks, or a memory."""
        getattr(self, kind)[key] = rows
        self.recorded += 1 + len(rows)

    def take_batch(self, limit: int) -> "PendingChanges":
        """Remove and return up to `limit` keys of each kind."""
        batch = PendingChanges(
            _pop_first(self.documents, limit), _pop_first(self.chunks, limit), _pop_first(self.memories, limit)
        )
        if not len(self):
            self.recorded = 0
        return batch


def _pop_first(rows_by_key: dict[str, list[Row]], limit: int) -> dict[str, list[Row]]:
    return {key: rows_by_key.pop(key) for key in list(rows_by_key)[:limit]}
