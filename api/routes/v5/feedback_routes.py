"""Feedback route."""

from uuid import uuid4

from fastapi import APIRouter, Request

from api.dependencies.authentication import AppStateDependency, authenticated_principal
from api.errors.http_errors import TooManyRequestsError
from api.policies.feedback_limiter import ORGANIZATION_SENDER, seconds_to_midnight, sender_from_address
from api.routes.contract_route import AnonymousRoute, error_responses
from schemas.events import FeedbackSubmitted
from schemas.http.v5.memory_bodies import FeedbackBody, FeedbackResponse
from schemas.topics import FEEDBACK_SUBMITTED

router = APIRouter(route_class=AnonymousRoute, tags=["Feedback"])


@router.post("/feedback", status_code=202, responses=error_responses(400, 401, 403, 429, 502, 503))
async def submit(request: Request, state: AppStateDependency, body: FeedbackBody) -> FeedbackResponse:
    """Send feedback to the operators: it is kept in the log."""
    authenticated = authenticated_principal(request) is not None
    sender = (
        ORGANIZATION_SENDER if authenticated else sender_from_address(request.client.host if request.client else None)
    )
    now = state.clock.now()
    if not state.policies.feedback_limiter.remaining(sender, authenticated=authenticated, now=now):
        raise TooManyRequestsError("The daily feedback limit is reached", seconds_to_midnight(now))
    state.policies.feedback_limiter.record(sender, authenticated=authenticated, now=now)
    details = body.model_dump(by_alias=True, exclude_unset=True, exclude={"type", "title", "description"})
    event = FeedbackSubmitted(
        id=f"fb_{uuid4().hex}",
        at=now,
        sender=sender,
        authenticated=authenticated,
        type=body.type,
        title=body.title,
        description=body.description,
        details=details,
    )
    await state.publisher.publish(FEEDBACK_SUBMITTED, [(event.id, event)])
    return FeedbackResponse(
        id=event.id, remaining=state.policies.feedback_limiter.remaining(sender, authenticated=authenticated, now=now)
    )
