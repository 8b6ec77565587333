"""Exception handlers that render every failure in the contract's error shapes."""

import json
import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match

from api.errors.http_errors import ApiError
from pipeline.errors import NotReadyError, RejectedError, RetryableError
from schemas.limits import BUCKET_PATTERN, MONTH_PATTERN, NAMESPACE_PATTERN, NAMESPACE_SCOPE_PATTERN

log = logging.getLogger(__name__)

MAX_VALIDATION_ISSUES = 20
DEFAULT_RETRY_AFTER_SECONDS = 5
"""Retry-After where the duration of an outage is unknown."""

_VALIDATION_MESSAGES = {
    "extra_forbidden": "is not a known field",
    "missing": "is required",
    "model_attributes_type": "must be a JSON object, sent as application/json",
    **dict.fromkeys(
        ("datetime_from_date_parsing", "datetime_object_invalid", "datetime_parsing", "timezone_aware"),
        "must be a time with its zone, like 2026-11-30T09:30:00Z",
    ),
    "unknown_option": "is not a parameter of this operation",
    "dict_type": "must be an object",
    "list_type": "must be an array",
}
_DISCRIMINATOR_MESSAGES = {"union_tag_not_found": "is required", "union_tag_invalid": "must be one of {expected_tags}"}
_LENGTH_MESSAGES = {
    "too_short": "must not be empty",
    "too_long": "must have at most {max_length} characters, not {actual_length}",
}
_PATTERN_MESSAGES = {
    NAMESPACE_PATTERN: "may have letters, digits, '_', ':' and '-' only",
    NAMESPACE_SCOPE_PATTERN: "may have letters, digits, '_', ':' and '-' only, and a '*' at its end",
    MONTH_PATTERN: "must be a month, like 2026-11",
    BUCKET_PATTERN: "may have small letters, digits, '_' and '-' only, and begins with a letter or a digit",
}
_EARLIER_INTERFACES = ("/v3/", "/v4/")
"""Interfaces whose failures all have one shape, with a text as `error`."""
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_MAX_ADVISED_PARTS = 12
_OF_PYDANTIC = re.compile(r"^(?:Input|List|String|Dictionary) should")
"""Beginning of pydantic's messages, in the words of Python."""
_STATUS_TITLES = {404: "Not found", 405: "Method not allowed", 413: "The request is too large"}


def install_exception_handlers(app: FastAPI) -> None:
    """Register the handlers; `RequestMiddleware` handles what they do not."""
    app.exception_handler(ApiError)(_handle_api_error)
    app.exception_handler(HTTPException)(_handle_http_error)
    app.exception_handler(RequestValidationError)(_handle_validation_error)
    app.exception_handler(RetryableError)(_handle_retryable_error)
    app.exception_handler(RejectedError)(_handle_rejected_error)


