"""The stages that fill one generation of tables."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipeline.stage import Stage, with_settings_barrier
from pipeline.stages.chunk_stage import ChunkStage
from pipeline.stages.embed_stage import EmbedStage
from pipeline.stages.extract_stage import ExtractStage
from pipeline.stages.forget_memories_stage import ForgetMemoriesStage
from pipeline.stages.form_memories_stage import FormMemoriesStage
from pipeline.stages.index_stage import IndexStage
from pipeline.stages.namespace_operations_stage import NamespaceOperationsStage
from pipeline.stages.project_memories_stage import ProjectMemoriesStage
from pipeline.stages.sync_run_stages import SyncRunStages
from schemas.topics import SETTINGS_CHANGED


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSet:
    extract: ExtractStage
    chunk: ChunkStage
    index: IndexStage
    embed: EmbedStage
    form_memories: FormMemoriesStage
    project_memories: ProjectMemoriesStage
    forget_memories: ForgetMemoriesStage
    operations: NamespaceOperationsStage
    sync_runs: SyncRunStages

    def definitions(self) -> Sequence[Stage[Any]]:
        """The stages in the order of `apply_optimistically`."""
        return [
            SETTINGS_STAGE,
            self.extract.definition,
            self.chunk.definition,
            self.index.definition,
            self.embed.definition,
            self.form_memories.definition,
            self.project_memories.definition,
            self.forget_memories.definition,
            self.operations.definition,
            self.sync_runs.requests,
            self.sync_runs.reports,
        ]

    def shared_definitions(
        self, generation: int, catch_up_settings: Callable[[], Awaitable[None]]
    ) -> Sequence[Stage[Any]]:
        """The same where processes share the log: consumer groups of the generation, each batch behind a
        settings barrier."""
        settings, *others = self.definitions()
        stages = [settings, *(with_settings_barrier(stage, catch_up_settings) for stage in others)]
        return [replace(stage, generation=generation) for stage in stages]


async def _accept(_: object) -> None:
    """Do nothing: what can't be read does not come here, and is dead-lettered."""


SETTINGS_STAGE = Stage(name="settings", source=SETTINGS_CHANGED, handle=_accept)
"""Finds unreadable records."""
