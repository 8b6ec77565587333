"""OAuth client and error classification shared by Google's services."""

from dataclasses import dataclass

import httpx2

from connectors.client.access_token import AccessTokenSource
from connectors.client.http_client import HttpClient
from connectors.errors import AuthExpiredError, MisconfigurationError, RateLimitedError
from connectors.provider_interface import OAuthConfig
from connectors.providers.google.service_account import DelegatedTokenSource, ServiceAccount
from pipeline.ports import Clock

_RATE_LIMIT_REASONS = frozenset(
    {"rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded", "dailyLimitExceeded", "RATE_LIMIT_EXCEEDED"}
)
_MISSING_SCOPE_REASONS = frozenset({"insufficientPermissions", "ACCESS_TOKEN_SCOPE_INSUFFICIENT", "insufficientScopes"})
_API_DISABLED_REASONS = frozenset({"accessNotConfigured", "SERVICE_DISABLED", "API_KEY_SERVICE_BLOCKED"})
_ADMIN_POLICY_REASONS = frozenset({"domainPolicy", "accountRestricted"})


@dataclass(frozen=True, slots=True)
class GoogleOAuthClient:
    """OAuth client of this deployment, with Google's URLs (replaced in tests and demonstrations)."""

    id: str
    secret: str
    api_url: str
    accounts_url: str = "https://accounts.google.com"
    token_url: str = "https://oauth2.googleapis.com"  # noqa: S105 - an address
    service_account: ServiceAccount | None = None
    """Account that acts for users in place of their consent."""

    def token_source(
        self, http: HttpClient, namespace: str | None, scope: str, clock: Clock
    ) -> AccessTokenSource | None:
        """Return the service account's tokens for the user of a namespace; None without a service account."""
        account = self.service_account
        return None if account is None else DelegatedTokenSource(account, http, namespace, scope, clock)

    def origins(self, *more: str) -> frozenset[str]:
        """Return the origins of the API, and of the token endpoint that a service account asks."""
        return frozenset({self.api_url, *more, *([self.token_url] if self.service_account else [])})

    def oauth(self, *scopes: str) -> OAuthConfig | None:
        """Build the OAuth parameters; consent is requested every time, as only it yields a refresh token.

        None with a service account, which needs no consent.
        """
        if self.service_account is not None:
            return None
        return OAuthConfig(
            authorize_url=f"{self.accounts_url}/o/oauth2/v2/auth",
            token_url=f"{self.token_url}/token",
            client_id=self.id,
            client_secret=self.secret,
            scopes=scopes,
            authorize_parameters={"access_type": "offline", "prompt": "consent", "include_granted_scopes": "true"},
            revoke_url=f"{self.token_url}/revoke",
        )


def classify_error(response: httpx2.Response, service: str) -> Exception | None:
    """Classify 403 by its reason: rate limit, missing scope, disabled API, or denied access."""
    reasons = error_reasons(response)
    if reasons & _RATE_LIMIT_REASONS:
        return RateLimitedError(f"{service} allows no more requests for now. The next run continues.")
    if reasons & _MISSING_SCOPE_REASONS:
        return AuthExpiredError(f"{service} was not granted in full. Connect again and leave every permission ticked.")
    if reasons & _API_DISABLED_REASONS:
        return MisconfigurationError(f"The {service} API is not enabled in the Google Cloud project of this service.")
    if reasons & _ADMIN_POLICY_REASONS:
        return AuthExpiredError(
            f"An administrator of this Google account does not let applications use {service}. "
            "Ask for access, then connect again."
        )
    return None


def error_reasons(response: httpx2.Response) -> set[str]:
    """Return the reasons of an error in either of Google's two formats."""
    try:
        error = response.json()["error"]
        listed = [each.get("reason") for each in error.get("errors", []) + error.get("details", [])]
    except (ValueError, KeyError, TypeError, AttributeError):
        return set()
    return {reason for reason in listed if isinstance(reason, str)}
