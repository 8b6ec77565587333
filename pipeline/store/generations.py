"""Generations of tables: which one is served, which one was before, and what each was made with.

Generation 0 lies in the tables' folder itself, where every version before had them; a replay makes `g1`,
`g2`… beside it. The object `current` names the one that is served: it is replaced in one step, so whoever
opens the tables finds one generation or the other, whole. A folder that it does not name is unfinished.
"""

import asyncio
import json
import os
import re
import shutil
from datetime import datetime
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict

POINTER = "current"
_FOLDER = re.compile(r"g([1-9][0-9]*)")
Offsets = dict[str, dict[int, int]]
"""By topic and partition: the offset from which on the log was not read yet."""


class Recipe(BaseModel):
    """What the rows of a generation are made with: other values make other rows."""

    model_config = ConfigDict(frozen=True)

    embedder: Literal["wordllama", "openai", "none"]
    embedder_model: str
    embedder_dimensions: int
    embedder_base_url: str | None = None
    chunk_size: int
    shards: int


class Generation(BaseModel):
    """`recipe` None: as the settings say. `offsets`: what it had read when it was made or left."""

    model_config = ConfigDict(frozen=True)

    number: int
    recipe: Recipe | None = None
    made_at: datetime | None = None
    offsets: Offsets = {}


class Served(BaseModel):
    """What the pointer says: the generation that is served, and the one that a rollback goes back to."""

    model_config = ConfigDict(frozen=True)

    current: Generation = Generation(number=0)
    previous: Generation | None = None


class Place(Protocol):
    """Where generations are kept: a local folder, or a prefix of an object store."""

    async def read(self) -> bytes | None:
        """The pointer; None where nothing was ever replayed."""
        ...

    async def replace(self, value: bytes) -> None:
        """Replace the pointer in one step; durable on return."""
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

    async def read(self) -> bytes | None:
        return await asyncio.to_thread(self._read)

    async def replace(self, value: bytes) -> None:
        await asyncio.to_thread(self._replace, value)

    async def numbers(self) -> list[int]:
        return await asyncio.to_thread(self._numbers)

    async def remove(self, number: int) -> None:
        await asyncio.to_thread(self._remove, number)

    async def size(self, number: int) -> int:
        return await asyncio.to_thread(self._size, number)

    def uri(self, number: int) -> str:
        return str(self._folder / f"g{number}" if number else self._folder)

    def _read(self) -> bytes | None:
        path = self._folder / POINTER
        return path.read_bytes() if path.exists() else None

    def _replace(self, value: bytes) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=self._folder, prefix=f"{POINTER}.", delete=False) as file:
            file.write(value)
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).replace(self._folder / POINTER)
        _sync(self._folder)

    def _numbers(self) -> list[int]:
        if not self._folder.exists():
            return []
        found = (_FOLDER.fullmatch(path.name) for path in self._folder.iterdir() if path.is_dir())
        return sorted(int(match[1]) for match in found if match)

    def _remove(self, number: int) -> None:
        for path in self._parts(number):
            shutil.rmtree(path, ignore_errors=True)

    def _parts(self, number: int) -> list[Path]:
        if number:
            return [self._folder / f"g{number}"]
        # Generation 0 shares its folder with the others.
        return sorted(self._folder.glob("*.lance"))

    def _size(self, number: int) -> int:
        files = (path for part in self._parts(number) for path in part.rglob("*"))
        return sum(path.stat().st_size for path in files if path.is_file())


class FixedPlace:
    """At an object store: one generation, until there is a pointer that is put on a condition."""

    def __init__(self, uri: str) -> None:
        self._uri = uri

    async def read(self) -> bytes | None:
        return None

    async def replace(self, value: bytes) -> None:  # noqa: ARG002 - the protocol's argument
        raise ValueError(f"A replay switches tables in a folder; it can't yet switch those at {self._uri}.")

    async def numbers(self) -> list[int]:
        return []

    async def remove(self, number: int) -> None:  # noqa: ARG002 - the protocol's argument
        return None

    async def size(self, number: int) -> int:  # noqa: ARG002 - the protocol's argument
        return 0

    def uri(self, number: int) -> str:
        return f"{self._uri.rstrip('/')}/g{number}" if number else self._uri


class Generations:
    """What is known of the generations at one place. One replay at a time changes them."""

    def __init__(self, place: Place) -> None:
        self._place = place

    async def served(self) -> Served:
        """What the pointer says now."""
        value = await self._place.read()
        return Served() if value is None else Served.model_validate_json(value)

    def uri(self, generation: Generation) -> str:
        """Where the tables of a generation are."""
        return self._place.uri(generation.number)

    async def size(self, generation: Generation) -> int:
        """Bytes of its tables."""
        return await self._place.size(generation.number)

    async def begin(self, recipe: Recipe, made_at: datetime) -> Generation:
        """An empty one beside the others, with a number that none of them has had."""
        await self.sweep()
        served = await self.served()
        taken = [served.current.number, served.previous.number if served.previous else 0]
        return Generation(number=max(taken) + 1, recipe=recipe, made_at=made_at)

    async def serve(self, current: Generation, previous: Generation | None) -> None:
        """From now on `current` is the one; in effect, and on disk, when the call returns."""
        served = Served(current=current, previous=previous)
        await self._place.replace(json.dumps(served.model_dump(mode="json"), indent=1).encode())

    async def sweep(self) -> list[int]:
        """Remove what the pointer does not name: replays that were given up, and older generations."""
        served = await self.served()
        kept = {served.current.number, served.previous.number if served.previous else served.current.number}
        unnamed = [number for number in await self._place.numbers() if number not in kept]
        if 0 not in kept:
            unnamed.insert(0, 0)
        for number in unnamed:
            await self._place.remove(number)
        return [number for number in unnamed if number]


def generations_at(uri: str) -> Generations:
    """The generations in a folder, or at an object store's URI."""
    return Generations(FixedPlace(uri) if "://" in uri else FolderPlace(Path(uri)))


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
