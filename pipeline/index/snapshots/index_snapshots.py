"""Snapshots of one process's namespace indexes: opened, brought up to date, written, and bounded."""

import asyncio
import logging
import os
import shutil
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from math import inf
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, TypeVar

from pipeline.index.namespace_index import NamespaceIndex
from pipeline.index.pending_changes import PendingChanges
from pipeline.index.segments.array_file import map_arrays
from pipeline.index.segments.mmap_store import MmapStore
from pipeline.index.snapshots import snapshot_file
from pipeline.index.snapshots.index_arrays import CapturedIndex, restore_index
from pipeline.ports import TablePosition, TrackedTable
from pipeline.rows import ChunkRow, DocumentRow, MemoryRow
from pipeline.runtime.durable_files import TEMPORARY_SUFFIX

SUFFIX = ".index"
_VERIFIED_AT_ONCE_BYTES = 64 << 20
"""Size up to which a file is verified before it is used; a larger one is verified while it is used already."""
_ABANDONED_SECONDS = 3600.0
"""Age from which a temporary file is one that a killed process left."""
_APPLY_BATCH_SIZE = 256
Row = TypeVar("Row", DocumentRow, ChunkRow, MemoryRow)
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OpenedIndex:
    """An index, and how many keys differ from its snapshot; infinite without one."""

    index: NamespaceIndex
    unsaved: float = inf
    unverified: Path | None = None
    """The snapshot file, if it has not been verified yet."""


@dataclass(frozen=True, slots=True)
class SnapshotOptions:
    """Names of a snapshot's tables and embedder, a bound of the disk for all, and the tables."""

    identity: str
    limit_bytes: int
    max_outdated_seconds: float
    """Time after which a snapshot goes if rows changed since: it may hold words of deleted ones."""
    documents: TrackedTable[DocumentRow]
    chunks: TrackedTable[ChunkRow]
    memories: TrackedTable[MemoryRow]

    def open(self, folder: Path, index_limit_bytes: int, mmap_store: MmapStore) -> "IndexSnapshots":
        """The snapshots in a folder below this one."""
        return IndexSnapshots(folder / "snapshots", self, index_limit_bytes, mmap_store)


