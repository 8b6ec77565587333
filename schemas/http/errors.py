"""The two shapes of a failure."""

from typing import Any, Literal

from schemas.base import Answer
from schemas.http.parts import Maybe, Quantity


class ErrorResponse(Answer):
    """What went wrong, and in `details` where or what to do."""

    error: str
    details: Maybe[str] = None


class Problem(Answer):
    """One thing wrong with a request; `path` leads to it within the body, query or path."""

    message: str
    path: Maybe[list[str | Quantity]] = None


class ValidationErrorResponse(Answer):
    """Everything wrong with a request; `data` says which part of it was meant."""

    success: Literal[False]
    error: list[Problem]
    data: Any = None
