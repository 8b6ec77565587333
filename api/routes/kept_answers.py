"""Answers kept for a day, so that a repeated deletion deletes nothing that was added after the first one."""

from hashlib import sha256

from starlette.requests import Request
from starlette.responses import Response

from api.dependencies.authentication import app_state, authenticated_principal
from api.dependencies.idempotency import answer_key, reused_key
from pipeline.rows import AnswerRow
from pipeline.store.tables.answer_repository import RETENTION

KEPT_OPERATIONS = frozenset({"deleteNsByNamespace", "deleteNsByNamespaceDocument"})
"""Deletions and moves, whose answers show no content. What adds or changes a document is recognised in the log."""


async def find_kept_answer(request: Request) -> Response | None:
    """Return the answer to an earlier request with this idempotency key; None: there was none, or it has no key.

    BadRequestError if something else was asked for with the key.
    """
    key = _key_of(request)
    if key is None:
        return None
    state = app_state(request)
    kept = await state.answers.get(key)
    if kept is None or state.clock.now() - kept.at > RETENTION:
        return None
    if kept.request != await _asked(request):
        raise reused_key("Another request was answered")
    return Response(kept.body, kept.status, media_type="application/json")


async def keep_answer(request: Request, response: Response) -> None:
    """Keep an answer under the request's idempotency key, if it has one."""
    key = _key_of(request)
    if key is not None:
        state, body = app_state(request), bytes(response.body).decode()
        row = AnswerRow(key, await _asked(request), response.status_code, body, state.clock.now())
        await state.answers.record(row)


def _key_of(request: Request) -> str | None:
    principal = authenticated_principal(request)
    return None if principal is None else answer_key(principal.id, request.url.path)


async def _asked(request: Request) -> str:
    return sha256(request.scope["query_string"] + b"\n" + await request.body()).hexdigest()
