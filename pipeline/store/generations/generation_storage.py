"""Storage of generations: a local folder here, an object store in `object_store_generations`."""

import asyncio
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from pipeline.errors import OutageError
from pipeline.runtime.durable_files import write_durably

POINTER_NAME = "current"
GENERATION_FOLDER = re.compile(r"g([1-9][0-9]*)")
LANCE_SUFFIX = ".lance"
"""Suffix of LanceDB's table folders: generation 0 shares its folder with the other generations."""
WRITE_AHEAD_LOG_FOLDER = "write_ahead_log"
"""Folder of the write-ahead log, which belongs to generation 0 as well."""


class GenerationStorage(Protocol):
    """Storage of generations: a local folder, or a prefix of an object store."""

    async def read_pointer(self) -> bytes | None:
        """Read the pointer to the active generation; None if nothing was ever replayed."""

    async def write_pointer(self, value: bytes) -> None:
        """Replace the pointer atomically; durable on return. ValueError if it changed since it was read."""

    async def read_note(self, name: str) -> bytes | None:
        """Read a note beside the generations; None if it does not exist."""

    async def write_note(self, name: str, value: bytes) -> None:
        """Replace a note atomically; durable on return."""

    async def list_generations(self) -> list[int]:
        """Return the numbers of all generations but 0, unfinished ones included."""

    async def delete_generation(self, number: int) -> None:
        """Delete a generation's tables; idempotent."""

    async def size(self, number: int) -> int:
        """Bytes of a generation's tables."""

    def uri(self, number: int) -> str:
        """URI of a generation's tables."""


class FolderGenerationStorage:
    """Generations in a local folder. Methods that touch the disk run in threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    async def read_pointer(self) -> bytes | None:
        return await self.read_note(POINTER_NAME)

    async def write_pointer(self, value: bytes) -> None:
        """Replace the pointer unconditionally: the replay holds a kernel lock, which cannot be lost."""
        await self.write_note(POINTER_NAME, value)

    async def read_note(self, name: str) -> bytes | None:
        return await asyncio.to_thread(self._read_file, name)

    async def write_note(self, name: str, value: bytes) -> None:
        await asyncio.to_thread(self._write_atomically, name, value)

    async def list_generations(self) -> list[int]:
        return await asyncio.to_thread(self._list_folders)

    async def delete_generation(self, number: int) -> None:
        await asyncio.to_thread(self._delete_folders, number)

    async def size(self, number: int) -> int:
        return await asyncio.to_thread(self._folder_bytes, number)

    def uri(self, number: int) -> str:
        return str(self._folder / f"g{number}" if number else self._folder)

    def _read_file(self, name: str) -> bytes | None:
        with self._errors_as_outages():
            try:
                return (self._folder / name).read_bytes()
            except FileNotFoundError:
                return None

    def _write_atomically(self, name: str, value: bytes) -> None:
        with self._errors_as_outages():
            self._folder.mkdir(parents=True, exist_ok=True)
            write_durably(self._folder / name, value)

    @contextmanager
    def _errors_as_outages(self) -> Iterator[None]:
        """A shared folder that is stale, away or full may come back."""
        try:
            yield
        except OSError as error:
            raise OutageError(f"The folder of the tables can't be used: {error}") from error

    def _list_folders(self) -> list[int]:
        if not self._folder.exists():
            return []
        found = (GENERATION_FOLDER.fullmatch(path.name) for path in self._folder.iterdir() if path.is_dir())
        return sorted(int(match[1]) for match in found if match)

    def _delete_folders(self, number: int) -> None:
        for path in self._generation_paths(number):
            shutil.rmtree(path, ignore_errors=True)

    def _generation_paths(self, number: int) -> list[Path]:
        if number:
            return [self._folder / f"g{number}"]
        # Generation 0 shares its folder with the others.
        return [*sorted(self._folder.glob(f"*{LANCE_SUFFIX}")), self._folder / WRITE_AHEAD_LOG_FOLDER]

    def _folder_bytes(self, number: int) -> int:
        files = (path for part in self._generation_paths(number) for path in part.rglob("*"))
        return sum(path.stat().st_size for path in files if path.is_file())
