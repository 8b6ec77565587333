"""One process per data directory."""

import fcntl
import os
from pathlib import Path

from pipeline.errors import DataDirectoryLockedError


class DirectoryLock:
    """An exclusive lock on a directory, gone when it is released or its process ends, however it ends.

    A child made by a bare fork would keep it: worker processes must be spawned.
    """

    def __init__(self, directory: Path) -> None:
        self._descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._descriptor, 32, 0).decode(errors="replace").strip()
            os.close(self._descriptor)
            raise DataDirectoryLockedError(
                f"{directory.absolute()} is in use by process {holder or '(unknown)'}. Stop that process, or"
                " choose another folder with RECOLLECT_DATA_DIR or --data-dir."
            ) from None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let the next process in. Call it once."""
        os.close(self._descriptor)
