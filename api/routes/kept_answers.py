"""Answers kept for a day, so that a repeated request is given the first answer and is not carried out again."""

from base64 import b64decode, b64encode
from hashlib import sha256

from starlette.requests import Request
from starlette.responses import Response

from api.dependencies.authentication import app_state, authenticated_principal
from api.dependencies.idempotency import HEADER, answer_key, reused_key
from api.errors.http_errors import BadRequestError
from pipeline.rows import AnswerRow
from pipeline.sealed_value import open_sealed, seal
from pipeline.store import ANSWER_RETENTION

KEPT_OPERATIONS = frozenset(
    {
        "deleteNsByNamespace",
        "deleteNsByNamespaceDocument",
        "postAdminKeys",
        "postAdminKeysByIdRotate",
        "postNsByNamespaceExplainQuestions",
        "postNsByNamespaceExplainQuestionsByIdRotate",
    }
)
"""Deletions and moves, and what creates a secret. What adds or changes a document is recognised in the log."""


class KeptAnswer(Response):
    """The answer to an earlier request, given again: nothing was carried out."""


async def find_kept_answer(request: Request) -> KeptAnswer | None:
    """Return the answer to an earlier request with this idempotency key; None: there was none, or it has no key.

    BadRequestError if something else was asked for with the key, or with another secret of the API key.
    """
    key = _key_of(request)
    if key is None:
        return None
    state = app_state(request)
    kept = await state.answers.get(key)
    if kept is None or state.clock.now() - kept.at > ANSWER_RETENTION:
        return None
    if kept.request != await _asked(request):
        raise reused_key("Another request was answered")
    body = open_sealed(_sealing_key(request), b64decode(kept.body))
    if body is None:
        raise BadRequestError(
            "The idempotency key was used with another secret of this API key",
            "The first answer is encrypted with that secret. See what the first request did, and use a new key.",
        )
    return KeptAnswer(body, kept.status, media_type="application/json")


async def keep_answer(request: Request, response: Response) -> None:
    """Keep an answer under the request's idempotency key, if it has one."""
    key = _key_of(request)
    if key is not None:
        state, body = app_state(request), seal(_sealing_key(request), bytes(response.body))
        row = AnswerRow(key, await _asked(request), response.status_code, b64encode(body).decode(), state.clock.now())
        await state.answers.record(row)


def _key_of(request: Request) -> str | None:
    principal = authenticated_principal(request)
    return None if principal is None else answer_key(principal.id, request.url.path)


def _sealing_key(request: Request) -> bytes:
    """A key that only who asked knows: some answers tell a secret that is kept nowhere."""
    return sha256(f"{request.headers['authorization']}\n{request.headers[HEADER]}".encode()).digest()


async def _asked(request: Request) -> str:
    return sha256(request.scope["query_string"] + b"\n" + await request.body()).hexdigest()
