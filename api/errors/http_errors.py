"""Errors of requests with their HTTP status; `api.middleware.exception_handlers` renders them."""

from collections.abc import Mapping
from typing import ClassVar


class ApiError(Exception):
    """Failure reported to the caller: `error` says what was wrong, `details` where or what to do."""

    status: ClassVar[int] = 500

    def __init__(self, error: str, details: str | None = None) -> None:
        super().__init__(error)
        self.error = error
        self.details = details

    def headers(self) -> Mapping[str, str]:
        return {}


class BadRequestError(ApiError):
    """Request that cannot succeed as it was sent."""

    status = 400


class UnauthorizedError(ApiError):
    status = 401

    def headers(self) -> Mapping[str, str]:
        return {"www-authenticate": "Bearer"}


class QuotaExceededError(ApiError):
    status = 402


class ForbiddenError(ApiError):
    """Valid API key without the permission for this request."""

    status = 403


class NotFoundError(ApiError):
    """Resource that does not exist or is hidden from this key."""

    status = 404


class ConflictError(ApiError):
    status = 409


class PayloadTooLargeError(ApiError):
    """Request body above a size limit."""

    status = 413


class NotImplementedHereError(ApiError):
    """Operation of an interface that this service does not do; `details` says why, or what to use instead."""

    status = 501


class ServiceUnavailableError(ApiError):
    """Feature that this deployment does not offer."""

    status = 503


class TooManyRequestsError(ApiError):
    """Rate limit or daily limit exceeded; `retry_after` in seconds."""

    status = 429

    def __init__(self, error: str, retry_after: int) -> None:
        super().__init__(error, f"Try again in {retry_after} seconds.")
        self.retry_after = retry_after

    def headers(self) -> Mapping[str, str]:
        return {"retry-after": str(self.retry_after)}