def error_response(
    status: int, error: str, details: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """Build a response with the contract's `ErrorResponse` as body."""
    body = {"error": error} if details is None else {"error": error, "details": details}
    return _json_response(status, body, headers)


def _json_response(status: int, body: object, headers: Mapping[str, str] | None = None) -> Response:
    # ASCII, because quoted parts of a broken request may not be encodable.
    content = json.dumps(body).encode()
    return Response(content, status, dict(headers) if headers else None, "application/json")


async def _handle_api_error(_: Request, error: ApiError) -> Response:
    return error_response(error.status, error.error, error.details, error.headers())


async def _handle_http_error(request: Request, error: HTTPException) -> Response:
    title = _STATUS_TITLES.get(error.status_code)
    if title is None:
        return error_response(error.status_code, str(error.detail), None, error.headers)
    if error.status_code == 413:
        return error_response(413, title, f"At most {error.detail} are read here: send less at a time.")
    path, methods = request.url.path, _allowed_methods(request)
    details = f"There is no operation {request.method} {path}. {_advice(request, path, methods)}"
    headers = {"allow": ", ".join(methods)} if error.status_code == 405 else error.headers
    return error_response(error.status_code, title, details, headers)


def too_large(max_bytes: int) -> HTTPException:
    """Build the error of a body above a limit; an HTTPException, because FastAPI passes these on while it reads one."""
    return HTTPException(413, f"{max_bytes / 2**20:g} MiB")


def _advice(request: Request, path: str, methods: Sequence[str]) -> str:
    """Return what to send instead: the same operation without what its path has too much, or what this path takes."""
    if "access-control-request-method" in request.headers:
        return "Web pages may call the service from the origins in RECOLLECT_CORS_ORIGINS only."
    parts = [part for part in path.split("/", _MAX_ADVISED_PARTS)[1:] if part]
    nearby = ("/" + "/".join(parts[at:]) for at in range(len(parts)))
    meant = next((near for near in nearby if near != path and _has_operation(request, request.method, near)), None)
    if meant is not None:
        return f"Did you mean {request.method} {meant}?"
    if "//" in path:
        return "A part of its path is empty."
    return f"This path takes {', '.join(methods)}." if methods else "/docs/ lists all operations."


def _allowed_methods(request: Request) -> list[str]:
    return [method for method in METHODS if _has_operation(request, method, request.url.path)]


def _has_operation(request: Request, method: str, path: str) -> bool:
    scope = {**request.scope, "method": method, "path": path}
    return any(route.matches(scope)[0] is Match.FULL for route in request.app.routes)


async def _handle_retryable_error(_: Request, error: RetryableError) -> Response:
    if isinstance(error, NotReadyError):
        return error_response(503, "Not ready yet", str(error), {"retry-after": str(error.retry_after_seconds)})
    log.warning("A request failed for now: %s", error)
    return error_response(
        503,
        "The service is temporarily unavailable",
        "Acknowledged writes are safe, and requests are idempotent: try again in a moment.",
        {"retry-after": str(DEFAULT_RETRY_AFTER_SECONDS)},
    )


async def _handle_rejected_error(_: Request, error: RejectedError) -> Response:
    log.error("A request failed: %s", error)
    return error_response(500, "Stored data could not be read", "Ask the operator to run `recollect doctor`.")


async def _handle_validation_error(request: Request, error: RequestValidationError) -> Response:
    problems = error.errors()
    shown = [validation_issue(problem, error.body) for problem in problems[:MAX_VALIDATION_ISSUES]]
    unknown = [problem["loc"] for problem in problems if problem["type"] in {"extra_forbidden", "unknown_option"}]
    if any(len(loc) == len(("body", "field")) for loc in unknown) and (fields := _body_fields(request)):
        shown.append({"message": f"body: its fields are {', '.join(fields)}", "path": []})
    if len(problems) > MAX_VALIDATION_ISSUES:
        shown.append({"message": f"and {len(problems) - MAX_VALIDATION_ISSUES} more problems", "path": []})
    if request.url.path.startswith(_EARLIER_INTERFACES):
        return error_response(400, "The request is not valid", "; ".join(str(issue["message"]) for issue in shown))
    where = str(problems[0]["loc"][0]) if problems and problems[0]["loc"] else "body"
    return _json_response(400, {"success": False, "error": shown, "data": {"in": where}})


def _body_fields(request: Request) -> list[str]:
    """Return the fields that an operation reads; none where they depend on one of them."""
    body = getattr(request.scope["route"], "body_field", None)
    kinds = () if body is None else (body.field_info.annotation, *get_args(body.field_info.annotation))
    models = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]
    return [field.alias or name for name, field in models[0].model_fields.items()] if len(models) == 1 else []


def validation_issue(error: Mapping[str, Any], body: object) -> dict[str, object]:
    """Describe a pydantic error: a message and its path in the request."""
    loc: Sequence[str | int] = error["loc"]
    path = _field_path(loc[1:], body) if loc and loc[0] == "body" else list(loc[1:])
    if error["type"] in _DISCRIMINATOR_MESSAGES:
        path.append(str(error["ctx"]["discriminator"]).strip("'"))
    named = ".".join(map(str, path)) or str(loc[0] if loc else "body")
    context = error.get("ctx", {})
    # A filter is validated as a whole: its message already names the path within it.
    return {"message": f"{named}: {_validation_message(error, context)}", "path": [*path, *context.get("path", ())]}


def _validation_message(problem: Mapping[str, Any], context: Mapping[str, Any]) -> str:
    kind = problem["type"]
    if kind in _DISCRIMINATOR_MESSAGES:
        return _DISCRIMINATOR_MESSAGES[kind].format_map(context)
    if context.get("field_type") == "Value" and kind in _LENGTH_MESSAGES:
        # pydantic counts "items" if a string's length is checked after a function validator.
        return _LENGTH_MESSAGES[kind].format_map(context)
    if (message := _PATTERN_MESSAGES.get(context.get("pattern", ""))) is not None:
        return message
    return _VALIDATION_MESSAGES.get(kind) or _OF_PYDANTIC.sub("must", str(problem["msg"])).removeprefix("Value error, ")


def _field_path(loc: Sequence[str | int], body: object) -> list[str | int]:
    """Return the path without union member names, which do not occur in the request."""
    path: list[str | int] = []
    value = body
    for at, part in enumerate(loc):
        match value, part:
            case _, "[key]":
                continue
            case dict(), str() if part in value:
                value = value[part]
            case list(), int() if part < len(value):
                value = value[part]
            case _ if at < len(loc) - 1:
                continue
            case _:
                pass
        path.append(part)
    return path
