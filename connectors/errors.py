"""What ends a run, by the contract's code. Each message may be read by a customer: no secret, no trace."""

from datetime import timedelta
from typing import ClassVar

from schemas.http.connectors import RunError


class ConnectorError(Exception):
    """A run ends with `code` and this message. Raised as it is: something nobody foresaw at the provider."""

    code: ClassVar[RunError] = "internal"


class AuthExpiredError(ConnectorError):
    """Only the user can help: authorize again, or give another key."""

    code = "auth_expired"


class RateLimitedError(ConnectorError):
    """The provider's budget is used up for longer than a run waits; `after`: when it may be tried again."""

    code = "rate_limited"

    def __init__(self, message: str, after: timedelta | None = None) -> None:
        super().__init__(message)
        self.after = after


class PlanRequiredError(ConnectorError):
    """The customer's plan at the provider does not include this."""

    code = "plan_required"


class UsedUpError(ConnectorError):
    """The documents of this month are used up here: a later run goes on from where this one ended."""

    code = "plan_required"


class UnavailableError(ConnectorError):
    """The provider does not answer, or not sensibly, also after several attempts."""

    code = "provider_unavailable"


class OperatorMistakeError(ConnectorError):
    """Whoever runs this service has to mend it: a wrong client secret, a missing permission of the app."""


class CursorExpiredError(Exception):
    """The provider forgot the cursor (410, history too old): begin again with a complete listing."""


class ForgedError(Exception):
    """A delivery without a right signature or secret, or malformed; answered 401 and logged."""


class NotFetchedError(Exception):
    """One URL can't be had: too large, a private address, too many redirects. A `Failure` of its item."""
