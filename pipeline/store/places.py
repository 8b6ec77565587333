"""Where generations of tables lie: in a local folder, or (`objectplace`) at an object store."""

import asyncio
import os
import re
import shutil
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Protocol

POINTER = "current"
FOLDER = re.compile(r"g([1-9][0-9]*)")
TABLE = ".lance"
"""Generation 0 shares its place with the others: these folders there are its own…"""
AHEAD = "ahead"
"""…and this one, of changes that LanceDB does not have yet."""


class Place(Protocol):
    """Where generations are kept: a local folder, or a prefix of an object store."""

    async def pointer(self) -> bytes | None:
        """What names the generation that is served; None where nothing was ever replayed."""
        ...

    async def point(self, value: bytes) -> None:
        """Replace the pointer in one step; durable on return. ValueError when it is not as it was read."""
        ...

    async def read(self, name: str) -> bytes | None:
        """A note beside the generations, if there is one of this name."""
        ...

    async def write(self, name: str, value: bytes) -> None:
        """Replace a note in one step; durable on return."""
        ...

    async def numbers(self) -> list[int]:
        """Generations there are tables or remains of, beside generation 0."""
        ...

    async def remove(self, number: int) -> None:
        """Remove a generation's tables. May be repeated."""
        ...

    async def size(self, number: int) -> int:
        """Bytes of a generation's tables."""
        ...

    def uri(self, number: int) -> str:
        """Where a generation's tables are."""
        ...


class FolderPlace:
    """In a local folder. Methods that touch the disk run in threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    async def pointer(self) -> bytes | None:
        return await self.read(POINTER)

    async def point(self, value: bytes) -> None:
        """Unconditional: the lock of who replays is the kernel's, and can't be lost."""
        await self.write(POINTER, value)

    async def read(self, name: str) -> bytes | None:
        return await asyncio.to_thread(self._read, name)

    async def write(self, name: str, value: bytes) -> None:
        await asyncio.to_thread(self._replace, name, value)

    async def numbers(self) -> list[int]:
        return await asyncio.to_thread(self._numbers)

    async def remove(self, number: int) -> None:
        await asyncio.to_thread(self._remove, number)

    async def size(self, number: int) -> int:
        return await asyncio.to_thread(self._size, number)

    def uri(self, number: int) -> str:
        return str(self._folder / f"g{number}" if number else self._folder)

    def _read(self, name: str) -> bytes | None:
        path = self._folder / name
        return path.read_bytes() if path.exists() else None

    def _replace(self, name: str, value: bytes) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=self._folder, prefix=f"{name}.", delete=False) as file:
            file.write(value)
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).replace(self._folder / name)
        _sync(self._folder)

    def _numbers(self) -> list[int]:
        if not self._folder.exists():
            return []
        found = (FOLDER.fullmatch(path.name) for path in self._folder.iterdir() if path.is_dir())
        return sorted(int(match[1]) for match in found if match)

    def _remove(self, number: int) -> None:
        for path in self._parts(number):
            shutil.rmtree(path, ignore_errors=True)

    def _parts(self, number: int) -> list[Path]:
        if number:
            return [self._folder / f"g{number}"]
        # Generation 0 shares its folder with the others.
        return [*sorted(self._folder.glob(f"*{TABLE}")), self._folder / AHEAD]

    def _size(self, number: int) -> int:
        files = (path for part in self._parts(number) for path in part.rglob("*"))
        return sum(path.stat().st_size for path in files if path.is_file())


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
