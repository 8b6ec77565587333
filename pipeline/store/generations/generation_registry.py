"""Generation registry: which set of tables is active, which was active before, and how each was built.

Generation 0 lies in the tables' folder itself, a replay builds `g1`, `g2`… beside it. The object `current`
points to the active generation and is replaced atomically. A generation that it does not name is unfinished.
Beside the pointer are the notes by which processes follow, cancel and share a replay.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from pipeline.store.generations.generation_storage import FolderGenerationStorage, GenerationStorage

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

    Processes follow, cancel and share a replay by the notes in its storage: the progress that the replaying process
    reported last, the id of a replay that is to be cancelled, what processes may take part in (empty: nothing), and
    by its number the progress in each division.
    """

    def __init__(self, storage: GenerationStorage) -> None:
        self.storage = storage
        self._pointer_value: bytes | None = None
        self._active = ActiveGeneration()

    async def read_active(self) -> ActiveGeneration:
        value = await self.storage.read_pointer()
        if value != self._pointer_value:
            # Called after every record: read each time, and parsed only if it has changed.
            self._active = ActiveGeneration() if value is None else ActiveGeneration.model_validate_json(value)
            self._pointer_value = value
        return self._active

    def uri(self, generation: Generation) -> str:
        return self.storage.uri(generation.number)

    async def size(self, generation: Generation) -> int:
        return await self.storage.size(generation.number)

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
        await self.storage.write_pointer(json.dumps(active.model_dump(mode="json"), indent=1).encode())

    async def delete_unreferenced(self) -> list[int]:
        """Delete generations that the pointer does not name; returns their numbers, without 0."""
        active = await self.read_active()
        referenced = {active.current.number, active.previous.number if active.previous else active.current.number}
        unreferenced = [number for number in await self.storage.list_generations() if number not in referenced]
        if 0 not in referenced:
            unreferenced.insert(0, 0)
        for number in unreferenced:
            await self.storage.delete_generation(number)
        return [number for number in unreferenced if number]


def open_generations(uri: str, storage: Mapping[str, str] | None = None) -> GenerationRegistry:
    """Open the generations in a folder, or at an object store's URI with its options."""
    if "://" not in uri:
        return GenerationRegistry(FolderGenerationStorage(Path(uri)))
    # A process with its tables in a folder does not load an object store's client.
    from pipeline.store.blobs.object_store_client import open_object_store  # noqa: PLC0415 - see above
    from pipeline.store.generations.object_store_generations import ObjectGenerationStorage  # noqa: PLC0415 - see above

    return GenerationRegistry(ObjectGenerationStorage(open_object_store(uri, storage), uri))
