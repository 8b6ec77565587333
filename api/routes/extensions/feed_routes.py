"""Live feed of a namespace as server-sent events, and its standing questions (extension of the contract)."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Header, Request
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from api.commands import standing_questions as commands
from api.dependencies.app_state import CurrentAppState
from api.dependencies.authentication import NamespaceAccess, ReadAccess, SubscribeAccess
from api.dependencies.path_and_query_parameters import ResourcePath
from api.errors.http_errors import ServiceUnavailableError
from api.feed.feed_subscription import FeedSubscription
from api.routes.contract_route import ContractRoute, error_responses
from schemas.http.extensions import feed_bodies as bodies

router = APIRouter(route_class=ContractRoute, prefix="/ns/{namespace}/explain", tags=["Why"])

SEND_TIMEOUT_SECONDS = 60.0
"""Time in which a listener must take what is sent; heartbeats come more often."""
_HEADERS: Final = {"x-accel-buffering": "no"}  # nginx would keep events back
_ERRORS = error_responses(400, 401, 403, 404, 409, 500, 503)
_LastEventId = Annotated[str | None, Header(alias="last-event-id")]
log = logging.getLogger(__name__)


class _EventStreamResponse(StreamingResponse):
    """Server-sent events; ends for a client that reads nothing, so that it does not keep its place."""

    media_type = "text/event-stream"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(SEND_TIMEOUT_SECONDS):
                await send(message)

        try:
            await super().__call__(scope, receive, send_in_time)
        except* TimeoutError:
            log.info("A feed was ended: its listener read nothing for %.0f s.", SEND_TIMEOUT_SECONDS)


async def _feed(
    request: Request, access: ReadAccess, last_event_id: _LastEventId = None
) -> AsyncIterator[FeedSubscription]:
    feed = access.state.feed
    if feed is None:
        raise ServiceUnavailableError("There is no feed here", "This process serves none.")

    def may_continue() -> bool:
        return _still_opens(request, access)

    heads = access.state.key_tree.heads_above(access.principal.id)
    key = heads[-1].id if heads else access.principal.id  # keys that it issued share the places of an admin key
    async with feed.listen(access.namespace, key, last_event_id or None, may_continue) as listening:
        yield listening


def _still_opens(request: Request, access: NamespaceAccess) -> bool:
    """Return whether the request's key is still valid and still opens the namespace."""
    serving: CurrentAppState = request.app.state.recollect
    secret = request.headers["authorization"].partition(" ")[2].strip()
    principal = serving.state.keyring.authenticate(secret, serving.state.clock.now())
    return principal is not None and principal.may_read(access.namespace)


@router.get(
    "/feed",
    response_class=_EventStreamResponse,
    responses=error_responses(400, 401, 403, 410, 429, 500, 503)
    | {200: {"description": "Server-sent events", "content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def feed(listening: Annotated[FeedSubscription, Depends(_feed)]) -> _EventStreamResponse:
    """Stream changes of documents and memories of the namespace as server-sent events.

    `Last-Event-ID` resumes after an event. The guide to the feed describes events, order and limits.
    """
    return _EventStreamResponse(listening.stream(), headers=_HEADERS)


@router.post("/questions", status_code=201, responses=_ERRORS, response_model_exclude_unset=True)
async def create_question(access: SubscribeAccess, body: bodies.QuestionBody) -> bodies.QuestionCreated:
    """Ask a standing question: new answers are sent to a webhook. Only this response contains the secret."""
    created = await commands.create_question(access.state, access.namespace, body, access.principal.id)
    access.add_audit_fields(id=created.id, url=commands.origin_of(created.url))
    return created


@router.get("/questions", responses=error_responses(400, 401, 403, 500, 503), response_model_exclude_unset=True)
async def list_questions(access: ReadAccess) -> bodies.QuestionsResponse:
    """List the standing questions of the namespace and how their deliveries go."""
    may_connect = access.principal.may("connect", access.namespace)
    return await commands.list_questions(access.state, access.namespace, with_paths=may_connect)


@router.patch("/questions/{id}", responses=_ERRORS, response_model_exclude_unset=True)
async def change_question(
    access: SubscribeAccess, id: ResourcePath, body: bodies.QuestionPatch
) -> bodies.QuestionResponse:
    """Change, pause or resume a standing question."""
    changed = await commands.change_question(access.state, access.namespace, id, body, access.principal.id)
    named = {} if body.url is None else {"url": commands.origin_of(changed.url)}
    access.add_audit_fields(**body.model_dump(exclude_unset=True, exclude={"query", "url"}), **named)
    return changed


@router.post("/questions/{id}/rotate", responses=_ERRORS, response_model_exclude_unset=True)
async def rotate_question_secret(access: SubscribeAccess, id: ResourcePath) -> bodies.QuestionCreated:
    """Sign with a new secret from now on. Only this response contains it."""
    return await commands.rotate_secret(access.state, access.namespace, id)


@router.post("/questions/{id}/test", responses=_ERRORS, response_model_exclude_unset=True)
async def test_question(access: SubscribeAccess, id: ResourcePath) -> bodies.QuestionTried:
    """Post a signed test, without memories, to the receiver."""
    return await commands.try_question(access.state, access.namespace, id)


@router.post("/questions/{id}/dead-letters", responses=_ERRORS, response_model_exclude_unset=True)
async def act_on_dead_letters(
    access: SubscribeAccess, id: ResourcePath, body: bodies.DeadLettersBody
) -> bodies.QuestionResponse:
    """Deliver again the notifications that were given up, or discard them."""
    access.add_audit_fields(action=body.action)
    return await commands.act_on_dead_letters(access.state, access.namespace, id, body)


@router.delete("/questions/{id}", responses=_ERRORS, response_model_exclude_unset=True)
async def delete_question(access: SubscribeAccess, id: ResourcePath) -> bodies.QuestionDeleted:
    """Delete a standing question and its deliveries."""
    await commands.delete_question(access.state, access.namespace, id)
    return bodies.QuestionDeleted(id=id, deleted=True)
