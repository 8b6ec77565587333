"""What can go wrong with a request, as errors that know their status. Rendered by api.errors."""

from collections.abc import Mapping
from typing import ClassVar


class ApiError(Exception):
    """A failure to tell the caller about: what was wrong, and in `details` where or what to do."""

    status: ClassVar[int] = 500

    def __init__(self, error: str, details: str | None = None) -> None:
        super().__init__(error)
        self.error = error
        self.details = details

    def headers(self) -> Mapping[str, str]:
        """Headers that belong to the failure."""
        return {}


class BadRequestError(ApiError):
    """The request can never work as it is."""

    status = 400


class UnauthorizedError(ApiError):
    """No key, or one that opens nothing."""

    status = 401

    def headers(self) -> Mapping[str, str]:
        """Which kind of key is wanted."""
        return {"www-authenticate": "Bearer"}


class UsedUpError(ApiError):
    """A quota of the month is used up."""

    status = 402


class ForbiddenError(ApiError):
    """The key does not open this."""

    status = 403


class NotFoundError(ApiError):
    """There is no such thing, or not for this key."""

    status = 404


class ConflictError(ApiError):
    """It contradicts the present state."""

    status = 409


class TooLargeError(ApiError):
    """More than is taken at once."""

    status = 413


class UnavailableError(ApiError):
    """This deployment does not offer it."""

    status = 503


class TooManyRequestsError(ApiError):
    """Too fast, or too often today; `retry_after` in seconds."""

    status = 429

    def __init__(self, error: str, retry_after: int) -> None:
        super().__init__(error, f"Try again in {retry_after} seconds.")
        self.retry_after = retry_after

    def headers(self) -> Mapping[str, str]:
        """When to come back."""
        return {"retry-after": str(self.retry_after)}
