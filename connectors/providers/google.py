"""What Google's services share: where they are, how they authorize, what their refusals mean."""

from dataclasses import dataclass

import httpx2

from connectors.errors import AuthExpiredError, OperatorMistakeError, RateLimitedError
from connectors.ports import OAuth

_SLOWER = frozenset(
    {
        "rateLimitExceeded",
        "userRateLimitExceeded",
        "quotaExceeded",
        "dailyLimitExceeded",
        "RATE_LIMIT_EXCEEDED",
    }
)
_SCOPE = frozenset({"insufficientPermissions", "ACCESS_TOKEN_SCOPE_INSUFFICIENT", "insufficientScopes"})
_DISABLED = frozenset({"accessNotConfigured", "SERVICE_DISABLED", "API_KEY_SERVICE_BLOCKED"})
_ADMINISTRATOR = frozenset({"domainPolicy", "accountRestricted"})


@dataclass(frozen=True, slots=True)
class GoogleClient:
    """The OAuth client of this deployment, and where Google is (elsewhere in tests and demonstrations)."""

    id: str
    secret: str
    api: str
    accounts: str = "https://accounts.google.com"
    tokens: str = "https://oauth2.googleapis.com"

    def oauth(self, *scopes: str) -> OAuth:
        """Offline access, asked for anew each time: only a first consent gives a refresh token otherwise."""
        return OAuth(
            authorize_url=f"{self.accounts}/o/oauth2/v2/auth",
            token_url=f"{self.tokens}/token",
            client_id=self.id,
            client_secret=self.secret,
            scopes=scopes,
            parameters={"access_type": "offline", "prompt": "consent", "include_granted_scopes": "true"},
            revoke_url=f"{self.tokens}/revoke",
        )


def judged(response: httpx2.Response, service: str) -> Exception | None:
    """A 403 is many things to Google: too fast, a scope nobody granted, an API nobody enabled, or a no."""
    reasons = refusals(response)
    if reasons & _SLOWER:
        return RateLimitedError(f"{service} allows no more requests for now. The next run continues.")
    if reasons & _SCOPE:
        return AuthExpiredError(
            f"{service} was not granted in full. Connect again and leave every permission ticked."
        )
    if reasons & _DISABLED:
        return OperatorMistakeError(
            f"The {service} API is not enabled in the Google Cloud project of this service."
        )
    if reasons & _ADMINISTRATOR:
        return AuthExpiredError(
            f"An administrator of this Google account does not let applications use {service}. "
            "Ask for access, then connect again."
        )
    return None


def refusals(response: httpx2.Response) -> set[str]:
    """The reasons that a failure names, in both of the forms that Google writes them."""
    try:
        error = response.json()["error"]
        listed = [each.get("reason") for each in error.get("errors", []) + error.get("details", [])]
    except (ValueError, KeyError, TypeError, AttributeError):
        return set()
    return {reason for reason in listed if isinstance(reason, str)}
