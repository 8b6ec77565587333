"""A replay while no service runs: the command opens the log and the tables itself."""

import asyncio
from functools import partial

from pydantic import ValidationError

from app.cli.conventions import error_exit
from app.cli.remote_service import JsonObject
from app.cli.replay_output import ReplayAction, emit_plan, emit_removed, watch_progress
from app.pipeline_supervisor import open_supervisor
from app.replay.replay_service import ReplayService
from pipeline.settings import Settings
from pipeline.store.generations.replay_request import ReplayRequest
from schemas.http.extensions.replay_bodies import ReplayBody, ReplayPlanResponse, ReplayProgressResponse


async def replay_offline(settings: Settings, action: ReplayAction, body: JsonObject, *, as_json: bool) -> None:
    """Carry out an action of `recollect replay` in this process; there is nothing to cancel here."""
    try:
        request = ReplayRequest(**dict(ReplayBody.model_validate(body)))
    except ValidationError as error:
        raise error_exit("; ".join(f"{issue['loc'][0]}: {issue['msg']}" for issue in error.errors())) from error
    async with open_supervisor(settings, runs_stages=False, serves_requests=False) as supervisor:
        replays = ReplayService(supervisor)
        if action == "plan":
            plan = ReplayPlanResponse.model_validate(await replays.plan(request)).model_dump(by_alias=True, mode="json")
            emit_plan(plan, as_json=as_json)
        elif action == "clean-up":
            emit_removed(await replays.clean_up(), as_json=as_json)
        else:
            running = asyncio.create_task(supervisor.run())
            if action == "rollback":
                replays.roll_back()
            else:
                replays.start(request)
            try:
                await watch_progress(partial(_shown_progress, replays), as_json=as_json)
            finally:
                await replays.stop()
                running.cancel()
                await asyncio.wait([running])


def _shown_progress(replays: ReplayService) -> JsonObject:
    return ReplayProgressResponse.model_validate(replays.progress).model_dump(by_alias=True, mode="json")
