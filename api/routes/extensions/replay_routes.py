"""Replays for operators (extension of the contract)."""

from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import APIRouter

from api.dependencies.authentication import OperatorKey
from api.errors.http_errors import ConflictError
from api.routes.contract_route import ContractRoute, error_responses
from pipeline.store.generations.replay_request import ReplayError, ReplayRequest
from schemas.http.extensions.replay_bodies import (
    CleanUpResponse,
    ReplayBody,
    ReplayPlanResponse,
    ReplayProgressResponse,
)

router = APIRouter(route_class=ContractRoute, prefix="/admin/replay", tags=["Administration"])
_REPLAY_ERRORS = error_responses(400, 401, 403, 409, 500, 503)


@router.get("", responses=error_responses(400, 401, 403, 500, 503))
async def progress(caller: OperatorKey) -> ReplayProgressResponse:
    """Return the progress of the running or latest replay."""
    return ReplayProgressResponse.model_validate(await caller.state.replays.latest_progress())


@router.post("", status_code=202, responses=_REPLAY_ERRORS)
async def start(caller: OperatorKey, body: ReplayBody) -> ReplayProgressResponse:
    """Rebuild the tables from the log in a new generation, then switch over to it."""
    caller.add_audit_fields(**body.model_dump(exclude_none=True, exclude={"embedder_base_url"}, by_alias=True))
    with _refused_as("No replay was started"):
        caller.state.replays.start(ReplayRequest(**dict(body)))
    return ReplayProgressResponse.model_validate(caller.state.replays.progress)


@router.post("/plan", responses=_REPLAY_ERRORS)
async def plan(caller: OperatorKey, body: ReplayBody) -> ReplayPlanResponse:
    """Estimate what a replay would read and write, without changes."""
    with _refused_as("This can't be replayed"):
        return await caller.state.replays.plan(ReplayRequest(**dict(body)))


@router.delete("", responses=error_responses(400, 401, 403, 500, 503))
async def cancel(caller: OperatorKey) -> ReplayProgressResponse:
    """Cancel the running replay; the active generation is unchanged."""
    replays = caller.state.replays
    await replays.cancel()
    return ReplayProgressResponse.model_validate(await replays.latest_progress())


@router.post("/rollback", status_code=202, responses=_REPLAY_ERRORS)
async def roll_back(caller: OperatorKey) -> ReplayProgressResponse:
    """Switch back to the previous generation, after it has caught up with the log."""
    with _refused_as("Nothing was rolled back"):
        caller.state.replays.roll_back()
    return ReplayProgressResponse.model_validate(caller.state.replays.progress)


@router.post("/clean-up", responses=_REPLAY_ERRORS)
async def clean_up(caller: OperatorKey) -> CleanUpResponse:
    """Remove the previous generation; a rollback is impossible afterwards."""
    with _refused_as("Nothing was removed"):
        return CleanUpResponse(removed=await caller.state.replays.clean_up())


@contextmanager
def _refused_as(title: str) -> Iterator[None]:
    try:
        yield
    except ReplayError as error:
        raise ConflictError(title, str(error)) from error
