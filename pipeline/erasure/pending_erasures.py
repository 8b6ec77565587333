"""Notes of what is still to be erased, in files of the data directory: after a crash no record says so any more."""

from collections.abc import Collection
from pathlib import Path
from uuid import uuid4

from pipeline.runtime.durable_files import write_durably


class WaitingBlobs:
    """Digests of blobs that wait for their deletion, one a line.

    An old file is safe: before a blob is deleted, the log is searched for it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._digests = frozenset(path.read_text().split() if path.exists() else ())

    @property
    def digests(self) -> frozenset[str]:
        return self._digests

    def replace(self, digests: Collection[str]) -> None:
        """Set what waits; on disk on return. Synchronous: for a thread. OSError if the disk is full."""
        if self._digests == (changed := frozenset(digests)):
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_durably(self._path, "\n".join(sorted(changed)).encode())
        self._digests = changed


class PendingRewrite:
    """Note that table files hold rows of what was deleted: on Kafka no record says so once its key is destroyed.

    Each note has a new name, so that one made during a rewrite outlasts it. Synchronous: for a thread.
    """

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
