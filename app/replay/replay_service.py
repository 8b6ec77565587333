"""Replays on request of an operator, one at a time among all processes, beside the serving pipeline."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import datetime

from app.pipeline_supervisor import RETIREMENT_GRACE_SECONDS, PipelineSupervisor
from app.replay.division import ReplayWork
from app.replay.generation_rebuild import TOPICS_EFFECTS_FIRST
from app.replay.replay_reports import ReplayReports
from app.replay.replay_run import ReplayRun
from pipeline.errors import reason_of
from pipeline.ports import Lease
from pipeline.runtime.fair_event_loop import run_in_background_lane
from pipeline.stage import consumer_group
from pipeline.store.generations.generation_registry import REPLAY_WORK, GenerationRegistry
from pipeline.store.generations.replay_request import ReplayError, ReplayProgress, ReplayRequest, ReplayState
from schemas.http.extensions.replay_bodies import IndexConfigResponse, ReplayPlanResponse

log = logging.getLogger(__name__)

LOCK_TIMEOUT_SECONDS = 20.0
"""Wait for the replay lock: longer than the lease of a process that died."""
ELSEWHERE = "A replay is running in another process. Wait for it, or cancel it."


class ReplayService:
    """Starts, reports and cancels replays; `start` returns at once."""

    def __init__(self, supervisor: PipelineSupervisor) -> None:
        self._supervisor = supervisor
        self._reports = ReplayReports(supervisor.resources)
        self._task: asyncio.Task[None] | None = None

    @property
    def progress(self) -> ReplayProgress:
        return self._reports.progress

    async def latest_progress(self) -> ReplayProgress:
        """Return the progress of the running or last replay of any process."""
        return await self._reports.latest()

    async def is_abandoned(self, work: ReplayWork) -> bool:
        """Return whether the process that replays this work does not report; whoever gets its lock may go on."""
        return await self._reports.is_abandoned(work.replay_id)

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
                self._reports.progress = ReplayProgress(
                    state="running", started_at=started_at, generation=work.generation.number
                )
                self._run_in_task(lambda: self._run_and_clean_up(lambda run: run.resume(work), lease))
                try:
                    await self.wait_finished()
                finally:
                    await self.stop()

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
        self._start_task(lambda run: run.replay(request))

    def roll_back(self) -> None:
        """Start the switch back to the previous generation; ReplayError if a replay is running."""
        self._start_task(ReplayRun.roll_back)

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
                await self._reports.request_cancellation(running)
            return
        await self.stop()

    async def stop(self) -> None:
        task = self._task
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait([task])
            if self.progress.state == "running":
                # Cancelled before its first step, so the task reported nothing.
                self._finish("cancelled")

    async def wait_finished(self) -> ReplayProgress:
        if self._task is not None:
            await asyncio.wait([self._task])
        return self.progress

    @property
    def _generations(self) -> GenerationRegistry:
        return self._supervisor.resources.generations

    def _ensure_idle(self) -> None:
        if self._task is not None and not self._task.done():
            raise ReplayError("A replay is running. Wait for it, or cancel it.")

    def _start_task(self, work: Callable[[ReplayRun], Awaitable[None]]) -> None:
        async def run_locked() -> None:
            async with self._replay_lock() as lease:
                await self._run_and_clean_up(work, lease)

        self._ensure_idle()
        self._reports.progress = ReplayProgress(state="running", started_at=self._reports.now())
        self._run_in_task(run_locked)

    def _run_in_task(self, work: Callable[[], Awaitable[None]]) -> None:
        self._task = asyncio.create_task(run_in_background_lane(lambda: self._run_with_reporting(work)))

    async def _run_and_clean_up(self, work: Callable[[ReplayRun], Awaitable[None]], lease: Lease) -> None:
        try:
            await work(ReplayRun(self._supervisor, self.progress, lease))
        finally:
            await self._remove_unused_generations()

    async def _run_with_reporting(self, work: Callable[[], Awaitable[None]]) -> None:
        if await self._reports.is_elsewhere():
            self._finish("failed", ELSEWHERE)
            return
        async with self._reports.reporting(self._cancel_task):
            await self._run_and_record(work)

    def _cancel_task(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _finish(self, state: ReplayState, error: str | None = None) -> None:
        self.progress.finish(state, self._reports.now(), error)

    async def _run_and_record(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except asyncio.CancelledError:
            self._finish("cancelled")
            raise
        except Exception as error:
            log.exception("The replay has failed; the served tables are unchanged.")
            self._finish("failed", reason_of(error))
        else:
            self._finish("done")

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
