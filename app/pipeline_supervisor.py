"""The active pipeline, and the switchover to another one while requests continue."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from app.generation_pipeline import Pipeline
from app.handled_submissions import verify_last_run, verify_tables_cover_log
from app.pipeline_factory import open_pipeline
from app.resources import Resources, index_config_from_settings, open_resources
from pipeline.errors import FollowerClosedError, OutageError
from pipeline.runtime.fair_event_loop import run_in_background_lane
from pipeline.runtime.read_barrier import Coalescer
from pipeline.settings import Settings
from pipeline.store.log_consistency import verify_log_covers_tables

log = logging.getLogger(__name__)

_SHUTTING_DOWN_MESSAGE = "This process is shutting down."
POINTER_POLL_SECONDS = 1.0
"""Interval of reading which generation is active."""
RETIREMENT_GRACE_SECONDS = 3.0
"""Accepted records are applied to the old tables too for so long after a switch: other processes may serve them."""
ActivateRequestState = Callable[[], None]
PrepareRequestState = Callable[[Pipeline], Awaitable[ActivateRequestState]]
"""Builds the request state of a pipeline; the returned function activates it in one step."""


class Switchover(Protocol):
    """The change to a successor pipeline (blue-green)."""

    async def prepare(self) -> Pipeline:
        """Return the successor, which has read the log to its end; called while no stage runs."""

    async def commit(self) -> None:
        """Make the successor the active generation; on disk on return."""


@dataclass(frozen=True, slots=True, eq=False)
class _PendingSwitch:
    switchover: Switchover
    completed: asyncio.Future[Pipeline]


@dataclass(eq=False)
class PipelineSupervisor:
    """Runs the pipeline of one process and switches to another; a request sees one or the other."""

    resources: Resources
    pipeline: Pipeline
    runs_stages: bool = True
    """True if this process runs the stages; an API-only process leaves them to others."""
    serves_requests: bool = True
    """True if requests are answered from the tables, which then must show acknowledged records."""
    _pending_switches: asyncio.Queue[_PendingSwitch] = field(default_factory=asyncio.Queue)
    _switch_listeners: list[PrepareRequestState] = field(default_factory=list)
    _follow_task: asyncio.Task[None] | None = None
    _has_ended: bool = False
    """True once `run` has ended: nothing switches any more."""

    def __post_init__(self) -> None:
        self._install_publish_hook(self.pipeline)

    def add_switch_listener(self, listener: PrepareRequestState) -> None:
        """Prepare request state with `listener` at every switch."""
        self._switch_listeners.append(listener)

    async def switch(self, switchover: Switchover) -> Pipeline:
        """Switch over; returns the retired pipeline. A failure before the commit keeps the current one.

        Raises OutageError when this process is shutting down.
        """
        if self._has_ended:
            raise OutageError(_SHUTTING_DOWN_MESSAGE)
        pending = _PendingSwitch(switchover, asyncio.get_running_loop().create_future())
        await self._pending_switches.put(pending)
        try:
            return await asyncio.shield(pending.completed)
        except asyncio.CancelledError:
            # A switch in progress always completes.
            await asyncio.wait([pending.completed])
            raise

    async def ensure_current_generation(self) -> None:
        """Return once this process serves the active generation; OutageError if it cannot."""
        while (await self.resources.generations.read_active()).current.number != self.pipeline.generation.number:
            if self._follow_task is None:
                self._follow_task = asyncio.create_task(self._switch_to_active_generation())
                self._follow_task.add_done_callback(self._on_follow_done)
            # Shared by all waiters: cancelling one must not cancel the task.
            following = self._follow_task
            await asyncio.wait([following])
            if following.cancelled():
                raise OutageError(_SHUTTING_DOWN_MESSAGE)
            if (error := following.exception()) is not None:
                raise OutageError(
                    f"The active table generation changed and this process cannot open it: {error}"
                ) from error

    async def run(self) -> None:
        """Run until cancelled; an unexpected error of any part propagates."""
        self._has_ended = False
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(run_in_background_lane(self._run_tables))
                if self.resources.is_multi_process:
                    tasks.create_task(self._poll_active_generation())
                while True:
                    pending = await self._run_until_switch(tasks)
                    before = self.pipeline
                    await self._handle_switch(pending)
                    if self.pipeline is not before:
                        tasks.create_task(run_in_background_lane(self._run_tables))
                        if self.resources.is_multi_process:
                            tasks.create_task(self._close_retired(before, self.pipeline))
        finally:
            self._has_ended = True
            while not self._pending_switches.empty():
                self._pending_switches.get_nowait().completed.cancel()

    async def _run_tables(self) -> None:
        await self.pipeline.run_tables(serves_requests=self.serves_requests)

    async def drain(self, seconds: float) -> None:
        """Wait for batches in progress to be committed, at most `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                await self.resources.bus.drain()
        except TimeoutError:
            log.warning("A batch takes longer than %.0f s and is processed again after the next start.", seconds)

    async def _poll_active_generation(self) -> None:
        progress = self.resources.metrics.readiness
        while True:
            await asyncio.sleep(POINTER_POLL_SECONDS)
            try:
                await self.ensure_current_generation()
            except OutageError as error:
                if progress.stale_generation != str(error):
                    log.warning("%s", error)
                progress.stale_generation = str(error)
            else:
                progress.stale_generation = None

    async def _switch_to_active_generation(self) -> None:
        switchover = _FollowSwitchover(self)
        try:
            await self.switch(switchover)
        except BaseException:
            await switchover.abort()
            raise

    def _on_follow_done(self, _: asyncio.Task[None]) -> None:
        self._follow_task = None

    def _install_publish_hook(self, pipeline: Pipeline) -> None:
        """Make published records visible to the process that answers the next request.

        The hook runs when the records are in the log. If the active generation changed, this process switches
        to it, and so applies the log, before the request is answered; a process that switches later reads them
        from the log.
        """
        shared = self.resources.is_multi_process and self.serves_requests
        pipeline.publisher.set_after_publish(self.ensure_current_generation if shared else None)

    async def _close_retired(self, retired: Pipeline, successor: Pipeline) -> None:
        """Close the retired pipeline once no process serves its tables."""
        try:
            await asyncio.sleep(RETIREMENT_GRACE_SECONDS)
        finally:
            if self.pipeline is successor:
                self._install_publish_hook(successor)
            await retired.close()

    async def _run_until_switch(self, tasks: asyncio.TaskGroup) -> _PendingSwitch:
        """Run the stages until a switch is requested; they have stopped on return."""
        working = tasks.create_task(
            run_in_background_lane(self.pipeline.run_stages) if self.runs_stages else _idle_forever()
        )
        pending: _PendingSwitch | None = None
        try:
            pending = await self._pending_switches.get()
        finally:
            working.cancel()
            try:
                await asyncio.wait([working])
            except asyncio.CancelledError:
                if pending is not None:  # it is in no queue any more, and nobody else would end it
                    pending.completed.cancel()
                raise
        return pending

    async def _handle_switch(self, pending: _PendingSwitch) -> None:
        before = self.pipeline
        try:
            successor = await self._execute_switchover(pending.switchover)
        except Exception as error:  # the caller gets it, and the old pipeline goes on
            log.exception("The switch to another generation failed; the current one stays active.")
            self._install_publish_hook(before)
            if not pending.completed.done():
                pending.completed.set_exception(error)
            return
        except BaseException:
            pending.completed.cancel()
            raise
        if successor is before:
            pending.completed.set_result(before)
            return
        self.pipeline = successor
        # Requests in progress finish on the old tables; the new tables must show what they publish.
        if self.resources.is_multi_process and self.serves_requests:
            successor.publisher.set_after_publish(self._show_on_both_pipelines(before))
        elif not self.resources.is_multi_process:
            await before.close()
        if not pending.completed.done():
            pending.completed.set_result(before)

    def _show_on_both_pipelines(self, retired: Pipeline) -> Callable[[], Awaitable[None]]:
        show_on_retired = Coalescer(partial(_show_until_closed, retired))

        async def show() -> None:
            await asyncio.gather(self.ensure_current_generation(), show_on_retired())

        return show

    async def _execute_switchover(self, switchover: Switchover) -> Pipeline:
        successor = await switchover.prepare()
        if successor is self.pipeline:
            return successor
        show = Coalescer(partial(_show_until_closed, successor))
        if self.serves_requests:
            self.pipeline.publisher.set_after_publish(show)
            await show()
        activations = [await prepare(successor) for prepare in self._switch_listeners]
        await switchover.commit()
        if self.serves_requests and self.resources.is_multi_process:
            # Apply records that others published before they saw the new pointer.
            await show()
        for activate in activations:
            activate()
        return successor


@dataclass(slots=True, eq=False)
class _FollowSwitchover:
    supervisor: PipelineSupervisor
    opened: Pipeline | None = None

    async def prepare(self) -> Pipeline:
        resources = self.supervisor.resources
        active = await resources.generations.read_active()
        if active.current.number == self.supervisor.pipeline.generation.number:
            return self.supervisor.pipeline
        self.opened = await open_pipeline(resources, active.current)
        log.info("Generation %d is served from now on.", active.current.number)
        return self.opened

    async def commit(self) -> None:
        """Do nothing: the other process has committed."""

    async def abort(self) -> None:
        """Close the opened pipeline unless it became the active one."""
        if self.opened is not None and self.opened is not self.supervisor.pipeline:
            await self.opened.close()


@asynccontextmanager
async def open_supervisor(
    settings: Settings, *, runs_stages: bool = True, serves_requests: bool = True
) -> AsyncIterator[PipelineSupervisor]:
    """Open everything, nothing running yet; closed in reverse order, the log last.

    `serves_requests=False`: the tables answer no requests, so the log is not applied at the start.

    Raises:
        DataDirectoryLockedError, StoreMismatchError, ValueError: with a message for the operator.
    """
    # A replay by the command takes the log as it is.
    async with open_resources(settings, accepts_log=not (runs_stages or serves_requests)) as resources:
        if not resources.is_multi_process:
            # With shared tables another process may be building a generation.
            await _remove_unfinished_generations(resources)
        active = await resources.generations.read_active()
        built_with, configured = resources.index_config(active.current), index_config_from_settings(settings)
        if built_with.model_copy(update={"embedder_base_url": configured.embedder_base_url}) != configured:
            log.warning(
                "The tables were made with %s, the settings ask for %s: `recollect replay` makes new ones.",
                built_with, configured,
            )  # fmt: skip
        supervisor = PipelineSupervisor(
            resources, await open_pipeline(resources, active.current), runs_stages, serves_requests
        )
        try:
            if runs_stages or serves_requests:
                await verify_log_covers_tables(resources.bus, supervisor.pipeline.store)
                await verify_tables_cover_log(supervisor.pipeline)
                await asyncio.to_thread(verify_last_run, supervisor.pipeline)
            if serves_requests:
                await supervisor.pipeline.catch_up()
            yield supervisor
        finally:
            await supervisor.pipeline.close()


async def _remove_unfinished_generations(resources: Resources) -> None:
    """Delete tables of interrupted replays; the log has all of their content."""
    for number in await resources.generations.delete_unreferenced():
        log.info("Removed generation g%d of an unfinished replay.", number)


async def _show_until_closed(pipeline: Pipeline) -> None:
    """Show acknowledged records in a pipeline's tables, unless it was retired and closed: nobody reads them then."""
    with suppress(FollowerClosedError):
        await pipeline.apply_optimistically()


async def _idle_forever() -> None:
    """Wait until cancelled."""
    await asyncio.get_running_loop().create_future()
