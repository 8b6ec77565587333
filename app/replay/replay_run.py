"""One replay: fill a new generation, with other processes where there are some, and switch to it."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from app.generation_pipeline import Pipeline
from app.pipeline_factory import open_pipeline
from app.pipeline_supervisor import PipelineSupervisor
from app.replay.divided_fill import DividedFill
from app.replay.division import ReplayWork, count_divisions, incarnations_across_divisions
from app.replay.generation_copy import GenerationCopy
from app.replay.generation_rebuild import TOPICS_EFFECTS_FIRST, GenerationRebuild
from app.replay.generation_switchover import MultiProcessReplaySwitchover, ReplaySwitchover, durable_offsets
from app.resources import Resources
from pipeline.errors import OutageError
from pipeline.ports import Lease
from pipeline.store.generations.generation_registry import REPLAY_WORK, Generation, TopicOffsets
from pipeline.store.generations.replay_request import ReplayError, ReplayProgress, ReplayRequest
from schemas.topics import DOCUMENTS_EXTRACTED, DOCUMENTS_SUBMITTED, MEMORIES_FORGOTTEN, MEMORIES_FORMED

MAX_TAIL_RECORDS = 256
"""Largest tail of unread records with which the switch may begin; the stages pause meanwhile."""
COMPACT_FROM_RECORDS = 50_000
"""Replays of this many records compact the tables before serving them; smaller ones leave it for later."""
MAX_CATCH_UP_ROUNDS = 20
RELEASE_TIMEOUT_SECONDS = 20.0
"""Wait for other processes to leave the divisions of a replay that has failed."""
WATCH_INTERVAL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ReplayRun:
    """Steps of one replay, which holds the lock against others (`lease`) and tells its progress."""

    supervisor: PipelineSupervisor
    progress: ReplayProgress
    lease: Lease

    @property
    def _resources(self) -> Resources:
        return self.supervisor.resources

    async def replay(self, request: ReplayRequest) -> None:
        """Fill the tables of a new generation as requested."""
        served = await self._resources.generations.read_active()
        active_config = self._resources.index_config(served.current)
        request.validate(active_config)
        generation = await self._resources.generations.allocate(
            request.index_config(active_config), self._resources.clock.now()
        )
        self.progress.generation = generation.number
        offsets = await self._start_offsets(request)
        work = None
        if self._resources.is_multi_process:
            work = await self._plan_work(request, generation, offsets)
            await self._fill_in_divisions(work)
        await self._build_and_switch(generation, offsets, request, work)

    async def resume(self, work: ReplayWork) -> None:
        """Go on where another process died: with the divisions that are not filled, or from the start."""
        served = await self._resources.generations.read_active()
        if served.current.number == work.generation.number:
            return  # it died after the switch
        reports = await DividedFill(self.supervisor, work).reports()
        if sum(report.is_filled for report in reports) == work.divisions:
            # It may have begun with what follows, and written documents without their chunks.
            self.progress.started_at = self._resources.clock.now()
            await self.replay(work.request)
            return
        self.progress.total = sum(sum(partitions.values()) for partitions in work.ends.values())
        await self._fill_in_divisions(work)
        await self._build_and_switch(work.generation, work.starts, work.request, work)

    async def roll_back(self) -> None:
        """Bring the previous generation up to date and serve it again; ReplayError if there is none."""
        served = await self._resources.generations.read_active()
        if served.previous is None:
            raise ReplayError("There is no previous generation to go back to.")
        self.progress.generation = served.previous.number
        # Texts are read from the start: some were split but not embedded when the generation was replaced.
        offsets = {topic: read for topic, read in served.previous.offsets.items() if topic != DOCUMENTS_EXTRACTED.name}
        generation = served.previous.model_copy(update={"rollbacks": served.previous.rollbacks + 1})
        await self._build_and_switch(generation, offsets, None, None)

    async def _start_offsets(self, request: ReplayRequest) -> TopicOffsets:
        """Return where to start reading each topic: copied rows hold the effects of earlier records."""
        if not request.copies_documents:
            return {}
        # Read before the copy starts. Texts are read from the start: their documents tell which are embedded.
        durable = await durable_offsets(self.supervisor.pipeline)
        topics = [DOCUMENTS_SUBMITTED.name]
        if request.stage is not None:
            topics += [MEMORIES_FORMED.name, MEMORIES_FORGOTTEN.name]
        return {topic: durable[topic] for topic in topics}

    async def _build_and_switch(
        self,
        generation: Generation,
        offsets: TopicOffsets,
        request: ReplayRequest | None,
        work: ReplayWork | None,
    ) -> None:
        """Fill a generation, or read what came after the work of its divisions, and switch to it.

        Without a request it is the previous generation, which the served tables, newer as they are, are not compared
        with.
        """
        shared = self._resources.is_multi_process
        served = await self._resources.generations.read_active()
        configs = [self._resources.index_config(each) for each in (generation, served.current)]
        pipeline = await open_pipeline(self._resources, generation, bulk_load=shared)
        rebuild = self._rebuild_of(pipeline, offsets, request, work)
        switchover = (MultiProcessReplaySwitchover if shared else ReplaySwitchover)(
            self.supervisor,
            pipeline,
            rebuild,
            self.progress,
            self.lease,
            same_config=request is not None and configs[0] == configs[1],
            force=request is None or request.force,
        )
        try:
            await switchover.begin()
            if work is not None:
                await self._project_undivided_memories(rebuild, work)
            await self._read_until_tail(rebuild)
            if self.progress.read >= COMPACT_FROM_RECORDS:
                self.progress.step = "compacting"
                await pipeline.store.maintain()
            self.progress.step = "switching"
            await self.supervisor.switch(switchover)
        except BaseException:
            await switchover.abort()
            raise

    def _rebuild_of(
        self, pipeline: Pipeline, offsets: TopicOffsets, request: ReplayRequest | None, work: ReplayWork | None
    ) -> GenerationRebuild:
        """Return the rebuild of what is left: everything, or what came after the work of the divisions."""
        if work is not None:
            return GenerationRebuild(pipeline, work.ends, fresh=False, report_progress=self.progress.advance)
        copy = GenerationCopy.of_request(request, self.supervisor.pipeline.store, pipeline.embedder)
        return GenerationRebuild(
            pipeline,
            offsets,
            # Copied memories have source documents that this rebuild does not read.
            fresh=request is not None and not (copy is not None and copy.include_memories),
            report_progress=self.progress.advance,
            copy=copy,
        )

    async def _fill_in_divisions(self, work: ReplayWork) -> None:
        """Fill the tables together with every process that runs stages; all divisions are filled on return.

        The work stays published until the replay ends, so that another process can go on with it.
        """
        notes = self._resources.generations
        fill = DividedFill(self.supervisor, work)
        # Made here, so that processes which open the tables at the same time find them all.
        await (await open_pipeline(self._resources, work.generation, bulk_load=True)).close()
        await notes.write_note(REPLAY_WORK, work.model_dump_json().encode())
        watching = asyncio.create_task(self._watch_divisions(fill, work.divisions))
        try:
            await fill.run()
        except BaseException:
            await notes.write_note(REPLAY_WORK, b"")
            await fill.wait_until_released(RELEASE_TIMEOUT_SECONDS)
            raise
        finally:
            watching.cancel()
            await asyncio.wait([watching])
        self.progress.read = sum(report.read for report in await fill.reports())

    async def _plan_work(self, request: ReplayRequest, generation: Generation, starts: TopicOffsets) -> ReplayWork:
        bus, config = self._resources.bus, self._resources.index_config(generation)
        ends: TopicOffsets = {topic.name: dict(await bus.end_offsets(topic.name)) for topic in TOPICS_EFFECTS_FIRST}
        divisions = count_divisions(ends, TOPICS_EFFECTS_FIRST, config.shards)
        self.progress.total = sum(sum(partitions.values()) for partitions in ends.values())
        if request.stage is not None:
            # Divisions only copy: a deletion concerns memories of all divisions that a namespace lies in.
            ends = {topic.name: starts.get(topic.name, {}) for topic in TOPICS_EFFECTS_FIRST}
        joined = self.supervisor.pipeline.store.catalog.joined_incarnations()
        return ReplayWork(
            replay_id=self.progress.replay_id.decode(),
            generation=generation,
            request=request,
            divisions=divisions,
            starts=starts,
            ends=ends,
            undivided=incarnations_across_divisions(joined, divisions),
        )

    async def _watch_divisions(self, fill: DividedFill, count: int) -> None:
        """Show the sum of the divisions as the progress of the replay."""
        while True:
            with suppress(OutageError):
                reports = await fill.reports()
                self.progress.read = sum(report.read for report in reports)
                self.progress.step = f"filled {sum(report.is_filled for report in reports)} of {count} divisions"
            await asyncio.sleep(WATCH_INTERVAL_SECONDS)

    async def _project_undivided_memories(self, rebuild: GenerationRebuild, work: ReplayWork) -> None:
        """Project memories of namespaces that lie in several divisions now, or did when the work was planned."""
        joined = self.supervisor.pipeline.store.catalog.joined_incarnations()
        moved = incarnations_across_divisions(joined, work.divisions)
        if undivided := work.undivided | moved:
            await rebuild.replay_memories_of(undivided, work.starts, work.ends)

    async def _read_until_tail(self, rebuild: GenerationRebuild) -> None:
        """Read the log repeatedly, until the remaining tail is short enough for a quick switch."""
        self.progress.total = self.progress.read + rebuild.reader.remaining(await rebuild.log_ends())
        for _ in range(MAX_CATCH_UP_ROUNDS):
            await rebuild.advance(self.supervisor.pipeline.store.documents)
            remaining = rebuild.reader.remaining(await rebuild.log_ends())
            self.progress.total = self.progress.read + remaining
            if remaining <= MAX_TAIL_RECORDS:
                return
