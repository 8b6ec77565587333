"""Directory of a LanceDB table on a local disk: fsync and cleanup, which LanceDB itself leaves out."""

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pipeline.runtime.durable_files import fsync

_STRAY_FILE_SECONDS = 24 * 3600
_UNSYNCED_FILE_SECONDS = 3600
_MISSING_STAT = os.stat_result((0, 0, 0, 0, 0, 0, 0, 0, 2**62, 0), {"st_mtime_ns": 2**62})
"""Stat result of a file that vanished since it was listed: no bytes, and too young to delete."""


async def count_versions(directory: "TableDirectory | None") -> int:
    """Number of versions that a table keeps; 0 at an object store, where it is unknown."""
    return 0 if directory is None else await asyncio.to_thread(directory.count_versions)


def ensure_local_folder(uri: str, mode: int = 0o777) -> Path | None:
    """Create the folder that this URI names; None for the URI of an object store."""
    if "://" in uri:
        return None
    folder = Path(uri).resolve()
    folder.mkdir(parents=True, exist_ok=True, mode=mode)
    return folder


class TableDirectory:
    """The directory of one table. Methods block: call them in a thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._synced: dict[str, set[str]] = {}
        self._mark_old_files_synced()

    def fsync_new_files(self) -> None:
        """Sync every file that is new since the last call, then the directories that contain them."""
        synced: dict[str, set[str]] = {}
        for folder in _walk_folders(self._folder):
            names = _file_names(folder)
            fresh = names - self._synced.get(folder, set())
            for name in fresh:
                _fsync_if_present(f"{folder}/{name}")
            if fresh:
                _fsync_if_present(folder)
            synced[folder] = names
        self._synced = synced

    def versions_changed_at(self) -> int:
        """Time in nanoseconds at which a version was last added or removed; takes microseconds."""
        return _stat(f"{self._folder}/_versions").st_mtime_ns

    def count_versions(self) -> int:
        return len(_file_names(f"{self._folder}/_versions"))

    def fragments_with_deletions(self) -> set[int]:
        """Numbers of the fragments that hold deleted rows, in the newest version or an older one."""
        names = _file_names(f"{self._folder}/_deletions")
        return {int(name.partition("-")[0]) for name in names if name.partition("-")[0].isdecimal()}

    def disk_usage(self) -> tuple[int, int]:
        sizes = [
            _stat(entry.path).st_size
            for folder in _walk_folders(self._folder)
            for entry in _entries(folder)
            if entry.is_file()
        ]
        return sum(sizes), len(sizes)

    def delete_stray_files(self) -> int:
        """Delete temporary files older than a day, left by killed writers; returns their number."""
        limit = time.time() - _STRAY_FILE_SECONDS
        stray = [path for path in self._folder.rglob(".tmp*") if _stat(path).st_mtime < limit]
        for path in stray:
            path.unlink(missing_ok=True)
        return len(stray)

    def _mark_old_files_synced(self) -> None:
        # Younger files may be in the page cache only, left by a process that was just killed.
        limit = time.time() - _UNSYNCED_FILE_SECONDS
        for folder in _walk_folders(self._folder):
            self._synced[folder] = {entry.name for entry in _entries(folder) if _stat(entry.path).st_mtime < limit}


def _walk_folders(root: Path) -> Iterator[str]:
    for folder, _, _ in os.walk(root):
        yield folder


def _entries(folder: str) -> Iterator["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except FileNotFoundError:
        return  # compacted away since it was listed


def _file_names(folder: str) -> set[str]:
    try:
        return set(os.listdir(folder))  # noqa: PTH208 - thousands of names after every commit
    except FileNotFoundError:
        return set()


def _stat(path: str | Path) -> os.stat_result:
    try:
        return os.stat(path)  # noqa: PTH116 - thousands of paths, most of them strings
    except FileNotFoundError:
        return _MISSING_STAT


def _fsync_if_present(path: str) -> None:
    with suppress(FileNotFoundError):  # compacted away since it was listed
        fsync(path)
