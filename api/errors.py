"""Every failure in the shapes of the contract: the one place that turns exceptions into answers."""

import json
import logging
import secrets
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.headers import Hardening
from api.pace import PACE, Pace
from api.problems import ApiError
from api.state import Serving
from pipeline import logs, tracing
from pipeline.errors import NotReadyError, RejectedError, RetryableError

log = logging.getLogger(__name__)

REQUEST_ID = "x-request-id"
PROBLEMS_SHOWN = 20
RETRY_SECONDS = 5
"""When to come back, where nobody knows how long it takes."""

_MESSAGES = {
    "extra_forbidden": "is not a known field",
    "missing": "is required",
    "model_attributes_type": "must be a JSON object, sent as application/json",
    "unknown_option": "is not an option of this operation: send it where the interface has it",
}
_TAGS = {
    "union_tag_not_found": "is required",
    "union_tag_invalid": "must be one of {expected_tags}",
}
_LENGTHS = {
    "too_short": "must not be empty",
    "too_long": "must have at most {max_length} characters, not {actual_length}",
}
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_TITLES = {404: "Not found", 405: "Method not allowed"}


def install(app: FastAPI) -> None:
    """Register the handlers; the middleware `Edge` has to be added too."""
    app.add_exception_handler(ApiError, _api_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(RetryableError, _retryable)
    app.add_exception_handler(RejectedError, _rejected)


def failure(
    status: int, error: str, details: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """An ErrorResponse."""
    body = {"error": error} if details is None else {"error": error, "details": details}
    return _json(status, body, headers)


def _json(status: int, body: object, headers: Mapping[str, str] | None = None) -> Response:
    # ASCII, because what is quoted from a broken request may not be encodable.
    content = json.dumps(body).encode()
    return Response(content, status, dict(headers) if headers else None, "application/json")


async def _api_error(_: Request, error: Exception) -> Response:
    if not isinstance(error, ApiError):
        raise error
    return failure(error.status, error.error, error.details, error.headers())


async def _http_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    if error.status_code == 413:
        return failure(413, "The request is too large", "Send less at once: see the limits of the interface.")
    title = _TITLES.get(error.status_code)
    if title is None:
        return failure(error.status_code, str(error.detail), None, error.headers)
    place = f"There is no {request.method} {request.url.path} here."
    headers = {"allow": _allowed(request)} if error.status_code == 405 else error.headers
    return failure(error.status_code, title, place, headers)


def _allowed(request: Request) -> str:
    """The methods of this path: of all its routes, not only of the first."""
    scopes = {method: {**request.scope, "method": method} for method in _METHODS}
    return ", ".join(
        method
        for method, scope in scopes.items()
        if any(route.matches(scope)[0] is Match.FULL for route in request.app.routes)
    )


async def _retryable(_: Request, error: Exception) -> Response:
    if isinstance(error, NotReadyError):
        return failure(503, "Not ready yet", str(error), {"retry-after": str(error.seconds)})
    log.warning("A request failed for now: %s", error)
    return failure(
        503,
        "The service can't do this now",
        "Nothing that was acknowledged is lost. Try again in a moment: repeating it changes nothing.",
        {"retry-after": str(RETRY_SECONDS)},
    )


async def _rejected(_: Request, error: Exception) -> Response:
    log.error("A request failed: %s", error)
    return failure(500, "Stored data could not be read", "Ask the operator to run `recollect doctor`.")


async def _validation_error(_: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise error
    problems = error.errors()
    shown = [problem(one, error.body) for one in problems[:PROBLEMS_SHOWN]]
    if len(problems) > PROBLEMS_SHOWN:
        shown.append({"message": f"and {len(problems) - PROBLEMS_SHOWN} more problems", "path": []})
    where = str(problems[0]["loc"][0]) if problems and problems[0]["loc"] else "body"
    return _json(400, {"success": False, "error": shown, "data": {"in": where}})


def problem(problem: Mapping[str, Any], body: object) -> dict[str, object]:
    """One error of pydantic in words for people, and its place in what the caller sent."""
    loc: Sequence[str | int] = problem["loc"]
    path = _path(loc[1:], body) if loc and loc[0] == "body" else list(loc[1:])
    if problem["type"] in _TAGS:
        path.append(str(problem["ctx"]["discriminator"]).strip("'"))
    named = ".".join(map(str, path)) or str(loc[0] if loc else "body")
    context = problem.get("ctx", {})
    # A filter is read in one go: what it says names the place within it already.
    return {"message": f"{named}: {_message(problem, context)}", "path": [*path, *context.get("path", ())]}


def _message(problem: Mapping[str, Any], context: Mapping[str, Any]) -> str:
    kind = problem["type"]
    if kind in _TAGS:
        return _TAGS[kind].format_map(context)
    if context.get("field_type") == "Value" and kind in _LENGTHS:
        # pydantic speaks of items where the length of a string is checked after a function.
        return _LENGTHS[kind].format_map(context)
    return _MESSAGES.get(kind) or str(problem["msg"]).removeprefix("Value error, ")


def _path(loc: Sequence[str | int], body: object) -> list[str | int]:
    """Without the names of union members, which lead nowhere in what the caller sent."""
    path: list[str | int] = []
    here = body
    for at, part in enumerate(loc):
        match here, part:
            case _, "[key]":
                continue
            case dict(), str() if part in here:
                here = here[part]
            case list(), int() if part < len(here):
                here = here[part]
            case _ if at < len(loc) - 1:
                continue
            case _:
                pass
        path.append(part)
    return path


class Edge:
    """The outermost layer of ours: an id and headers on everything, a count, and 500 for the unexpected."""

    def __init__(self, app: ASGIApp, hardening: Hardening) -> None:
        self._app = app
        self._hardening = hardening

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = perf_counter()
        request_id = _request_id(scope)
        status = 0

        async def marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[REQUEST_ID] = request_id
                self._hardening.apply(message)
                pace: Pace | None = scope.get(PACE)
                if pace is not None:
                    message["headers"].extend(pace.headers())
            await send(message)

        with tracing.within(tracing.Origins(all=request_id)):
            try:
                await self._app(scope, receive, marked)
            except ClientDisconnect:
                log.debug("The caller of request %s went away.", request_id)
            except Exception:  # the edge of the process: the caller gets an id, the log the rest
                log.exception("Request %s failed: %s %s", request_id, scope["method"], _pattern(scope))
                if not status:
                    answer = failure(500, "Internal error", f"The service's log has more under {request_id}.")
                    await answer(scope, receive, marked)
            _note(scope, status, perf_counter() - began)


def _note(scope: Scope, status: int, seconds: float) -> None:
    """Count the request, and say that it was answered; 0: its caller went away before."""
    method, route = scope["method"], _pattern(scope)
    serving: Serving | None = getattr(scope["app"].state, "recollect", None)
    if serving is not None:
        serving.state.metrics.answered(method if method in _METHODS else "other", route, status, seconds)
    if logs.TRAIL.isEnabledFor(logging.INFO):
        logs.trail("answered", method=method, route=route, status=status, seconds=round(seconds, 6))


def _pattern(scope: Scope) -> str:
    """The route's path with its parameters' names: what it was asked for would be a label per document."""
    return getattr(scope.get("route"), "path", "unknown")


def _request_id(scope: Scope) -> str:
    given: str = next(
        (value.decode("latin-1") for name, value in scope["headers"] if name == b"x-request-id"), ""
    )
    if 0 < len(given) <= 128 and all(char.isalnum() or char in "-_.:" for char in given) and given.isascii():
        return given
    return f"req_{secrets.token_hex(12)}"
