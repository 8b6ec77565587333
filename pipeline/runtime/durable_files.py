"""Durable writes to local folders: atomic replacement and fsync."""

import os
from collections.abc import Iterable
from pathlib import Path
from tempfile import NamedTemporaryFile

TEMPORARY_SUFFIX = ".part"


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
