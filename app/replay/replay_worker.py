"""Participation in replays that other processes started, and takeover from a starter that died."""

import asyncio
import logging

from app.pipeline_supervisor import PipelineSupervisor
from app.replay.divided_fill import DividedFill
from app.replay.division import ReplayWork
from app.replay.replay_service import ReplayService
from pipeline.errors import LockLostError, OutageError
from pipeline.store.generations.generation_registry import REPLAY_WORK
from pipeline.store.generations.replay_request import ReplayError

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0


class ReplayWorker:
    """Finds a replay that another process started, fills divisions of it, and continues it if that process died."""

    def __init__(self, supervisor: PipelineSupervisor, replays: ReplayService) -> None:
        self._supervisor = supervisor
        self._replays = replays
        self._left_replay = ""
        self._issue = ""

    async def run(self) -> None:
        """Run until cancelled; nothing that goes wrong in a replay ends the process."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            try:
                await self.help_once()
            except (OutageError, LockLostError) as error:
                log.info("Can't take part in a replay now: %s", error)
            except (ReplayError, ValueError) as error:
                # ValueError: work or progress as another version of this program writes it.
                if self._issue != str(error):
                    log.warning("Leaving a replay to other processes: %s", error)
                self._issue = str(error)

    async def help_once(self) -> None:
        """Fill divisions of a running replay, or continue one whose starter died."""
        value = await self._supervisor.resources.generations.read_note(REPLAY_WORK)
        if not value or self._replays.progress.state == "running":
            return
        work = ReplayWork.model_validate_json(value)
        if await self._replays.is_abandoned(work):
            await self._replays.take_over(work)
        elif work.replay_id != self._left_replay and await self._is_running(work):
            await self._take_part(work)

    async def _is_running(self, work: ReplayWork) -> bool:
        value = await self._supervisor.resources.generations.read_note(REPLAY_WORK)
        if not value or ReplayWork.model_validate_json(value).replay_id != work.replay_id:
            return False
        progress = await self._replays.latest_progress()
        return progress.state == "running" and progress.replay_id.decode() == work.replay_id

    async def _take_part(self, work: ReplayWork) -> None:
        """Fill divisions until all are filled or the replay ends; after an error leave them to other processes."""
        # Rows are copied from the served tables, so these have to be the same here.
        await self._supervisor.ensure_current_generation()
        log.info("Taking part in the replay into generation %d.", work.generation.number)
        filling = asyncio.create_task(DividedFill(self._supervisor, work).run())
        try:
            while not filling.done() and await self._is_running(work):
                await asyncio.wait([filling], timeout=POLL_SECONDS)
        finally:
            filling.cancel()
            await asyncio.wait([filling])
        if filling.cancelled():
            return
        error = filling.exception()
        if isinstance(error, OutageError | LockLostError):
            raise error
        self._left_replay = work.replay_id
        if error is not None:
            log.error("Leaving the replay into generation %d to others.", work.generation.number, exc_info=error)
