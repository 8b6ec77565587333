"""Replays, for operators. Outside the contract."""

from fastapi import APIRouter

from api.auth import Admin
from api.contract import ContractRoute, failures
from api.ports import Replays
from api.problems import ConflictError, UnavailableError
from api.queries import replay
from api.state import State
from pipeline.replay.order import ReplayError
from schemas.http.replay import CleanedAnswer, ReplayAnswer, ReplayBody, ReplayPlan

router = APIRouter(route_class=ContractRoute, prefix="/admin/replay", tags=["Administration"])
_FAILURES = failures(400, 401, 403, 409, 500, 503)


@router.get("", operation_id="getAdminReplay", responses=failures(400, 401, 403, 500, 503))
async def progress(entry: Admin) -> ReplayAnswer:
    """How the replay goes that runs, or ran last."""
    return replay.shown(await _replays(entry.state).look())


@router.post("", operation_id="postAdminReplay", status_code=202, responses=_FAILURES)
async def start(entry: Admin, body: ReplayBody) -> ReplayAnswer:
    """Make the tables again from the log, beside those that are served, and switch to them."""
    entry.note(**body.model_dump(exclude_none=True, exclude={"embedder_base_url"}, by_alias=True))
    replays = _replays(entry.state)
    try:
        replays.start(replay.ordered(body))
    except ReplayError as error:
        raise ConflictError("No replay was started", str(error)) from error
    return replay.shown(replays.progress)


@router.post("/plan", operation_id="postAdminReplayPlan", responses=_FAILURES)
async def plan(entry: Admin, body: ReplayBody) -> ReplayPlan:
    """What a replay would read and write; nothing is changed."""
    try:
        return replay.planned(await _replays(entry.state).plan(replay.ordered(body)))
    except ReplayError as error:
        raise ConflictError("This can't be replayed", str(error)) from error


@router.delete("", operation_id="deleteAdminReplay", responses=failures(400, 401, 403, 500, 503))
async def cancel(entry: Admin) -> ReplayAnswer:
    """End the replay that runs; what is served stays as it is."""
    replays = _replays(entry.state)
    await replays.cancel()
    return replay.shown(await replays.look())


@router.post("/rollback", operation_id="postAdminReplayRollback", status_code=202, responses=_FAILURES)
async def roll_back(entry: Admin) -> ReplayAnswer:
    """Serve the previous tables again, with what came in meanwhile."""
    replays = _replays(entry.state)
    try:
        replays.roll_back()
    except ReplayError as error:
        raise ConflictError("Nothing was rolled back", str(error)) from error
    return replay.shown(replays.progress)


@router.post("/clean-up", operation_id="postAdminReplayCleanUp", responses=_FAILURES)
async def clean_up(entry: Admin) -> CleanedAnswer:
    """Remove the previous tables; there is no rollback afterwards."""
    try:
        return CleanedAnswer(removed=await _replays(entry.state).clean_up())
    except ReplayError as error:
        raise ConflictError("Nothing was removed", str(error)) from error


def _replays(state: State) -> Replays:
    if state.replays is None:
        raise UnavailableError("Replays can't be asked for here", "This process does not run the pipeline.")
    return state.replays
