"""Errors that end a run, by the contract's code, and `ItemError`, which fails a single item.

Messages are shown to customers and hold no secrets.
"""

from datetime import timedelta
from typing import Final

from schemas.http.v5.connector_bodies import SyncErrorCode

MAX_RETRY_AFTER: Final = timedelta(days=1)
"""Longest wait that a provider can ask for; a wrong header would otherwise stop a connector for years."""


class ConnectorError(Exception):
    """Base of errors that end a run with `code`.

    `code` given: instead of that of the class.
    """

    code: SyncErrorCode = "internal"

    def __init__(self, message: str, *, code: SyncErrorCode | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code


class UnexpectedAnswerError(ConnectorError):
    """Answer to one request that its provider does not describe; if the request was for one item, the item fails."""


class AuthExpiredError(ConnectorError):
    """Credentials no longer work: the user has to authorize again or supply another key."""

    code = "auth_expired"


class UnusableSourceError(ConnectorError):
    """Source that can't be read as it was connected: a wrong bucket or address, a missing permission.

    Its code is that of rejected credentials, because the same people act: they correct it or connect again.
    """

    code = "auth_expired"


class RateLimitedError(ConnectorError):
    """Rate limit for longer than a run waits; `retry_after` is the time until the next attempt, a day at most."""

    code = "rate_limited"

    def __init__(self, message: str, retry_after: timedelta | None = None) -> None:
        super().__init__(message)
        self.retry_after = None if retry_after is None else min(retry_after, MAX_RETRY_AFTER)


class PlanRequiredError(ConnectorError):
    """The customer's plan at the provider does not include this."""

    code = "plan_required"


class QuotaExhaustedError(ConnectorError):
    """Monthly document quota of this service is used up; a later run continues from the same place."""

    code = "plan_required"


class ProviderUnavailableError(ConnectorError):
    """No usable answer from the provider after several attempts."""

    code = "provider_unavailable"


class MisconfigurationError(ConnectorError):
    """Configuration error for the operator: a wrong client secret, a missing permission of the app."""


class CursorExpiredError(Exception):
    """Cursor unknown to the provider (410, history too old): start over with a complete listing."""


class WebhookVerificationError(Exception):
    """Delivery that is malformed or lacks a valid signature or secret; answered 401 and logged."""


class ItemError(Exception):
    """Failure of an item that a provider can't serve; the run goes on without it.

    Raise it while an item is fetched: `ItemFetcher.fetch` reports it as a `FailedItem`, so the message says what
    was wrong and what to do. `retryable`: later runs try again, with growing pauses. Never yield a `RemovedItem`
    instead, because an item that can't be read keeps its document.
    """

    def __init__(self, message: str, *, code: str = "unreadable", retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable


class ResourceFetchError(ItemError):
    """Failure of one URL: too large, a private address, too many redirects."""
