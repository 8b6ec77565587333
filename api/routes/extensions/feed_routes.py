"""Live feed of a namespace as server-sent events (extension of the contract)."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Header, Request
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from api.dependencies.app_state import CurrentAppState
from api.dependencies.authentication import NamespaceAccess, ReadAccess
from api.errors.http_errors import ServiceUnavailableError
from api.feed.feed_subscription import FeedSubscription
from api.routes.contract_route import ContractRoute, error_responses

router = APIRouter(route_class=ContractRoute, prefix="/ns/{namespace}/explain", tags=["Why"])

SEND_TIMEOUT_SECONDS = 60.0
"""Time in which a listener must take what is sent; heartbeats come more often."""
_HEADERS: Final = {"x-accel-buffering": "no"}  # nginx would keep events back
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
