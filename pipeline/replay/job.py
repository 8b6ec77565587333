"""Replays of one process: one at a time, asked for by an operator, beside the pipeline that serves."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

from pipeline.live import Live
from pipeline.replay.copying import Copying
from pipeline.replay.order import Order, Plan, Progress, ReplayError
from pipeline.replay.rebuild import EFFECTS_FIRST, Rebuild
from pipeline.replay.verify import differing, missing
from pipeline.store.generations import Generation, Generations, Offsets
from pipeline.worker import Pipeline, open_pipeline
from schemas.topics import (
    DOCUMENTS_EXTRACTED,
    DOCUMENTS_SUBMITTED,
    MEMORIES_FORGOTTEN,
    MEMORIES_FORMED,
    SETTINGS_CHANGED,
)

log = logging.getLogger(__name__)

TAIL = 256
"""Records that may be left to read when the switch begins, and nobody works on the log until it is done."""
ROUNDS = 20
TRIES = 3
_READ_BY = {
    SETTINGS_CHANGED.name: ("recollect.settings",),
    DOCUMENTS_SUBMITTED.name: ("recollect.extract",),
    DOCUMENTS_EXTRACTED.name: ("recollect.chunk", "recollect.form"),
    MEMORIES_FORMED.name: ("recollect.relate",),
    MEMORIES_FORGOTTEN.name: ("recollect.forget",),
}
"""The groups of the stages whose effects a generation holds, by the topic they read."""


class Replays:
    """`start` returns at once; `progress` tells how it goes, also when it has ended."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._progress = Progress()
        self._task: asyncio.Task[None] | None = None

    @property
    def progress(self) -> Progress:
        """Of the replay that runs, or ran last."""
        return self._progress

    async def plan(self, order: Order) -> Plan:
        """What a replay would read and write; nothing is changed."""
        served = await self._generations.served()
        order.check(self._live.foundation.recipe(served.current))
        recipe = order.recipe(self._live.foundation.recipe(served.current))
        ends = {topic.name: dict(await self._live.foundation.bus.ends(topic.name)) for topic in EFFECTS_FIRST}
        spaces = [space for row in self._live.pipeline.store.catalog.namespaces() for space in row.spaces]
        store = self._live.pipeline.store
        return Plan(
            current=served.current.number,
            previous=None if served.previous is None else served.previous.number,
            recipe=recipe,
            records={topic: sum(partitions.values()) for topic, partitions in sorted(ends.items())},
            documents=sum(store.documents.count(spaces).values()),
            chunks=sum(store.chunks.count(spaces).values()),
            memories=sum(store.memories.count(spaces).values()),
            bytes=await self._generations.size(served.current),
        )

    def start(self, order: Order) -> None:
        """Begin; ReplayError when one runs already."""
        self._begin(lambda: self._replay(order))

    def roll_back(self) -> None:
        """Begin to go back to the previous generation; ReplayError when a replay runs."""
        self._begin(self._roll_back)

    async def clean_up(self) -> list[int]:
        """Remove the previous generation and what no replay finished; their numbers."""
        self._idle()
        served = await self._generations.served()
        if served.previous is None:
            return await self._generations.sweep()
        gone = served.previous.number
        await self._generations.serve(served.current, None)
        return sorted({gone, *await self._generations.sweep()})

    async def cancel(self) -> None:
        """End the replay that runs, if any; the generation that is served was never touched."""
        task = self._task
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait([task])
            if self._progress.state == "running":
                # It had not taken its first step.
                self._progress.end("cancelled", self._now())

    async def finished(self) -> Progress:
        """Wait for the replay that runs."""
        if self._task is not None:
            await asyncio.wait([self._task])
        return self._progress

    @property
    def _generations(self) -> Generations:
        return self._live.foundation.generations

    def _idle(self) -> None:
        if self._task is not None and not self._task.done():
            raise ReplayError("A replay is running. Wait for it, or cancel it.")

    def _begin(self, work: Callable[[], Awaitable[None]]) -> None:
        self._idle()
        if self._live.foundation.shared:
            raise ReplayError(
                "Other processes may use the log and the tables, and nothing tells them yet that other tables"
                " are served from now on. Replays are for the embedded log."
            )
        self._progress = Progress(state="running", started_at=self._now())
        self._task = asyncio.create_task(self._guarded(work))

    async def _guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        """However it ends, whoever asks is told."""
        try:
            await work()
        except asyncio.CancelledError:
            self._progress.end("cancelled", self._now())
            raise
        except Exception as error:
            log.exception("The replay has failed; what is served is as it was.")
            self._progress.end("failed", self._now(), str(error) or type(error).__name__)
        else:
            self._progress.end("done", self._now())

    async def _replay(self, order: Order) -> None:
        served = await self._generations.served()
        before = self._live.foundation.recipe(served.current)
        order.check(before)
        recipe = order.recipe(before)
        generation = await self._generations.begin(recipe, self._now())
        self._progress.generation = generation.number
        same = recipe == before
        await self._switch_to(
            generation, await self._begun(order), fresh=True, same=same, force=order.force, order=order
        )

    async def _begun(self, order: Order) -> Offsets:
        """From where the log is to be read: what is copied holds what came before."""
        if not order.copies:
            return {}
        # Asked before anything is copied. Texts are looked through from the start: which were embedded by
        # then, their documents say.
        there = await positions(self._live.pipeline)
        copied = [DOCUMENTS_SUBMITTED.name]
        if order.stage is not None:
            copied += [MEMORIES_FORMED.name, MEMORIES_FORGOTTEN.name]
        return {topic: there[topic] for topic in copied}

    async def _roll_back(self) -> None:
        served = await self._generations.served()
        if served.previous is None:
            raise ReplayError("There is no previous generation to go back to.")
        self._progress.generation = served.previous.number
        # Texts are looked through from the start: some were chunked and not yet embedded when it was left.
        offsets = {
            topic: read
            for topic, read in served.previous.offsets.items()
            if topic != DOCUMENTS_EXTRACTED.name
        }
        # What it lacks came in while another was served; nothing is compared with that one.
        await self._switch_to(served.previous, offsets, fresh=False, same=False, force=True)

    async def _switch_to(
        self,
        generation: Generation,
        offsets: Offsets,
        *,
        fresh: bool,
        same: bool,
        force: bool,
        order: Order | None = None,
    ) -> None:
        pipeline = await open_pipeline(self._live.foundation, generation)
        copying = self._copying(order, pipeline)
        rebuild = Rebuild(
            pipeline,
            offsets,
            # Copied memories have sources that were never read here.
            fresh=fresh and not (copying is not None and copying.memories),
            told=self._progress.tell,
            copying=copying,
        )
        takeover = _Takeover(self._live, pipeline, rebuild, self._progress, same=same, force=force)
        try:
            await self._read_all(rebuild)
            self._progress.step = "compacting"
            await pipeline.store.maintain()
            self._progress.step = "switching"
            await self._live.switch(takeover)
        except BaseException:
            await pipeline.close()
            raise
        finally:
            await self._generations.sweep()

    def _copying(self, order: Order | None, pipeline: Pipeline) -> Copying | None:
        if order is None or not order.copies:
            return None
        anew = pipeline.embedder if order.stage == "embed" else None
        return Copying(self._live.pipeline.store, memories=order.stage is not None, embedder=anew)

    async def _read_all(self, rebuild: Rebuild) -> None:
        """Everything, then what came meanwhile, until so little is left that a switch takes a moment."""
        self._progress.total = rebuild.reader.left(await rebuild.ends())
        for _ in range(ROUNDS):
            await rebuild.advance(self._live.pipeline.store.documents)
            left = rebuild.reader.left(await rebuild.ends())
            self._progress.total = self._progress.read + left
            if left <= TAIL:
                return

    def _now(self) -> datetime:
        return self._live.foundation.clock.now()


