"""Lock that keeps a data directory to one process."""

import os
from pathlib import Path

from filelock import lock_descriptor

from pipeline.errors import DataDirectoryLockedError

_HOLDER_OFFSET = 1
"""The process id stands behind the first byte, which Windows lets nobody else read while it is locked."""


class DirectoryLock:
    """Exclusive lock on a directory, released by `release` or when the process ends in any way.

    A forked child would inherit it: worker processes must be spawned.
    """

    def __init__(self, directory: Path) -> None:
        self._descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        os.lseek(self._descriptor, _HOLDER_OFFSET, os.SEEK_SET)
        if not lock_descriptor(self._descriptor, blocking=False):
            holder = os.read(self._descriptor, 32).decode(errors="replace").strip()
            os.close(self._descriptor)
            raise DataDirectoryLockedError(
                f"{directory.absolute()} is in use by process {holder or '(unknown)'}. Stop that process, or"
                " choose another folder with RECOLLECT_DATA_DIR or --data-dir."
            )
        os.ftruncate(self._descriptor, _HOLDER_OFFSET)
        os.write(self._descriptor, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        """Release the lock. Call it once."""
        os.close(self._descriptor)