class IndexSnapshots:
    """A folder of snapshots, bounded in total, the least recently used ones removed first.

    The options' `identity` names tables and embedder: snapshots with another are never opened. A snapshot is a copy
    of rows at a position of each table; what changed since is read from the tables. One that is damaged, or whose
    position the tables do not know, is removed.
    """

    def __init__(self, folder: Path, options: SnapshotOptions, index_limit_bytes: int, mmap_store: MmapStore) -> None:
        self._folder = folder
        self._identity = options.identity
        self._limit_bytes = options.limit_bytes
        self._documents, self._chunks, self._memories = options.documents, options.chunks, options.memories
        self._tables: tuple[TrackedTable[Any], ...] = (self._documents, self._chunks, self._memories)
        self._index_limit_bytes = index_limit_bytes
        self._mmap_store = mmap_store

    async def open(self, incarnations: Sequence[str]) -> OpenedIndex | None:
        """The index of these incarnations, up to date; None without a snapshot that can be trusted."""
        path = self._path(incarnations)
        try:
            footer = await asyncio.to_thread(_read_footer, path)
            changed = await self._changed_since(footer, incarnations)
            if changed is None:
                await asyncio.to_thread(path.unlink, missing_ok=True)
                return None
            index = await asyncio.to_thread(self._restore, path, footer)
        except FileNotFoundError:
            return None
        except (snapshot_file.DamagedSnapshotError, OSError, ValueError, KeyError) as error:
            log.warning("The snapshot %s of a namespace's index is not used: %s.", path.name, error)
            await asyncio.to_thread(path.unlink, missing_ok=True)
            return None
        await self._apply(index, changed, incarnations)
        is_large = footer.nbytes > _VERIFIED_AT_ONCE_BYTES
        return OpenedIndex(index, sum(map(len, changed)), path if is_large else None)

    async def track(self, incarnations: Sequence[str]) -> None:
        """Let the tables remember changes of these incarnations, before a snapshot of them is written."""
        for table in self._tables:
            await table.track_changes(incarnations)

    def positions(self, incarnations: Sequence[str]) -> list[TablePosition] | None:
        """Positions of a reader who heard of every change so far; None if they cannot tell."""
        positions = [table.position(incarnations) for table in self._tables]
        known = [position for position in positions if position is not None]
        return known if len(known) == len(positions) else None

    async def write(
        self,
        incarnations: Sequence[str],
        captured: CapturedIndex,
        positions: Sequence[TablePosition],
        after_block: Callable[[], None],
    ) -> Path | None:
        """Write the snapshot of these rows; None if it is larger than allowed. Raises OSError."""
        path = self._path(incarnations)
        description = {
            "identity": self._identity,
            "incarnations": list(incarnations),
            "positions": list(positions),
            "written_at": time.time(),
        }
        if not await asyncio.to_thread(self._write, path, description, captured, after_block):
            return None
        for table, position in zip(self._tables, positions, strict=True):
            await table.forget_changes(position, incarnations)
        return path

    async def reopen(self, path: Path) -> NamespaceIndex:
        """The index of the snapshot that was just written."""
        return await asyncio.to_thread(lambda: self._restore(path, _read_footer(path)))

    async def verify(self, path: Path) -> bool:
        """Tell whether a large file that was opened is undamaged; a damaged one is removed."""
        try:
            await asyncio.to_thread(snapshot_file.verify_arrays, path, lambda: time.sleep(0.001))
        except FileNotFoundError:
            return True  # replaced by a newer one, or evicted
        except (snapshot_file.DamagedSnapshotError, OSError) as error:
            log.warning("The snapshot %s of a namespace's index is removed: %s.", path.name, error)
            await asyncio.to_thread(path.unlink, missing_ok=True)
            return False
        return True

    async def remove_outdated(self, is_owned: Callable[[str], bool], older_than: float = 0.0) -> list[tuple[str, ...]]:
        """Remove snapshots of deleted namespaces and other tables, and those whose rows changed since.

        Only those at least `older_than` seconds old. Returns the incarnations of each that was removed.
        """
        removed = []
        for path in await asyncio.to_thread(self._files_older_than, older_than):
            incarnations: tuple[str, ...] = ()
            try:
                footer = await asyncio.to_thread(_read_footer, path)
                incarnations = tuple(footer.description["incarnations"])
                if all(map(is_owned, incarnations)):
                    changed = await self._changed_since(footer, incarnations)
                    if changed is not None and not any(changed):
                        continue
            except (snapshot_file.DamagedSnapshotError, OSError, ValueError, KeyError):
                log.debug("The snapshot %s cannot be read.", path.name)
            await asyncio.to_thread(path.unlink, missing_ok=True)
            removed.append(incarnations)
        return removed

    async def _changed_since(
        self, footer: snapshot_file.SnapshotFooter, incarnations: Collection[str]
    ) -> tuple[Collection[str], ...] | None:
        """The changed keys of each table; None if the snapshot is of other tables, or they do not know its position."""
        description = footer.description
        if description["identity"] != self._identity or tuple(description["incarnations"]) != tuple(incarnations):
            return None
        changed = []
        for table, position in zip(self._tables, description["positions"], strict=True):
            keys = await table.changed_since(position, incarnations)
            if keys is None:
                return None
            changed.append(keys)
        return tuple(changed)

    async def _apply(
        self, index: NamespaceIndex, changed: Sequence[Collection[str]], incarnations: Sequence[str]
    ) -> None:
        """Replace the rows of these keys by those of the tables."""
        documents, chunks, memories = changed
        changes = PendingChanges(
            await _read(self._documents, documents, incarnations),
            await _read(self._chunks, chunks, incarnations),
            await _read(self._memories, memories, incarnations),
        )
        while changes:
            index.apply_changes(changes.take_batch(_APPLY_BATCH_SIZE))
            await asyncio.sleep(0)

    def _restore(self, path: Path, footer: snapshot_file.SnapshotFooter) -> NamespaceIndex:
        is_large = footer.nbytes > _VERIFIED_AT_ONCE_BYTES
        if not is_large:
            snapshot_file.verify_arrays(path)
        with path.open("rb") as file:
            arrays = map_arrays(file, footer.entries, random=is_large)
        with suppress(OSError):
            os.utime(path)
        return restore_index(footer.description["structure"], arrays, self._index_limit_bytes, self._mmap_store)

    def _write(
        self, path: Path, description: Mapping[str, Any], captured: CapturedIndex, after_block: Callable[[], None]
    ) -> bool:
        structure, arrays = captured.to_arrays()
        size = sum(array.nbytes for array in arrays)
        self._folder.mkdir(parents=True, exist_ok=True)
        if size > self._limit_bytes or shutil.disk_usage(self._folder).free < 2 * size:
            path.unlink(missing_ok=True)
            return False
        self._evict(self._limit_bytes - size, path)
        whole = {**description, "structure": structure}
        with NamedTemporaryFile(dir=self._folder, suffix=TEMPORARY_SUFFIX, delete=False) as file:
            try:
                snapshot_file.write_snapshot(file, whole, arrays, after_block)
                file.close()
                Path(file.name).replace(path)
            except OSError:
                Path(file.name).unlink(missing_ok=True)
                raise
        return True

    def _evict(self, limit_bytes: int, replaced: Path) -> None:
        """Remove the least recently used files until the others fit, and what killed processes left."""
        now = time.time()
        for part in self._folder.glob(f"*{TEMPORARY_SUFFIX}"):
            with suppress(OSError):
                if now - part.stat().st_mtime > _ABANDONED_SECONDS:
                    part.unlink()
        files = []
        for path in self._folder.glob(f"*{SUFFIX}"):
            with suppress(OSError):
                if path != replaced:
                    status = path.stat()
                    files.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if total <= limit_bytes:
                break
            path.unlink(missing_ok=True)
            total -= size

    def _files_older_than(self, seconds: float) -> list[Path]:
        """The snapshots written so long ago."""
        found = []
        for path in self._folder.glob(f"*{SUFFIX}"):
            with suppress(OSError):
                # Not the file's own time, which is that of its last use.
                if time.time() - _written_at(path) >= seconds:
                    found.append(path)
        return found

    def _path(self, incarnations: Sequence[str]) -> Path:
        name = blake2b("\n".join([self._identity, *incarnations]).encode(), digest_size=16).hexdigest()
        return self._folder / f"{name}{SUFFIX}"


def _read_footer(path: Path) -> snapshot_file.SnapshotFooter:
    with path.open("rb") as file:
        return snapshot_file.read_footer(file)


async def _read(table: TrackedTable[Row], keys: Collection[str], incarnations: Sequence[str]) -> dict[str, list[Row]]:
    """The rows of these keys in these incarnations; a key may be that of another one."""
    found = await table.get(keys) if keys else {}
    return {key: [row for row in found.get(key, ()) if row.incarnation in incarnations] for key in keys}


def _written_at(path: Path) -> float:
    try:
        return float(_read_footer(path).description["written_at"])
    except (snapshot_file.DamagedSnapshotError, ValueError, KeyError):
        return 0.0
