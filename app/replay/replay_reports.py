"""Progress of a replay as processes tell one another: the running one reports, all read, any may cancel."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta

from app.resources import Resources
from pipeline.errors import OutageError
from pipeline.store.generations.generation_registry import REPLAY_CANCELLATION, REPLAY_REPORT
from pipeline.store.generations.replay_request import ReplayProgress

log = logging.getLogger(__name__)

REPORT_INTERVAL_SECONDS = 1.0
HEARTBEAT_TIMEOUT = timedelta(seconds=60)
"""Silence after which a replay in another process counts as failed."""
SUCCESSION_SILENCE = timedelta(seconds=5)
"""Silence after which another process goes on with a replay, if it gets the lock."""


class ReplayReports:
    """Progress of the replay of this process, and reports of others. A single process has only its own."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._notes = resources.generations
        self.progress = ReplayProgress()
        """Progress of this process's running or last replay."""

    def now(self) -> datetime:
        return self._resources.clock.now()

    async def latest(self) -> ReplayProgress:
        """Return the progress of the running or last replay of any process."""
        if not self._resources.is_multi_process:
            return self.progress
        reported = await self._reported()
        if not reported.started_after(self.progress):
            return self.progress
        if self._is_silent(reported, HEARTBEAT_TIMEOUT):
            reported.finish("failed", self.now(), "The replaying process stopped reporting its progress.")
        return reported

    async def is_abandoned(self, replay_id: str) -> bool:
        """Return whether the process of this replay does not report; whoever gets its lock may go on."""
        reported = await self._reported()
        return reported.replay_id.decode() == replay_id and self._is_silent(reported, SUCCESSION_SILENCE)

    async def is_elsewhere(self) -> bool:
        """Return whether another process reports another replay, whose reports this process must not replace."""
        if not self._resources.is_multi_process:
            return False
        reported = await self._reported()
        is_alive = reported.state == "running" and not self._is_silent(reported, SUCCESSION_SILENCE)
        return is_alive and reported.replay_id != self.progress.replay_id

    async def request_cancellation(self, running: ReplayProgress) -> None:
        """Ask the process of a running replay to cancel it."""
        await self._notes.write_note(REPLAY_CANCELLATION, running.replay_id)

    @asynccontextmanager
    async def reporting(self, cancel: Callable[[], object]) -> AsyncIterator[None]:
        """Report progress to other processes, if there can be others; call `cancel` when one of them asks for it."""
        if not self._resources.is_multi_process:
            yield
            return
        reporting = asyncio.create_task(self._report_periodically(cancel))
        try:
            yield
        finally:
            reporting.cancel()
            await asyncio.wait([reporting])
            with suppress(OutageError):
                await self._report()

    async def _report_periodically(self, cancel: Callable[[], object]) -> None:
        while True:
            try:
                await self._report()
                cancelled = await self._notes.read_note(REPLAY_CANCELLATION)
            except OutageError as error:
                log.info("Can't report the progress of the replay: %s", error)
            else:
                if cancelled == self.progress.replay_id:
                    cancel()
                    return
            await asyncio.sleep(REPORT_INTERVAL_SECONDS)

    async def _report(self) -> None:
        self.progress.reported_at = self.now()
        await self._notes.write_note(REPLAY_REPORT, self.progress.to_bytes())

    async def _reported(self) -> ReplayProgress:
        value = await self._notes.read_note(REPLAY_REPORT)
        return ReplayProgress() if value is None else ReplayProgress.from_bytes(value)

    def _is_silent(self, reported: ReplayProgress, silence: timedelta) -> bool:
        at = reported.reported_at
        return reported.state == "running" and at is not None and self.now() - at > silence
