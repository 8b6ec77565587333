"""What has changed in a namespace since its index last looked."""

from collections.abc import Mapping

from pipeline.rows import ChunkRow, DocumentRow, MemoryRow


class Changes:
    """The newest rows of each changed group. Noting is cheap: it happens in the instant of the change."""

    def __init__(self) -> None:
        self.documents: dict[str, list[DocumentRow]] = {}
        self.chunks: dict[str, list[ChunkRow]] = {}
        self.memories: dict[str, list[MemoryRow]] = {}

    def __len__(self) -> int:
        return len(self.documents) + len(self.chunks) + len(self.memories)

    def take(
        self,
    ) -> tuple[Mapping[str, list[DocumentRow]], Mapping[str, list[ChunkRow]], Mapping[str, list[MemoryRow]]]:
        """Everything noted so far, which is then forgotten here."""
        taken = self.documents, self.chunks, self.memories
        self.documents, self.chunks, self.memories = {}, {}, {}
        return taken
