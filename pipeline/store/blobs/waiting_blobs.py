"""Blobs that wait for their deletion: kept in a file, as no record refers to them any more after a crash."""

from collections.abc import Collection
from pathlib import Path

from pipeline.runtime.durable_files import write_durably


class WaitingBlobs:
    """Digests in a file, one a line. An old file is safe: before a blob is deleted, the log is searched for it."""

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
