"""Generations of tables: which one is served, which one was before, and what each was made with.

Generation 0 lies in the tables' folder itself, where every version before had them; a replay makes `g1`,
`g2`… beside it. The object `current` names the one that is served: it is replaced in one step, so whoever
opens the tables finds one generation or the other, whole. A folder that it does not name is unfinished.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from pipeline.store.places import FolderPlace, Place

REPORT = "replay"
WISH = "replay.cancel"
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


class Generations:
    """What is known of the generations at one place. One replay at a time changes them."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._value: bytes | None = None
        self._served = Served()

    async def served(self) -> Served:
        """What the pointer says now."""
        value = await self._place.pointer()
        if value != self._value:
            # Requests ask after every record: it is read each time, and parsed when it has moved.
            self._served = Served() if value is None else Served.model_validate_json(value)
            self._value = value
        return self._served

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
        """From now on `current` is the one; in effect, and on disk, when the call returns.

        ValueError when somebody else has changed what is served since this was asked last.
        """
        served = Served(current=current, previous=previous)
        await self._place.point(json.dumps(served.model_dump(mode="json"), indent=1).encode())

    async def report(self, value: bytes) -> None:
        """Let others read how the replay goes that runs here."""
        await self._place.write(REPORT, value)

    async def reported(self) -> bytes | None:
        """What was reported last, by whomever."""
        return await self._place.read(REPORT)

    async def wish(self, value: bytes) -> None:
        """Leave word for whoever replays."""
        await self._place.write(WISH, value)

    async def wished(self) -> bytes | None:
        """The word that was left last."""
        return await self._place.read(WISH)

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


def generations_at(uri: str, storage: Mapping[str, str] | None = None) -> Generations:
    """The generations in a folder, or at an object store's URI; `storage`: its options."""
    if "://" not in uri:
        return Generations(FolderPlace(Path(uri)))
    # One process with its tables in a folder has no use for an object store's client.
    from pipeline.store.objectplace import ObjectPlace  # noqa: PLC0415 - see above
    from pipeline.store.objects import open_objects  # noqa: PLC0415 - see above

    return Generations(ObjectPlace(open_objects(uri, storage), uri))
