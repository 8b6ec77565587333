"""Routes of the contract: authentication first, then query parameters, then a strictly parsed body."""

from collections.abc import Callable, Coroutine
from typing import Any, ClassVar

from fastapi import HTTPException
from fastapi.dependencies.utils import get_flat_params
from fastapi.exceptions import RequestValidationError
from fastapi.params import Query
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Message, Receive, Scope

from api.dependencies.authentication import app_state, authenticate, authenticated_principal, required_scopes
from api.errors.http_errors import BadRequestError, ForbiddenError, QuotaExceededError, TooManyRequestsError
from api.middleware.exception_handlers import too_large
from api.policies.audit_log import AUDITED_OPERATIONS, audit_entry
from api.policies.recall_log import READ_NAMESPACES_SCOPE_KEY, ids_shown, purpose_of, query_digest
from api.routes.kept_answers import KEPT_OPERATIONS, KeptAnswer, find_kept_answer, keep_answer
from pipeline.runtime import correlation
from pipeline.usage_counter import UsageCounts, seconds_left_in_month
from schemas.events import AuditOutcome, RecallRecorded
from schemas.http.error_bodies import ErrorResponse, ValidationErrorResponse
from schemas.limits import MAX_ANONYMOUS_BODY_BYTES, MAX_BODY_BYTES, MAX_INGEST_BODY_BYTES
from schemas.strict_json import parse_json

COMMON_ERRORS = (400, 401, 403, 500)
CHARACTERS_PER_TOKEN = 4
_ANSWERS_IN_WORDS = frozenset({"application/json", "text/markdown"})
RouteHandler = Callable[[Request], Coroutine[Any, Any, Response]]


class StrictJsonRequest(Request):
    """Request with strict JSON (`schemas.strict_json`)."""

    async def json(self) -> Any:
        """Return the parsed body; HTTPException 400 if it is invalid."""
        try:
            return parse_json(await self.body())
        except ValueError as error:
            raise HTTPException(400, str(error)) from None


class ContractRoute(APIRoute):
    """Route that authenticates before it reads the body, and rejects unknown or misplaced options."""

    allows_anonymous: ClassVar[bool] = False
    max_body_bytes: ClassVar[int] = MAX_BODY_BYTES
    is_strict: ClassVar[bool] = True
    """Unknown options and a body that the operation does not take are errors."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """Derive the operation id from method and path, as the contract does; declare the common errors by default."""
        if options.get("operation_id") is None:
            (method,) = options["methods"]
            options["operation_id"] = operation_id(method, path)
        options["strict_content_type"] = False  # a body without a content type is read as JSON
        options["responses"] = options.get("responses") or error_responses(*COMMON_ERRORS)
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> RouteHandler:
        """Return FastAPI's handler behind the checks."""
        handle_request = super().get_route_handler()
        options = frozenset(
            field.alias for field in get_flat_params(self.dependant) if isinstance(field.field_info, Query)
        )
        takes_body = self.body_field is not None or "requestBody" in (self.openapi_extra or {})
        # The contract declares no 400 for some operations: these ignore unknown options.
        rejects_unknown = self.is_strict and 400 in self.responses
        allows_anonymous, max_body_bytes = self.allows_anonymous, self.max_body_bytes
        action = AUDITED_OPERATIONS.get(self.operation_id or "")
        reads = "read" in required_scopes(self.dependant)
        operation = self.operation_id or ""
        keeps_answer = operation in KEPT_OPERATIONS

        async def handle(plain: Request) -> Response:
            if not allows_anonymous or "authorization" in plain.headers:
                await authenticate(plain)
            has_budget = reads and _require_tokens(plain)
            _reject_compressed_body(plain)
            request = StrictJsonRequest(plain.scope, _limit_body(plain, max_body_bytes))
            if rejects_unknown:
                _reject_unknown_query_parameters(request, options)
                if not takes_body:
                    await _reject_body(request)
            kept = await find_kept_answer(request) if keeps_answer else None
            response = await handle_request(request) if kept is None else kept
            if keeps_answer and kept is None:
                await keep_answer(request, response)
            if reads:
                await _record_recalls(request, response, operation)
            if has_budget:
                _count_tokens(request, response)
            return response

        return handle if action is None else _with_audit_entry(handle, action)


class IngestRoute(ContractRoute):
    max_body_bytes = MAX_INGEST_BODY_BYTES


class MultipartRoute(IngestRoute):
    """Route for multipart forms; a JSON body on the same path goes to the next matching route."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match unless the body is declared as JSON."""
        kind = Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower()
        return (Match.NONE, {}) if kind == "application/json" else super().matches(scope)


class LenientRoute(IngestRoute):
    """Route of an earlier interface version, whose clients send more than it names."""

    is_strict = False


class AnonymousRoute(ContractRoute):
    """Route that needs no key; a key that is sent must still be valid."""

    allows_anonymous = True
    max_body_bytes = MAX_ANONYMOUS_BODY_BYTES


