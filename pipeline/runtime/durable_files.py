"""Durable writes to local folders (atomic replacement and fsync), and what a disk refuses."""

import errno
import os
import re
import sqlite3
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import NamedTemporaryFile

TEMPORARY_SUFFIX = ".part"
_DISK_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO})
_SQLITE_DISK_ERRORS = frozenset(
    {sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM}
)
_OS_ERROR = re.compile(r"\(os error (\d+)\)")
_NO_TEMPORARY_FILES = "Failed to create temp dir"


def write_atomically(path: Path, parts: Iterable[bytes]) -> None:
    """Replace a file in one step. A killed writer leaves at most a file with `TEMPORARY_SUFFIX`."""
    with NamedTemporaryFile(dir=path.parent, prefix=f"{path.name}.", suffix=TEMPORARY_SUFFIX, delete=False) as file:
        file.writelines(parts)
        file.flush()
        os.fsync(file.fileno())
    Path(file.name).replace(path)


def write_durably(path: Path, data: bytes) -> None:
    """Replace a file in one step, with its name on disk on return."""
    write_atomically(path, (data,))
    fsync(path.absolute().parent)


def fsync(path: str | Path) -> None:
    """Force a file, or the names in a folder, to disk. Windows has no such call for folders and writes them itself."""
    windows = os.name == "nt"
    if windows and os.path.isdir(path):  # noqa: PTH112 - called with strings too, for every new file
        return
    descriptor = os.open(path, os.O_RDWR if windows else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def free_files(folder: Path) -> int | None:
    """Return how many more files its file system can name; None where it sets no number."""
    if sys.platform == "win32":
        return None
    found = os.statvfs(folder)
    return found.f_favail if found.f_files else None


def disk_failure(error: Exception) -> str | None:
    """Return what a disk refuses, if that is the error: also of LanceDB, which raises RuntimeError for it.

    >>> disk_failure(RuntimeError("lance error: No space left on device (os error 28), src/io/commit.rs"))
    'No space left on device'
    >>> disk_failure(RuntimeError("no running event loop")) is None
    True
    >>> disk_failure(RuntimeError("lance error: Failed to create temp dir: No such file or directory (os error 2)"))
    'no temporary file can be made; TMPDIR must name a folder that can be written'
    """
    if _NO_TEMPORARY_FILES in str(error):
        return "no temporary file can be made; TMPDIR must name a folder that can be written"
    if isinstance(error, sqlite3.Error):
        return str(error) if _sqlite_code(error) in _SQLITE_DISK_ERRORS else None
    found = _OS_ERROR.search(str(error))
    code = error.errno if isinstance(error, OSError) and error.errno else int(found[1]) if found else None
    return os.strerror(code) if code in _DISK_ERRNOS else None


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether a file of SQLite can't be read as one any more."""
    return _sqlite_code(error) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def _sqlite_code(error: sqlite3.Error) -> int | None:
    """Return SQLite's primary result code, if the error comes from SQLite."""
    return error.sqlite_errorcode & 0xFF if hasattr(error, "sqlite_errorcode") else None
