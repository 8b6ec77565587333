"""What has changed in a namespace since its index last looked."""

from dataclasses import dataclass, field
from typing import TypeVar

from pipeline.rows import ChunkRow, DocumentRow, MemoryRow

Row = TypeVar("Row")


@dataclass(eq=False, slots=True)
class Changes:
    """The newest rows of each changed group. Noting is cheap: it happens in the instant of the change."""

    documents: dict[str, list[DocumentRow]] = field(default_factory=dict)
    chunks: dict[str, list[ChunkRow]] = field(default_factory=dict)
    memories: dict[str, list[MemoryRow]] = field(default_factory=dict)
    weight: int = 0
    """Groups and rows noted, with repetition: bounds what is held for a namespace nobody asks about."""

    def __len__(self) -> int:
        return len(self.documents) + len(self.chunks) + len(self.memories)

    def document(self, key: str, rows: list[DocumentRow]) -> None:
        """A document is now this (empty: gone)."""
        self._note(self.documents, key, rows)

    def chunk(self, document: str, rows: list[ChunkRow]) -> None:
        """A document's chunks are now these."""
        self._note(self.chunks, document, rows)

    def memory(self, one: str, rows: list[MemoryRow]) -> None:
        """A memory is now this (empty: gone)."""
        self._note(self.memories, one, rows)

    def take(self, limit: int) -> "Changes":
        """Up to `limit` groups of each kind, which are then forgotten here."""
        taken = Changes(
            _first(self.documents, limit), _first(self.chunks, limit), _first(self.memories, limit)
        )
        if not len(self):
            self.weight = 0
        return taken

    def _note(self, groups: dict[str, list[Row]], key: str, rows: list[Row]) -> None:
        groups[key] = rows
        self.weight += 1 + len(rows)


def _first(groups: dict[str, list[Row]], limit: int) -> dict[str, list[Row]]:
    return {key: groups.pop(key) for key in list(groups)[:limit]}
