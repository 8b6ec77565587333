"""A route of the contract: key first, then placement of options, then a strictly read body."""

import json
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, NoReturn

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

from api.audit import ACTS, noted
from api.auth import authenticate, principal_of, state_of
from api.problems import BadRequestError, ForbiddenError
from schemas.events import ActOutcome
from schemas.http.errors import ErrorResponse, ValidationErrorResponse
from schemas.limits import JSON_BYTES, QUESTION_BYTES

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class StrictRequest(Request):
    """A request whose JSON is UTF-8 and JSON indeed: no NaN, no endless nesting."""

    async def json(self) -> Any:
        """The body; HTTPException 400 that says what is wrong with it."""
        try:
            return json.loads((await self.body()).decode(), parse_constant=_no_constant)
        except UnicodeDecodeError as error:
            raise HTTPException(400, f"The body is not UTF-8 (at byte {error.start})") from None
        except json.JSONDecodeError as error:
            raise HTTPException(
                400, f"The body is not JSON: {error.msg} (at character {error.pos})"
            ) from None
        except (RecursionError, ValueError) as error:
            problem = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise HTTPException(400, f"The body is not acceptable JSON: {problem}") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


class ContractRoute(APIRoute):
    """Authenticates before the body is read, and refuses options in the wrong place."""

    keyless: ClassVar[bool] = False
    largest: ClassVar[int] = QUESTION_BYTES

    def get_route_handler(self) -> Handler:
        """FastAPI's handler behind the checks."""
        answer = super().get_route_handler()
        options = frozenset(
            field.alias for field in get_flat_params(self.dependant) if isinstance(field.field_info, Query)
        )
        takes_body = self.body_field is not None or "requestBody" in (self.openapi_extra or {})
        # An operation for which the contract declares no 400 cannot refuse; it ignores.
        picky = 400 in self.responses
        keyless, largest = self.keyless, self.largest
        act = ACTS.get(self.operation_id or "")

        async def handle(plain: Request) -> Response:
            if not keyless or "authorization" in plain.headers:
                await authenticate(plain)
            _uncompressed(plain)
            request = StrictRequest(plain.scope, _bounded(plain, largest))
            if picky:
                _only(request, options)
                if not takes_body:
                    await _no_body(request)
            return await answer(request)

        return handle if act is None else _audited(handle, act)


class IngestRoute(ContractRoute):
    """A route that takes documents, so its bodies may be large."""

    largest = JSON_BYTES


class FormRoute(IngestRoute):
    """A route for forms; a JSON body on its path is meant for the operation after it."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """As any route, where the body does not say that it is JSON."""
        kind = Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower()
        return (Match.NONE, {}) if kind == "application/json" else super().matches(scope)


class OpenRoute(ContractRoute):
    """A route that needs no key; one that is sent must be valid all the same."""

    keyless = True


def _audited(handle: Handler, act: str) -> Handler:
    async def audited(request: Request) -> Response:
        try:
            response = await handle(request)
        except ForbiddenError:
            await _record(request, act, "refused")
            raise
        await _record(request, act, "done")
        return response

    return audited


async def _record(request: Request, act: str, outcome: ActOutcome) -> None:
    state, principal = state_of(request), principal_of(request)
    if state.guards.audit is not None and principal is not None:
        await state.guards.audit.record(noted(request, principal, act, outcome, state.clock))


def _uncompressed(request: Request) -> None:
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding not in {"", "identity"}:
        raise BadRequestError(
            "A compressed body can't be read", f"Send it without Content-Encoding ({coding[:40]!r})."
        )


def _bounded(request: Request, largest: int) -> Receive:
    """The body as it comes, up to so many bytes; HTTPException 413 beyond."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > largest:
        raise HTTPException(413)
    receive, size = request.receive, 0

    async def bounded() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > largest:
            raise HTTPException(413)
        return message

    return bounded


def _only(request: Request, options: frozenset[str]) -> None:
    if not request.scope["query_string"]:
        return
    unknown = [name for name in request.query_params if name not in options]
    if unknown:
        raise RequestValidationError(
            [{"type": "unknown_option", "loc": ("query", name), "msg": "", "input": None} for name in unknown]
        )


async def _no_body(request: Request) -> None:
    if "content-length" not in request.headers and "transfer-encoding" not in request.headers:
        return
    if await request.body():
        raise BadRequestError(
            "This operation takes no body",
            "Its options belong in the query, for example ?moveTo=… when a namespace is deleted.",
        )


def failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The declared failures of an operation."""
    return {
        status: {
            "model": ErrorResponse | ValidationErrorResponse if status == 400 else ErrorResponse,
            "description": "",
        }
        for status in statuses
    }
