"""How tables that were made again take the place of those that are served."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from pipeline.live import Live
from pipeline.ports import Hold
from pipeline.replay.order import Progress, ReplayError
from pipeline.replay.rebuild import Rebuild
from pipeline.replay.verify import differing, missing, sampled, tally
from pipeline.store.generations import Offsets
from pipeline.worker import Pipeline, open_pipeline

TRIES = 3
_FILL = frozenset({"settings", "extract", "chunk", "form", "relate", "forget"})
"""The stages whose effects a generation holds."""


@dataclass(eq=False)
class Handover:
    """As `live.Takeover`: the new pipeline reads the tail, is compared, and is what the pointer names."""

    live: Live
    pipeline: Pipeline
    rebuild: Rebuild
    progress: Progress
    hold: Hold
    same: bool
    force: bool
    left: Offsets = field(default_factory=dict)

    async def begin(self) -> None:
        """Before anything is read; ValueError when the tables can't be filled now."""

    async def ready(self) -> Pipeline:
        """The new one; ReplayError when it does not hold what the old one does."""
        self.left = await positions(self.live.pipeline)
        await self._catch_up()
        await self.pipeline.store.adopt(self.live.pipeline.store)
        return self.pipeline

    async def commit(self) -> None:
        """LockLostError or ValueError when somebody else replays meanwhile."""
        generations = self.live.foundation.generations
        served = await generations.served()
        current = self.pipeline.generation.model_copy(update={"offsets": self.rebuild.reader.offsets})
        recipe = self.live.foundation.recipe(served.current)
        left = served.current.model_copy(update={"offsets": self.left, "recipe": recipe})
        self.hold.check()
        await generations.serve(current, left)

    async def close(self) -> None:
        """Nothing came of it."""
        await self.pipeline.close()

    async def _catch_up(self) -> None:
        old, new = self.live.pipeline.store, self.pipeline.store
        problems: list[str] = []
        some: Mapping[str, str] = {}
        for _ in range(TRIES):
            # Others go on writing: what differs may have come in a moment ago.
            since = await tally(old)
            await self.rebuild.advance(old.documents)
            problems = [] if self.force else await missing(old, new, since, same=self.same)
            if self.same:
                some = some or await sampled(new)
                self.progress.differences = await differing(old, new, some)
            if not problems and not self.progress.differences:
                return
        if problems:
            raise ReplayError(
                "The new tables do not hold what the old ones do: "
                + "; ".join(problems)
                + ". Nothing was changed. --force switches all the same."
            )


class SharedHandover(Handover):
    """Where other processes work on the log, and go over to the new tables one by one.

    The groups of a generation's stages are its own. They begin where those of the old one were before the
    tail was read: what these had done by then is in the log, and was read; the rest is done again, which
    changes nothing where it was done already.
    """

    async def ready(self) -> Pipeline:
        """The new one, opened for several processes."""
        await self.begin()
        filled = await super().ready()
        await filled.close()
        self.pipeline = await open_pipeline(self.live.foundation, filled.generation)
        return self.pipeline

    async def begin(self) -> None:
        """Let the groups of the new one begin where the old ones are; ValueError when they have members."""
        now = {stage.name: stage for stage in self.live.pipeline.stages}
        bus = self.live.foundation.bus
        await asyncio.gather(
            *(
                bus.adopt(stage.group, stage.source.name, now[stage.name].group)
                for stage in self.pipeline.stages
            )
        )


async def positions(pipeline: Pipeline) -> Offsets:
    """Up to where, at least, the tables of a pipeline hold what the log says; by topic and partition."""
    groups: dict[str, list[str]] = {}
    for stage in pipeline.stages:
        if stage.name in _FILL:
            groups.setdefault(stage.source.name, []).append(stage.group)
    # The ends first: what comes in between only makes the lag larger, and the answer more careful.
    ends = {topic: await pipeline.bus.ends(topic) for topic in groups}
    lag = await pipeline.bus.lag()
    return {
        topic: {
            partition: max(
                0, end - max(lag.get(group, {}).get((topic, partition), end) for group in groups[topic])
            )
            for partition, end in partitions.items()
        }
        for topic, partitions in ends.items()
    }
