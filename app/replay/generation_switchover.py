"""Switchover from the served generation to a rebuilt one."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from app.generation_pipeline import Pipeline
from app.pipeline_factory import open_pipeline
from app.pipeline_supervisor import PipelineSupervisor
from app.replay.generation_comparison import count_differences, count_rows, row_differences, sample_documents
from app.replay.generation_rebuild import GenerationRebuild
from pipeline.ports import Lease
from pipeline.store.generations.generation_registry import TopicOffsets
from pipeline.store.generations.replay_request import ReplayError, ReplayProgress

MAX_COMPARISON_ATTEMPTS = 3
_TABLE_WRITING_STAGES = frozenset(
    {"settings", "extract", "chunk", "form_memories", "project_memories", "forget_memories"}
)
"""Stages whose results are in the tables of a generation."""


@dataclass(eq=False)
class ReplaySwitchover:
    """Switchover to a rebuilt generation: read the tail of the log, compare, activate."""

    supervisor: PipelineSupervisor
    pipeline: Pipeline
    rebuild: GenerationRebuild
    progress: ReplayProgress
    lease: Lease
    same_config: bool
    force: bool
    old_offsets: TopicOffsets = field(default_factory=dict)

    async def begin(self) -> None:
        """Prepare the rebuild; ValueError if the tables can't be filled now."""

    async def prepare(self) -> Pipeline:
        """Return the new pipeline; ReplayError if its tables lack rows of the served ones."""
        self.old_offsets = await durable_offsets(self.supervisor.pipeline)
        await self._catch_up()
        await self.pipeline.store.copy_unlogged_state(self.supervisor.pipeline.store)
        return self.pipeline

    async def commit(self) -> None:
        """Activate the new generation; LockLostError or ValueError if another process replays."""
        generations = self.supervisor.resources.generations
        active = await generations.read_active()
        current = self.pipeline.generation.model_copy(update={"offsets": self.rebuild.reader.offsets})
        config = self.supervisor.resources.index_config(active.current)
        previous = active.current.model_copy(update={"offsets": self.old_offsets, "index_config": config})
        self.lease.ensure_valid()
        await generations.activate(current, previous)

    async def abort(self) -> None:
        await self.pipeline.close()

    async def _catch_up(self) -> None:
        old, new = self.supervisor.pipeline.store, self.pipeline.store
        problems: list[str] = []
        sample: Mapping[str, str] = {}
        for _ in range(MAX_COMPARISON_ATTEMPTS):
            # Writes go on during the comparison, so a difference may be newer than the rebuild.
            before = await count_rows(old)
            await self.rebuild.advance(old.documents)
            # Tables that were lost have nothing that new ones could lack.
            is_comparable = any(map(any, before.values()))
            if is_comparable and not self.force:
                problems = await count_differences(old, new, before, same_config=self.same_config)
            if is_comparable and self.same_config:
                sample = sample or await sample_documents(new)
                self.progress.differences = await row_differences(old, new, sample)
            if not problems and not self.progress.differences:
                return
        if problems:
            raise ReplayError(
                f"The new tables differ from the served ones: {'; '.join(problems)}."
                " Nothing was changed. --force switches nevertheless."
            )


class MultiProcessReplaySwitchover(ReplaySwitchover):
    """Switchover while other processes handle the log and follow one by one.

    Each generation's stages have consumer groups of their own. The new groups start where the old ones were
    before the tail was read: earlier results are in the log and were read; later records are handled again,
    which is idempotent.
    """

    async def prepare(self) -> Pipeline:
        """Return the new pipeline, reopened for several processes."""
        await self.begin()
        filled = await super().prepare()
        await filled.close()
        self.pipeline = await open_pipeline(self.supervisor.resources, filled.generation)
        return self.pipeline

    async def begin(self) -> None:
        """Copy the positions of the old consumer groups to the new ones; ValueError if these have members."""
        old_stages = {stage.name: stage for stage in self.supervisor.pipeline.stages}
        bus = self.supervisor.resources.bus
        await asyncio.gather(
            *(
                bus.copy_offsets(stage.group, stage.source.name, old_stages[stage.name].group)
                for stage in self.pipeline.stages
            )
        )


async def durable_offsets(pipeline: Pipeline) -> TopicOffsets:
    """Return offsets, by topic and partition, below which the tables hold all effects of the log."""
    groups: dict[str, list[str]] = {}
    for stage in pipeline.stages:
        if stage.name in _TABLE_WRITING_STAGES:
            groups.setdefault(stage.source.name, []).append(stage.group)
    # Ends are read before the lag: records in between only make the result smaller, which is safe.
    ends = {topic: await pipeline.bus.end_offsets(topic) for topic in groups}
    lag = await pipeline.bus.lag()
    return {
        topic: {
            partition: max(0, end - max(lag.get(group, {}).get((topic, partition), end) for group in groups[topic]))
            for partition, end in partitions.items()
        }
        for topic, partitions in ends.items()
    }
