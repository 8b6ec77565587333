"""Changes of a namespace that its index has not applied yet."""

from dataclasses import dataclass, field

from pipeline.ports import Row
from pipeline.rows import ChunkRow, DocumentRow, MemoryRow


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

    def record_document(self, key: str, rows: list[DocumentRow]) -> None:
        """Record the current row of a document (empty: deleted)."""
        self._record(self.documents, key, rows)

    def record_chunks(self, document_key: str, rows: list[ChunkRow]) -> None:
        self._record(self.chunks, document_key, rows)

    def record_memory(self, memory_id: str, rows: list[MemoryRow]) -> None:
        """Record the current row of a memory (empty: deleted)."""
        self._record(self.memories, memory_id, rows)

    def take_batch(self, limit: int) -> "PendingChanges":
        """Remove and return up to `limit` keys of each kind."""
        batch = PendingChanges(
            _pop_first(self.documents, limit), _pop_first(self.chunks, limit), _pop_first(self.memories, limit)
        )
        if not len(self):
            self.recorded = 0
        return batch

    def _record(self, rows_by_key: dict[str, list[Row]], key: str, rows: list[Row]) -> None:
        rows_by_key[key] = rows
        self.recorded += 1 + len(rows)


def _pop_first(rows_by_key: dict[str, list[Row]], limit: int) -> dict[str, list[Row]]:
    return {key: rows_by_key.pop(key) for key in list(rows_by_key)[:limit]}