@dataclass(eq=False)
class _Takeover:
    """As `live.Takeover`: the new pipeline reads the tail, is compared, and is what the pointer names."""

    live: Live
    pipeline: Pipeline
    rebuild: Rebuild
    progress: Progress
    same: bool
    force: bool
    left: Offsets = field(default_factory=dict)

    async def ready(self) -> Pipeline:
        old, new = self.live.pipeline.store, self.pipeline.store
        self.left = await positions(self.live.pipeline)
        problems: list[str] = []
        for _ in range(TRIES):
            # Requests go on writing: what differs may have come in a moment ago.
            await self.rebuild.advance(old.documents)
            problems = [] if self.force else await missing(old, new, same=self.same)
            if not problems:
                break
        if problems:
            raise ReplayError(
                "The new tables do not hold what the old ones do: "
                + "; ".join(problems)
                + ". Nothing was changed. --force switches all the same."
            )
        if self.same:
            self.progress.differences = await differing(old, new)
        await new.adopt(old)
        return self.pipeline

    async def commit(self) -> None:
        generations = self.live.foundation.generations
        served = await generations.served()
        current = self.pipeline.generation.model_copy(update={"offsets": self.rebuild.reader.offsets})
        recipe = self.live.foundation.recipe(served.current)
        left = served.current.model_copy(update={"offsets": self.left, "recipe": recipe})
        await generations.serve(current, left)


async def positions(pipeline: Pipeline) -> Offsets:
    """Up to where, at least, the tables of a pipeline hold what the log says."""
    # The ends first: what comes in between only makes the lag larger, and the answer more careful.
    ends = {topic: await pipeline.bus.ends(topic) for topic in _READ_BY}
    lag = await pipeline.bus.lag()
    return {
        topic: {
            partition: max(
                0, end - max(lag.get(group, {}).get((topic, partition), end) for group in _READ_BY[topic])
            )
            for partition, end in partitions.items()
        }
        for topic, partitions in ends.items()
    }
