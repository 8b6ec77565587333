"""Feedback to the operators."""

from uuid import uuid4

from fastapi import APIRouter, Request

from api.auth import Parts, principal_of
from api.contract import OpenRoute, failures
from api.problems import TooManyRequestsError
from api.queries.feedback import ORGANIZATION, seconds_to_midnight, sender_of
from schemas.events import FeedbackSubmitted
from schemas.http.feedback import FeedbackAnswer, FeedbackBody
from schemas.topics import FEEDBACK_SUBMITTED

router = APIRouter(route_class=OpenRoute, tags=["Feedback"])


@router.post(
    "/feedback",
    operation_id="postFeedback",
    status_code=202,
    responses=failures(400, 401, 403, 429, 502, 503),
)
async def submit(request: Request, state: Parts, body: FeedbackBody) -> FeedbackAnswer:
    """Tell the operators something; `recollect feedback` shows it to them."""
    keyed = principal_of(request) is not None
    sender = ORGANIZATION if keyed else sender_of(request.client.host if request.client else None)
    now = state.clock.now()
    if not state.quota.remaining(sender, keyed=keyed, now=now):
        raise TooManyRequestsError("That is all feedback for today", seconds_to_midnight(now))
    state.quota.take(sender, keyed=keyed, now=now)
    details = body.model_dump(by_alias=True, exclude_unset=True, exclude={"type", "title", "description"})
    event = FeedbackSubmitted(
        id=f"fb_{uuid4().hex}",
        at=now,
        sender=sender,
        keyed=keyed,
        type=body.type,
        title=body.title,
        description=body.description,
        details=details,
    )
    await state.publisher.publish(FEEDBACK_SUBMITTED, [(event.id, event)])
    return FeedbackAnswer(id=event.id, remaining=state.quota.remaining(sender, keyed=keyed, now=now))
