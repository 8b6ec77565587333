"""memories.forgotten → the memories table: hidden from recall, with the moment and the reason."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.memory.forgetting import Forgetting, hidden
from pipeline.memory.keeper import Keeper
from pipeline.memory.statements import Edit
from pipeline.ports import Catalog
from pipeline.stage import Record, Stage
from schemas.events import MemoriesForgotten
from schemas.topics import MEMORIES_FORGOTTEN


@dataclass(frozen=True, slots=True)
class Forget:
    """The stage's work as functions of its ports."""

    catalog: Catalog
    keeper: Keeper

    async def handle(self, batch: Sequence[Record[MemoriesForgotten]]) -> None:
        """What the request did already changes nothing when it is done again."""
        await self.foresee(batch)
        await self.keeper.durable()

    async def foresee(self, batch: Sequence[Record[MemoriesForgotten]]) -> None:
        """Hide them, as the request did."""
        events = [record.event for record in batch if self.catalog.owner(record.event.space) is not None]
        edits: dict[str, list[Edit]] = {}
        for event in events:
            for id_ in event.ids:
                forgetting = Forgetting(event.at, event.reason, event.sources.get(id_))
                edits.setdefault(id_, []).append(hidden({event.space}, forgetting))
        await self.keeper.change({event.space for event in events}, edits)


def build(*, catalog: Catalog, keeper: Keeper) -> Stage[MemoriesForgotten]:
    """The stage `forget`."""
    work = Forget(catalog, keeper)
    return Stage(name="forget", source=MEMORIES_FORGOTTEN, handle=work.handle, foresee=work.foresee)
