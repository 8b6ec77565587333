"""memories.forgotten → the memories table: hide memories from recall, with time and reason, or show them again."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.memory.versioning.forget_command import ForgetCommand, forget_edit
from pipeline.memory.versioning.memory_repository import MemoryRepository
from pipeline.memory.versioning.provenance import MemoryEdit
from pipeline.ports import Catalog
from pipeline.stage import Record, Stage
from schemas.events import MemoriesForgotten
from schemas.topics import MEMORIES_FORGOTTEN


@dataclass(frozen=True, slots=True)
class ForgetMemoriesStage:
    """Hides and restores memories; repeating a command that the request applied already changes nothing."""

    catalog: Catalog
    memory_repository: MemoryRepository

    @property
    def definition(self) -> Stage[MemoriesForgotten]:
        return Stage(
            name="forget_memories",
            source=MEMORIES_FORGOTTEN,
            handle=self.handle,
            apply_optimistically=self.apply_optimistically,
        )

    async def handle(self, batch: Sequence[Record[MemoriesForgotten]]) -> None:
        """Hide the memories and wait until they are on disk."""
        await self.apply_optimistically(batch)
        await self.memory_repository.wait_until_durable()

    async def apply_optimistically(self, batch: Sequence[Record[MemoriesForgotten]]) -> None:
        """Hide the memories, as the request did."""
        events = [record.event for record in batch if self.catalog.namespace_of(record.event.incarnation) is not None]
        edits: dict[str, list[MemoryEdit]] = {}
        for event in events:
            for id_ in event.ids:
                forgetting = ForgetCommand(event.at, event.reason, event.sources.get(id_), event.restores)
                edits.setdefault(id_, []).append(forget_edit({event.incarnation}, forgetting))
        await self.memory_repository.apply({event.incarnation for event in events}, edits)
