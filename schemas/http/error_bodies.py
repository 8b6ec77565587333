"""Bodies of error responses."""

from typing import Any, Literal

from schemas.base import ResponseBody
from schemas.http.field_types import NumberTypedInt, Omittable


class ErrorResponse(ResponseBody):
    """Error, with `details` on where it is or what to do."""

    error: str
    details: Omittable[str] = None


class ValidationIssue(ResponseBody):
    """Problem of a request; `path` leads to it within the body, query or path."""

    message: str
    path: Omittable[list[str | NumberTypedInt]] = None


class ValidationErrorResponse(ResponseBody):
    """Problems of a request; `data` names the part of the request."""

    success: Literal[False]
    error: list[ValidationIssue]
    data: Any = None
