"""Note that table files hold rows of what was deleted: on Kafka no record says so once its key is destroyed."""

from pathlib import Path
from uuid import uuid4

from pipeline.runtime.durable_files import write_durably


class PendingRewrite:
    """A file with a new name for each note, so that one made during a rewrite outlasts it. For a thread."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / "tables-to-erase"

    def note(self) -> None:
        """Note that tables are to be rewritten; on disk on return."""
        write_durably(self._path, uuid4().hex.encode())

    def read(self) -> str | None:
        """Return the newest note; None if there is none."""
        return self._path.read_text() if self._path.exists() else None

    def remove(self, note: str) -> None:
        if self.read() == note:
            self._path.unlink()
