"""Replays on request of an operator, one at a time among all processes, beside the serving pipeline."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import datetime, timedelta
from functools import partial

from app.generation_pipeline import Pipeline
from app.pipeline_factory import open_pipeline
from app.pipeline_supervisor import RETIREMENT_GRACE_SECONDS, PipelineSupervisor
from app.replay.divided_fill import DividedFill
from app.replay.division import ReplayWork, count_divisions, incarnations_across_divisions
from app.replay.generation_copy import GenerationCopy
from app.replay.generation_rebuild import TOPICS_EFFECTS_FIRST, GenerationRebuild
from app.replay.generation_switchover import MultiProcessReplaySwitchover, ReplaySwitchover, durable_offsets
from pipeline.errors import OutageError
from pipeline.ports import Lease
from pipeline.runtime.fair_event_loop import run_in_background_lane
from pipeline.stage import consumer_group
from pipeline.store.generations.generation_registry import (
    REPLAY_CANCELLATION,
    REPLAY_REPORT,
    REPLAY_WORK,
    Generation,
    GenerationRegistry,
    TopicOffsets,
)
from pipeline.store.generations.replay_request import ReplayError, ReplayProgress, ReplayRequest
from schemas.http.extensions.replay_bodies import IndexConfigResponse, ReplayPlanResponse
from schemas.topics import (
    DOCUMENTS_EXTRACTED,
    DOCUMENTS_SUBMITTED,
    MEMORIES_FORGOTTEN,
    MEMORIES_FORMED,
)

log = logging.getLogger(__name__)

MAX_TAIL_RECORDS = 256
"""Largest tail of unread records with which the switch may begin; the stages pause meanwhile."""
COMPACT_FROM_RECORDS = 50_000
"""Replays of this many records compact the tables before serving them; smaller ones leave it for later."""
MAX_CATCH_UP_ROUNDS = 20
LOCK_TIMEOUT_SECONDS = 20.0
"""Wait for the replay lock: longer than the lease of a process that died."""
REPORT_INTERVAL_SECONDS = 1.0
HEARTBEAT_TIMEOUT = timedelta(seconds=60)
"""Silence after which a replay in another process counts as failed."""
SUCCESSION_SILENCE = timedelta(seconds=5)
"""Silence after which another process goes on with a replay, if it gets the lock."""
ELSEWHERE = "A replay is running in another process. Wait for it, or cancel it."


class ReplayService:
    """Starts, reports and cancels replays; `start` returns at once."""

    def __init__(self, supervisor: PipelineSupervisor) -> None:
        self._supervisor = supervisor
        self._progress = ReplayProgress()
        self._task: asyncio.Task[None] | None = None

    @property
    def progress(self) -> ReplayProgress:
        return self._progress

    async def latest_progress(self) -> ReplayProgress:
        """Return the progress of the running or last replay of any process."""
        if not self._supervisor.resources.is_multi_process:
            return self._progress
        reported = await self._reported_progress()
        if not reported.started_after(self._progress):
            return self._progress
        if self._is_silent(reported, HEARTBEAT_TIMEOUT):
            reported.finish("failed", self._now(), "The replaying process stopped reporting its progress.")
        return reported

    async def is_abandoned(self, work: ReplayWork) -> bool:
        """Return whether the process that replays this work does not report; whoever gets its lock may go on."""
        reported = await self._reported_progress()
        return reported.replay_id.decode() == work.replay_id and self._is_silent(reported, SUCCESSION_SILENCE)

    async def take_over(self, work: ReplayWork) -> None:
        """Go on with the replay of a process that died, until its end; do nothing if another process replays."""
        self._ensure_idle()
        with suppress(ReplayError):
            async with self._replay_lock() as lease:
                # Another process may have gone on with it, or begun another one, while this one waited.
                if not await self.is_abandoned(work):
                    return
                log.warning("Continuing the replay into generation %d, whose process died.", work.generation.number)
                started_at = datetime.fromisoformat(work.replay_id)
                self._progress = ReplayProgress(
                    state="running", started_at=started_at, generation=work.generation.number
                )
                self._run_in_task(lambda: self._run_and_clean_up(partial(self._resume, work), lease))
                try:
                    await self.wait_finished()
                finally:
                    await self.stop()

    async def _reported_progress(self) -> ReplayProgress:
        value = await self._generations.read_note(REPLAY_REPORT)
        return ReplayProgress() if value is None else ReplayProgress.from_bytes(value)

    async def _is_elsewhere(self) -> bool:
        """Return whether another process reports another replay, whose reports this process must not replace."""
        if not self._supervisor.resources.is_multi_process:
            return False
        reported = await self._reported_progress()
        is_alive = reported.state == "running" and not self._is_silent(reported, SUCCESSION_SILENCE)
        return is_alive and reported.replay_id != self._progress.replay_id

    def _is_silent(self, reported: ReplayProgress, silence: timedelta) -> bool:
        at = reported.reported_at
        return reported.state == "running" and at is not None and self._now() - at > silence

    async def plan(self, request: ReplayRequest) -> ReplayPlanResponse:
        """Estimate what a replay would read and write, without side effects."""
        resources, store = self._supervisor.resources, self._supervisor.pipeline.store
        served = await self._generations.read_active()
        active_config = resources.index_config(served.current)
        request.validate(active_config)
        ends = {topic.name: await resources.bus.end_offsets(topic.name) for topic in TOPICS_EFFECTS_FIRST}
        incarnations = store.catalog.incarnations()
        return ReplayPlanResponse(
            current=served.current.number,
            previous=None if served.previous is None else served.previous.number,
            index_config=IndexConfigResponse.model_validate(request.index_config(active_config)),
            records={topic: sum(partitions.values()) for topic, partitions in sorted(ends.items())},
            documents=sum(store.documents.count_by_incarnation(incarnations).values()),
            chunks=sum(store.chunks.count_by_incarnation(incarnations).values()),
            memories=sum(store.memories.count_by_incarnation(incarnations).values()),
            bytes=await self._generations.size(served.current),
        )

    def start(self, request: ReplayRequest) -> None:
        """Start a replay; ReplayError if one is running."""
        self._start_task(lambda lease: self._replay(request, lease))

    def roll_back(self) -> None:
        """Start the switch back to the previous generation; ReplayError if a replay is running."""
        self._start_task(self._roll_back)

    async def clean_up(self) -> list[int]:
        """Remove the previous generation and unfinished ones; returns their numbers."""
        self._ensure_idle()
        async with self._replay_lock():
            served = await self._generations.read_active()
            if served.previous is None:
                return await self._remove_unused_generations()
            previous = served.previous.number
            await self._generations.activate(served.current, None)
            if self._supervisor.resources.is_multi_process:
                # Other processes may still answer requests from these tables.
                await asyncio.sleep(RETIREMENT_GRACE_SECONDS)
            return sorted({previous, *await self._remove_unused_generations()})

    async def cancel(self) -> None:
        """Cancel the running replay, here or in another process; the served generation stays as it is."""
        if self._task is None or self._task.done():
            running = await self.latest_progress()
            if running.state == "running":
                await self._generations.write_note(REPLAY_CANCELLATION, running.replay_id)
            return
        await self.stop()

    async def stop(self) -> None:
        task = self._task
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait([task])
            if self._progress.state == "running":
                # Cancelled before its first step, so the task reported nothing.
                self._progress.finish("cancelled", self._now())

    async def wait_finished(self) -> ReplayProgress:
        if self._task is not None:
            await asyncio.wait([self._task])
        return self._progress

    @property
    def _generations(self) -> GenerationRegistry:
        return self._supervisor.resources.generations

    def _ensure_idle(self) -> None:
        if self._task is not None and not self._task.done():
            raise ReplayError("A replay is running. Wait for it, or cancel it.")

    def _start_task(self, work: Callable[[Lease], Awaitable[None]]) -> None:
        async def run_locked() -> None:
            async with self._replay_lock() as lease:
                await self._run_and_clean_up(work, lease)

        self._ensure_idle()
        self._progress = ReplayProgress(state="running", started_at=self._now())
        self._run_in_task(run_locked)

    def _run_in_task(self, work: Callable[[], Awaitable[None]]) -> None:
        self._task = asyncio.create_task(run_in_background_lane(lambda: self._run_with_reporting(work)))

    async def _run_and_clean_up(self, work: Callable[[Lease], Awaitable[None]], lease: Lease) -> None:
        try:
            await work(lease)
        finally:
            await self._remove_unused_generations()

    async def _run_with_reporting(self, work: Callable[[], Awaitable[None]]) -> None:
        if await self._is_elsewhere():
            self._progress.finish("failed", self._now(), ELSEWHERE)
            return
        async with self._progress_reporting():
            await self._run_and_record(work)

    async def _run_and_record(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except asyncio.CancelledError:
            self._progress.finish("cancelled", self._now())
            raise
        except Exception as error:
            log.exception("The replay has failed; the served tables are unchanged.")
            self._progress.finish("failed", self._now(), str(error) or type(error).__name__)
        else:
            self._progress.finish("done", self._now())

    @asynccontextmanager
    async def _replay_lock(self) -> AsyncIterator[Lease]:
        """Lock against other replays and clean-ups in all processes; ReplayError if it is taken."""
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(LOCK_TIMEOUT_SECONDS):
                    lease = await stack.enter_async_context(self._supervisor.resources.locks.acquire("replay"))
            except TimeoutError as error:
                raise ReplayError(ELSEWHERE) from error
            yield lease

    @asynccontextmanager
    async def _progress_reporting(self) -> AsyncIterator[None]:
        """Report progress to other processes, if there can be others."""
        if not self._supervisor.resources.is_multi_process:
            yield
            return
        reporting = asyncio.create_task(self._report_periodically())
        try:
            yield
        finally:
            reporting.cancel()
            await asyncio.wait([reporting])
            with suppress(OutageError):
                await self._report()

    async def _report_periodically(self) -> None:
        while True:
            try:
                await self._report()
                cancelled = await self._generations.read_note(REPLAY_CANCELLATION)
            except OutageError as error:
                log.info("Can't report the progress of the replay: %s", error)
            else:
                if cancelled == self._progress.replay_id and self._task is not None:
                    self._task.cancel()
                    return
            await asyncio.sleep(REPORT_INTERVAL_SECONDS)

    async def _report(self) -> None:
        self._progress.reported_at = self._now()
        await self._generations.write_note(REPLAY_REPORT, self._progress.to_bytes())

    async def _remove_unused_generations(self) -> list[int]:
        """Remove unused tables and the consumer groups that filled them; returns their numbers."""
        if self._supervisor.resources.is_multi_process:
            # No process may go on with a replay whose tables are removed.
            await self._generations.write_note(REPLAY_WORK, b"")
        removed = await self._generations.delete_unreferenced()
        if self._supervisor.resources.is_multi_process:
            for number in removed:
                await self._delete_consumer_groups(number)
        return removed

    async def _delete_consumer_groups(self, number: int) -> None:
        for stage in self._supervisor.pipeline.stages:
            try:
                await self._supervisor.resources.bus.delete_group(consumer_group(stage.name, number))
            except ValueError as error:
                log.warning("%s: the consumer group of removed generation %d stays.", error, number)

    async def _replay(self, request: ReplayRequest, lease: Lease) -> None:
        served = await self._generations.read_active()
        active_config = self._supervisor.resources.index_config(served.current)
        request.validate(active_config)
        config = request.index_config(active_config)
        generation = await self._generations.allocate(config, self._now())
        self._progress.generation = generation.number
        offsets = await self._start_offsets(request)
        work = None
        if self._supervisor.resources.is_multi_process:
            work = await self._plan_work(request, generation, offsets)
            await self._fill_in_divisions(work)
        await self._build_and_switch(
            generation,
            offsets,
            lease,
            fresh=True,
            same_config=config == active_config,
            force=request.force,
            request=request,
            work=work,
        )

    async def _resume(self, work: ReplayWork, lease: Lease) -> None:
        """Go on where another process died: with the divisions that are not filled, or from the start."""
        served = await self._generations.read_active()
        if served.current.number == work.generation.number:
            return  # it died after the switch
        resources = self._supervisor.resources
        reports = await DividedFill(self._supervisor, work).reports()
        if sum(report.is_filled for report in reports) == work.divisions:
            # It may have begun with what follows, and written documents without their chunks.
            self._progress.started_at = self._now()
            await self._replay(work.request, lease)
            return
        self._progress.total = sum(sum(partitions.values()) for partitions in work.ends.values())
        await self._fill_in_divisions(work)
        await self._build_and_switch(
            work.generation,
            work.starts,
            lease,
            fresh=False,
            same_config=resources.index_config(work.generation) == resources.index_config(served.current),
            force=work.request.force,
            request=work.request,
            work=work,
        )

    async def _start_offsets(self, request: ReplayRequest) -> TopicOffsets:
        """Return where to start reading each topic: copied rows hold the effects of earlier records."""
        if not request.copies_documents:
            return {}
        # Read before the copy starts. Texts are read from the start: their documents tell which are embedded.
        durable = await durable_offsets(self._supervisor.pipeline)
        topics = [DOCUMENTS_SUBMITTED.name]
        if request.stage is not None:
            topics += [MEMORIES_FORMED.name, MEMORIES_FORGOTTEN.name]
        return {topic: durable[topic] for topic in topics}

    async def _roll_back(self, lease: Lease) -> None:
        served = await self._generations.read_active()
        if served.previous is None:
            raise ReplayError("There is no previous generation to go back to.")
        self._progress.generation = served.previous.number
        # Texts are read from the start: some were split but not embedded when the generation was replaced.
        offsets = {topic: read for topic, read in served.previous.offsets.items() if topic != DOCUMENTS_EXTRACTED.name}
        # The served tables have newer rows, so there is nothing to compare with.
        generation = served.previous.model_copy(update={"rollbacks": served.previous.rollbacks + 1})
        await self._build_and_switch(generation, offsets, lease, fresh=False, same_config=False, force=True)

    async def _build_and_switch(
        self,
        generation: Generation,
        offsets: TopicOffsets,
        lease: Lease,
        *,
        fresh: bool,
        same_config: bool,
        force: bool,
        request: ReplayRequest | None = None,
        work: ReplayWork | None = None,
    ) -> None:
        """Fill a generation, or read what came after the work of its divisions, and switch to it."""
        shared = self._supervisor.resources.is_multi_process
        pipeline = await open_pipeline(self._supervisor.resources, generation, bulk_load=shared)
        rebuild = self._rebuild_after(work, request, pipeline, offsets, fresh=fresh)
        switchover_class = MultiProcessReplaySwitchover if shared else ReplaySwitchover
        switchover = switchover_class(
            self._supervisor, pipeline, rebuild, self._progress, lease, same_config=same_config, force=force
        )
        try:
            await switchover.begin()
            if work is not None:
                await self._project_undivided_memories(rebuild, work)
            await self._read_until_tail(rebuild)
            if self._progress.read >= COMPACT_FROM_RECORDS:
                self._progress.step = "compacting"
                await pipeline.store.maintain()
            self._progress.step = "switching"
            await self._supervisor.switch(switchover)
        except BaseException:
            await switchover.abort()
            raise

    def _rebuild_after(
        self,
        work: ReplayWork | None,
        request: ReplayRequest | None,
        pipeline: Pipeline,
        offsets: TopicOffsets,
        *,
        fresh: bool,
    ) -> GenerationRebuild:
        """Return the rebuild of what is left: everything, or what came after the work of the divisions."""
        if work is not None:
            return GenerationRebuild(pipeline, work.ends, fresh=False, report_progress=self._progress.advance)
        copy = GenerationCopy.of_request(request, self._supervisor.pipeline.store, pipeline.embedder)
        return GenerationRebuild(
            pipeline,
            offsets,
            # Copied memories have source documents that this rebuild does not read.
            fresh=fresh and not (copy is not None and copy.include_memories),
            report_progress=self._progress.advance,
            copy=copy,
        )

    async def _fill_in_divisions(self, work: ReplayWork) -> None:
        """Fill the tables together with every process that runs stages; all divisions are filled on return.

        The work stays published until the replay ends, so that another process can go on with it.
        """
        notes = self._generations
        fill = DividedFill(self._supervisor, work)
        # Made here, so that processes which open the tables at the same time find them all.
        await (await open_pipeline(self._supervisor.resources, work.generation, bulk_load=True)).close()
        await notes.write_note(REPLAY_WORK, work.model_dump_json().encode())
        watching = asyncio.create_task(self._watch_divisions(fill, work.divisions))
        try:
            await fill.run()
        except BaseException:
            await notes.write_note(REPLAY_WORK, b"")
            await fill.wait_until_released(LOCK_TIMEOUT_SECONDS)
            raise
        finally:
            watching.cancel()
            await asyncio.wait([watching])
        self._progress.read = sum(report.read for report in await fill.reports())

    async def _plan_work(self, request: ReplayRequest, generation: Generation, starts: TopicOffsets) -> ReplayWork:
        bus, config = self._supervisor.resources.bus, self._supervisor.resources.index_config(generation)
        ends: TopicOffsets = {topic.name: dict(await bus.end_offsets(topic.name)) for topic in TOPICS_EFFECTS_FIRST}
        divisions = count_divisions(ends, TOPICS_EFFECTS_FIRST, config.shards)
        self._progress.total = sum(sum(partitions.values()) for partitions in ends.values())
        if request.stage is not None:
            # Divisions only copy: a deletion concerns memories of all divisions that a namespace lies in.
            ends = {topic.name: starts.get(topic.name, {}) for topic in TOPICS_EFFECTS_FIRST}
        joined = self._supervisor.pipeline.store.catalog.joined_incarnations()
        return ReplayWork(
            replay_id=self._progress.replay_id.decode(),
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
                self._progress.read = sum(report.read for report in reports)
                self._progress.step = f"filled {sum(report.is_filled for report in reports)} of {count} divisions"
            await asyncio.sleep(REPORT_INTERVAL_SECONDS)

    async def _project_undivided_memories(self, rebuild: GenerationRebuild, work: ReplayWork) -> None:
        """Project memories of namespaces that lie in several divisions now, or did when the work was planned."""
        joined = self._supervisor.pipeline.store.catalog.joined_incarnations()
        moved = incarnations_across_divisions(joined, work.divisions)
        if undivided := work.undivided | moved:
            await rebuild.replay_memories_of(undivided, work.starts, work.ends)

    async def _read_until_tail(self, rebuild: GenerationRebuild) -> None:
        """Read the log repeatedly, until the remaining tail is short enough for a quick switch."""
        self._progress.total = self._progress.read + rebuild.reader.remaining(await rebuild.log_ends())
        for _ in range(MAX_CATCH_UP_ROUNDS):
            await rebuild.advance(self._supervisor.pipeline.store.documents)
            remaining = rebuild.reader.remaining(await rebuild.log_ends())
            self._progress.total = self._progress.read + remaining
            if remaining <= MAX_TAIL_RECORDS:
                return

    def _now(self) -> datetime:
        return self._supervisor.resources.clock.now()