def _with_audit_entry(handle: RouteHandler, action: str) -> RouteHandler:
    async def audited(request: Request) -> Response:
        try:
            response = await handle(request)
        except ForbiddenError:
            await _record_audit_entry(request, action, "refused")
            raise
        await _record_audit_entry(request, action, "repeated" if isinstance(response, KeptAnswer) else "done")
        return response

    return audited


async def _record_audit_entry(request: Request, action: str, outcome: AuditOutcome) -> None:
    state, principal = app_state(request), authenticated_principal(request)
    if principal is not None:
        await state.policies.audit.record(audit_entry(request, principal, action, outcome, state.clock))


def _require_tokens(request: Request) -> bool:
    """Tell whether the key, or one above it, has a budget of tokens.

    TooManyRequestsError if it is used up: no operation that only reads declares 402.
    """
    state, principal = app_state(request), authenticated_principal(request)
    if principal is None:
        return False
    families = list(state.key_tree.families(principal.id))
    if principal.monthly_tokens is None and all(family.head.monthly_tokens is None for family in families):
        return False
    try:
        state.policies.quotas.require(principal, state.clock, "tokens", families=families)
    except QuotaExceededError as error:
        raise TooManyRequestsError(error.error, seconds_left_in_month(state.clock.now())) from error
    return True


def _count_tokens(request: Request, response: Response) -> None:
    """Count the tokens of an answer in words; a file, or a stream, which is of any length, counts as none."""
    state, principal = app_state(request), authenticated_principal(request)
    if principal is not None and response.media_type in _ANSWERS_IN_WORDS:
        tokens = -(-len(bytes(response.body)) // CHARACTERS_PER_TOKEN)
        state.policies.quotas.count(principal, state.clock, UsageCounts(tokens=tokens))


async def _record_recalls(request: Request, response: Response, operation: str) -> None:
    """Record an answer in the recall logs of the namespaces that it is about."""
    state, principal = app_state(request), authenticated_principal(request)
    names = dict.fromkeys(request.scope.get(READ_NAMESPACES_SCOPE_KEY, ()))
    rows = [row for row in map(state.catalog.namespace, names) if row is not None and row.recall_log]
    if not rows or principal is None:
        return
    asked = await request.body()
    entries = [
        RecallRecorded(
            at=state.clock.now(),
            incarnation=row.incarnations[0],
            operation=operation,
            key=principal.id,
            purpose=purpose_of(request.headers),
            query_digest=query_digest(row.incarnations[0], asked),
            # The answer does not say which of several namespaces an id is of; a stream is recorded when it opens.
            ids=_ids_read(request, response) if len(names) == 1 else (),
            address=None if request.client is None else request.client.host,
            request_id=correlation.current_request_id(),
        )
        for row in rows
    ]
    await state.policies.recalls.record(entries)


def _ids_read(request: Request, response: Response) -> tuple[str, ...]:
    """Return the ids in a JSON answer; of a file, whose bytes are the user's, the id in its path."""
    if response.media_type == "application/json":
        return ids_shown(bytes(response.body))
    return tuple(value for name, value in request.path_params.items() if name in {"id", "document_id"})


def _reject_compressed_body(request: Request) -> None:
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding not in {"", "identity"}:
        raise BadRequestError("A compressed body can't be read", f"Send it without Content-Encoding ({coding[:40]!r}).")


def _limit_body(request: Request, max_bytes: int) -> Receive:
    """Wrap `receive`: HTTPException 413 if the body exceeds `max_bytes`."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > max_bytes:
        raise too_large(max_bytes)
    receive, size = request.receive, 0

    async def bounded() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > max_bytes:
            raise too_large(max_bytes)
        return message

    return bounded


def _reject_unknown_query_parameters(request: Request, allowed: frozenset[str]) -> None:
    if not request.scope["query_string"]:
        return
    unknown = [name for name in request.query_params if name not in allowed]
    if unknown:
        raise RequestValidationError(
            [{"type": "unknown_option", "loc": ("query", name), "msg": "", "input": None} for name in unknown]
        )


async def _reject_body(request: Request) -> None:
    if "content-length" not in request.headers and "transfer-encoding" not in request.headers:
        return
    if await request.body():
        raise BadRequestError(
            "This operation takes no body",
            "Send its options as query parameters, for example ?moveTo=… to delete a namespace.",
        )


def operation_id(method: str, path: str) -> str:
    """Name an operation: DELETE /admin/keys/{id} is deleteAdminKeysById."""
    parts = (f"by-{part[1:-1].partition(':')[0]}" if part.startswith("{") else part for part in path.split("/"))
    return method.lower() + "".join(word[:1].upper() + word[1:] for part in parts for word in part.split("-"))


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {
        status: {
            "model": ErrorResponse | ValidationErrorResponse if status == 400 else ErrorResponse,
            "description": "",
        }
        for status in statuses
    }
