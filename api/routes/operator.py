"""For operators: status, dead letters, buckets of the organization. Outside the contract."""

from typing import Annotated

from fastapi import APIRouter, Query

from api.auth import Admin
from api.contract import ContractRoute, failures
from api.problems import BadRequestError
from api.queries import operator
from schemas.http.operator import (
    DeadLettersAnswer,
    DroppedAnswer,
    FailedAnswer,
    LetterAnswer,
    ReplayedAnswer,
    StatusAnswer,
)
from schemas.http.parts import NO_NUL
from schemas.http.profile import BucketsAnswer, DeleteBucketsBody, SetBucketsBody

router = APIRouter(route_class=ContractRoute, prefix="/admin", tags=["Administration"])

TopicName = Annotated[str | None, Query(max_length=200), NO_NUL]
LetterId = Annotated[str, Query(max_length=300), NO_NUL]
LetterIds = Annotated[list[LetterId] | None, Query(max_length=1000)]
Limit = Annotated[int, Query(ge=1, le=1000)]


@router.get("/status", operation_id="getAdminStatus", responses=failures(400, 401, 403, 500, 503))
async def status(entry: Admin) -> StatusAnswer:
    """How much there is, how far behind the pipeline is, and what could not be handled."""
    return await operator.status(entry.state)


@router.get("/failed", operation_id="getAdminFailed", responses=failures(400, 401, 403, 500))
async def failed(entry: Admin) -> FailedAnswer:
    """Documents that could not be read, and why."""
    return FailedAnswer(documents=await operator.failed(entry.state))


@router.get("/dlq", operation_id="getAdminDlq", responses=failures(400, 401, 403, 500, 503))
async def list_dead_letters(entry: Admin, topic: TopicName = None, limit: Limit = 100) -> DeadLettersAnswer:
    """Records that could not be handled."""
    letters = await operator.parked(entry.state).dead_letters(topic, limit)
    return DeadLettersAnswer(letters=[operator.shown(letter) for letter in letters])


@router.get("/dlq/letter", operation_id="getAdminDlqLetter", responses=failures(400, 401, 403, 404, 500, 503))
async def show_dead_letter(entry: Admin, id: LetterId) -> LetterAnswer:
    """All of one record that could not be handled."""
    return await operator.letter_of(entry.state, id)


@router.post("/dlq/replay", operation_id="postAdminDlqReplay", responses=failures(400, 401, 403, 500, 503))
async def replay_dead_letters(
    entry: Admin, topic: TopicName = None, id: LetterIds = None, limit: Limit = 1000
) -> ReplayedAnswer:
    """Give them back to their topics."""
    replayed = await operator.parked(entry.state).redrive(topic, limit, only=id)
    entry.note(replayed=replayed)
    return ReplayedAnswer(replayed=replayed)


@router.delete("/dlq", operation_id="deleteAdminDlq", responses=failures(400, 401, 403, 500, 503))
async def drop_dead_letters(
    entry: Admin, topic: TopicName = None, id: LetterIds = None, limit: Limit = 1000
) -> DroppedAnswer:
    """Let go of those of a topic, or of these, for good."""
    if topic is None and not id:
        raise BadRequestError("Which dead letters?", "Name a topic, or ids.")
    dropped = await operator.parked(entry.state).drop(topic, limit, only=id)
    entry.note(dropped=dropped)
    return DroppedAnswer(dropped=dropped)


@router.get("/buckets", operation_id="getAdminBuckets", responses=failures(400, 401, 403, 500))
async def get_buckets(entry: Admin) -> BucketsAnswer:
    """The organization's buckets."""
    return BucketsAnswer(buckets=entry.state.catalog.organization().buckets)


@router.put("/buckets", operation_id="putAdminBuckets", responses=failures(400, 401, 403, 500))
async def set_buckets(entry: Admin, body: SetBucketsBody) -> BucketsAnswer:
    """Add or redefine buckets of the organization."""
    entry.note(buckets=", ".join(body.buckets))
    return BucketsAnswer(buckets=await operator.set_buckets(entry.state, body.buckets))


@router.delete("/buckets", operation_id="deleteAdminBuckets", responses=failures(400, 401, 403, 500))
async def delete_buckets(entry: Admin, body: DeleteBucketsBody) -> BucketsAnswer:
    """Remove buckets of the organization."""
    entry.note(buckets=", ".join(body.buckets))
    return BucketsAnswer(buckets=await operator.delete_buckets(entry.state, body.buckets))
