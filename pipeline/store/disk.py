"""What LanceDB leaves undone on a local disk: it neither syncs what it writes nor sweeps what it dropped."""

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path

_STRAY_SECONDS = 24 * 3600
_UNSURE_SECONDS = 3600
_NOTHING = os.stat_result((0, 0, 0, 0, 0, 0, 0, 0, 2**62, 0))
"""A file that is gone since it was listed: no bytes, and too young for anything."""


async def versions(disk: "Disk | None") -> int:
    """How many versions of a table are kept; of one at an object store nobody knows: 0."""
    return 0 if disk is None else await asyncio.to_thread(disk.versions)


class Disk:
    """The folder of one table. Methods block: call them in a thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._synced: dict[str, set[str]] = {}
        self._remember_old()

    def sync(self) -> None:
        """Force every file that came since the last call to disk, then the folders that name them."""
        synced: dict[str, set[str]] = {}
        for folder in _folders(self._folder):
            names = _names(folder)
            fresh = names - self._synced.get(folder, set())
            for name in fresh:
                _fsync(f"{folder}/{name}")
            if fresh:
                _fsync(folder)
            synced[folder] = names
        self._synced = synced

    def versions(self) -> int:
        """How many versions of the table are kept."""
        return len(_names(f"{self._folder}/_versions"))

    def size(self) -> tuple[int, int]:
        """Bytes and files of the table, as of now."""
        sizes = [
            _stat(entry.path).st_size
            for folder in _folders(self._folder)
            for entry in _entries(folder)
            if entry.is_file()
        ]
        return sum(sizes), len(sizes)

    def sweep(self) -> int:
        """Remove temporary files older than a day that a killed writer left; returns how many."""
        limit = time.time() - _STRAY_SECONDS
        stray = [path for path in self._folder.rglob(".tmp*") if _stat(path).st_mtime < limit]
        for path in stray:
            path.unlink(missing_ok=True)
        return len(stray)

    def _remember_old(self) -> None:
        # A process killed a moment ago may have left files that only the page cache has.
        limit = time.time() - _UNSURE_SECONDS
        for folder in _folders(self._folder):
            self._synced[folder] = {
                entry.name for entry in _entries(folder) if _stat(entry.path).st_mtime < limit
            }


def _folders(root: Path) -> Iterator[str]:
    for folder, _, _ in os.walk(root):
        yield folder


def _entries(folder: str) -> Iterator["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except FileNotFoundError:
        return  # compacted away since it was listed


def _names(folder: str) -> set[str]:
    try:
        return set(os.listdir(folder))  # noqa: PTH208 - thousands of names after every commit
    except FileNotFoundError:
        return set()


def _stat(path: str | Path) -> os.stat_result:
    try:
        return os.stat(path)  # noqa: PTH116 - thousands of paths, most of them strings
    except FileNotFoundError:
        return _NOTHING


def _fsync(path: str) -> None:
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return  # compacted away since it was listed: nothing of it is needed
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
