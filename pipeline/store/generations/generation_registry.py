"""Generation registry: which set of tables is active, which was active before, and how each was built.

Generation 0 lies in the tables' folder itself, a replay builds `g1`, `g2`… beside it. The object `current`
points to the active generation and is replaced atomically. A generation that it does not name is unfinished.
Beside the pointer are the notes by which processes follow, cancel and share a replay.
"""

import asyncio
import json
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from pipeline.ports import NamedFiles
from pipeline.store.folder_files import open_files

POINTER_NAME = "current"
WRITE_AHEAD_LOG_FOLDER = "write_ahead_log"
"""Folder of the write-ahead log of generation 0, beside its tables."""
_GENERATION_FOLDER = re.compile(r"g([1-9][0-9]*)")
_LANCE_SUFFIX = ".lance"
"""Suffix of LanceDB's table folders."""
REPLAY_REPORT = "replay"
REPLAY_CANCELLATION = "replay.cancel"
REPLAY_WORK = "replay.work"
REPLAY_DIVISION = "replay.division"
TopicOffsets = dict[str, dict[int, int]]
"""First offset not read yet, by topic and partition."""


class IndexConfig(BaseModel):
    """Settings that determine the rows of a generation."""

    model_config = ConfigDict(frozen=True)

    embedder: Literal["e5", "e5-encoder", "wordllama", "openai", "none"]
    embedder_model: str
    embedder_dimensions: int
    embedder_base_url: str | None = None
    chunk_size: int
    shards: int


class Generation(BaseModel):
    """A set of tables. `index_config` None: as the settings say. `offsets`: where its log readers stood.

    `rollbacks`: times that it was filled again and served again. Such rows carry no version, so no copy of the
    tables from before can be brought up to date.
    """

    model_config = ConfigDict(frozen=True)

    number: int
    index_config: IndexConfig | None = None
    created_at: datetime | None = None
    offsets: TopicOffsets = {}
    rollbacks: int = 0


class ActiveGeneration(BaseModel):
    """Content of the pointer: the active generation, and the one that a rollback returns to."""

    model_config = ConfigDict(frozen=True)

    current: Generation = Generation(number=0)
    previous: Generation | None = None


class GenerationRegistry:
    """The generations in one place. Only one replay at a time changes them.

    Processes follow, cancel and share a replay by notes beside them: the progress that the replaying process
    reported last, the id of a replay that is to be cancelled, what processes may take part in (empty: nothing), and
    by its number the progress in each division. OutageError if the place can't be used.
    """

    def __init__(self, files: NamedFiles, uri: str) -> None:
        self._files = files
        self._uri = uri
        self._pointer_value: bytes | None = None
        self._active = ActiveGeneration()

    async def read_note(self, name: str) -> bytes | None:
        """Read a note; None if it does not exist."""
        return await asyncio.to_thread(self._files.read, name)

    async def write_note(self, name: str, value: bytes) -> None:
        """Replace a note atomically; durable on return."""
        await asyncio.to_thread(self._files.write, name, value)

    async def read_active(self) -> ActiveGeneration:
        value = await self.read_note(POINTER_NAME)
        if value != self._pointer_value:
            # Called after every record: read each time, and parsed only if it has changed.
            self._active = ActiveGeneration() if value is None else self._parse_pointer(value)
            self._pointer_value = value
        return self._active

    def _parse_pointer(self, value: bytes) -> ActiveGeneration:
        try:
            return ActiveGeneration.model_validate_json(value)
        except ValidationError as error:
            raise ValueError(
                f"{self._uri}/{POINTER_NAME} is damaged: it does not say which tables are served. Bring it"
                " back from a backup. Without one stop the service, move the folder away, and build new tables with"
                " `recollect replay`: the log holds all of their content."
            ) from error

    def uri(self, generation: Generation) -> str:
        """URI of a generation's tables."""
        return f"{self._uri}/g{generation.number}" if generation.number else self._uri

    async def size(self, generation: Generation) -> int:
        """Bytes of a generation's tables."""
        return await asyncio.to_thread(lambda: sum(map(self._files.folder_bytes, self._folders(generation.number))))

    async def allocate(self, index_config: IndexConfig, created_at: datetime) -> Generation:
        """Create an empty generation with an unused number."""
        await self.delete_unreferenced()
        active = await self.read_active()
        taken = [active.current.number, active.previous.number if active.previous else 0]
        return Generation(number=max(taken) + 1, index_config=index_config, created_at=created_at)

    async def activate(self, current: Generation, previous: Generation | None) -> None:
        """Make `current` the active generation; durable on return.

        ValueError if another process has replaced the pointer since it was last read.
        """
        active = ActiveGeneration(current=current, previous=previous)
        value = json.dumps(active.model_dump(mode="json"), indent=1).encode()

        def replace(found: bytes | None) -> bytes:
            # What is there may be ours: a request that was answered with an error may have taken effect.
            if found not in {self._pointer_value, value}:
                raise ValueError(f"Another process has changed {self._uri}/{POINTER_NAME} in the meantime.")
            return value

        await asyncio.to_thread(self._files.update, POINTER_NAME, replace)
        self._pointer_value, self._active = value, active

    async def delete_unreferenced(self) -> list[int]:
        """Delete generations that the pointer does not name; returns their numbers, without 0."""
        active = await self.read_active()
        referenced = {active.current.number, active.previous.number if active.previous else active.current.number}
        found = map(_GENERATION_FOLDER.fullmatch, await asyncio.to_thread(self._files.folders))
        numbers = sorted({0, *(int(match[1]) for match in found if match)} - referenced)
        for number in numbers:
            await asyncio.to_thread(self._delete, number)
        return [number for number in numbers if number]

    def _delete(self, number: int) -> None:
        for folder in self._folders(number):
            self._files.delete_folder(folder)

    def _folders(self, number: int) -> list[str]:
        """Folders of a generation's tables; generation 0 shares its place with the others."""
        if number:
            return [f"g{number}"]
        return [
            name for name in self._files.folders() if name.endswith(_LANCE_SUFFIX) or name == WRITE_AHEAD_LOG_FOLDER
        ]


def open_generations(uri: str, storage: Mapping[str, str] | None = None) -> GenerationRegistry:
    """Open the generations in a folder, or at an object store's URI with its options."""
    place = uri.rstrip("/") if "://" in uri else str(Path(uri).resolve())
    return GenerationRegistry(open_files(place, "tables", storage), place)
