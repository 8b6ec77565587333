"""OAuth with Authlib: authorization links, code exchange, and refreshing of tokens."""

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import httpx2

from connectors.accounts.credential_vault import SecretStore
from connectors.errors import AuthExpiredError, ConnectorError, MisconfigurationError, ProviderUnavailableError
from connectors.provider_interface import OAuthConfig
from pipeline.ports import Locks

if TYPE_CHECKING:
    # Authlib is imported on first use: a service without connectors does not pay for its memory.
    from authlib.integrations.base_client import OAuthError
    from authlib.integrations.httpx_client import AsyncOAuth2Client

_EXPIRY_LEEWAY_SECONDS: Final = 60.0
"""Seconds before its expiry from which a token counts as expired."""
_MISCONFIGURATION_CODES: Final = frozenset(
    {
        "invalid_client",
        "unauthorized_client",
        "unsupported_grant_type",
        "unsupported_response_type",
        "invalid_scope",
        "redirect_uri_mismatch",
        "incorrect_client_credentials",
        "application_suspended",
    }
)
_TRANSIENT_CODES: Final = frozenset({"temporarily_unavailable", "server_error", "slow_down"})

Token = Mapping[str, Any]


class _NonClosingTransport(httpx2.AsyncBaseTransport):
    """Transport that stays open when the client on top of it is closed."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return await self._inner.handle_async_request(request)


@dataclass(frozen=True, slots=True)
class AuthorizationServer:
    provider: str
    oauth: OAuthConfig
    redirect_uri: str
    transport: httpx2.AsyncBaseTransport

    def authorization_url(self, state: str, verifier: str) -> str:
        parameters = dict(self.oauth.authorize_parameters)
        if self.oauth.pkce:
            parameters["code_verifier"] = verifier
        if self.oauth.scopes:
            parameters["scope"] = " ".join(self.oauth.scopes)
        url, _ = self._client().create_authorization_url(self.oauth.authorize_url, state=state, **parameters)
        return str(url)

    async def exchange_code(self, code: str, verifier: str) -> Token:
        """Exchange an authorization code for a token; AuthExpiredError if the code is invalid."""
        given = {"code_verifier": verifier} if self.oauth.pkce else {}
        return await self._request_token("fetch_token", code=code, grant_type="authorization_code", **given)

    async def refresh(self, token: Token) -> Token:
        """Refresh a token; AuthExpiredError if the user has to authorize again."""
        if not token.get("refresh_token"):
            raise AuthExpiredError(f"The access to {self.provider} has ended. Connect it again.")
        fresh = await self._request_token("refresh_token", refresh_token=token["refresh_token"])
        return {**token, **fresh}

    async def revoke(self, token: Token) -> None:
        """Revoke a token if the provider supports it; the answer is ignored."""
        if self.oauth.revoke_url is None:
            return
        given = token.get("refresh_token") or token.get("access_token")
        async with self._client() as client:
            try:
                await client.revoke_token(self.oauth.revoke_url, token=given)
            except httpx2.HTTPError as error:
                raise ProviderUnavailableError(f"{self.provider} could not be told to end the access.") from error

    async def _request_token(self, method: str, **given: Any) -> Token:
        from authlib.integrations.base_client import OAuthError  # noqa: PLC0415 - see above

        async with self._client() as client:
            try:
                answer = await getattr(client, method)(self.oauth.token_url, **given)
            except OAuthError as error:
                raise self._classify_error(error) from error
            except (httpx2.HTTPError, ValueError) as error:
                raise ProviderUnavailableError(
                    f"{self.provider} gives no token now ({type(error).__name__}). The next run tries again."
                ) from error
        token = {name: value for name, value in dict(answer).items() if value is not None}
        if "access_token" not in token:
            raise ProviderUnavailableError(f"{self.provider} answered without a token. The next run tries again.")
        return token

    def _classify_error(self, error: "OAuthError") -> ConnectorError:
        """Map an OAuth error to the party that has to act: user, operator, or nobody (retry)."""
        code, description = str(error.error), str(error.description or "")
        faults = self.oauth.misconfiguration_codes
        if code in _MISCONFIGURATION_CODES or code in faults or any(fault in description for fault in faults):
            return MisconfigurationError(
                f"{self.provider} does not accept this service ({code}). Its operator has to check the"
                " client id and secret, and the redirect address registered there."
            )
        if code in _TRANSIENT_CODES:
            return ProviderUnavailableError(f"{self.provider} gives no token now ({code}). The next run tries again.")
        return AuthExpiredError(f"{self.provider} has ended the access ({code}). Connect it again.")

    def _client(self) -> "AsyncOAuth2Client":
        from authlib.integrations.httpx_client import AsyncOAuth2Client  # noqa: PLC0415 - see above

        oauth = self.oauth
        client = AsyncOAuth2Client(
            client_id=oauth.client_id,
            client_secret=oauth.client_secret,
            redirect_uri=self.redirect_uri,
            code_challenge_method="S256" if oauth.pkce else None,
            token_endpoint_auth_method=oauth.token_auth_method,
            transport=_NonClosingTransport(self.transport),
            timeout=30.0,
            trust_env=False,
        )
        client.register_client_auth_method(("json_basic", _json_basic))
        return client


def _json_basic(
    client: "AsyncOAuth2Client", method: str, url: str, headers: dict[str, str], body: bytes
) -> tuple[str, dict[str, str], str]:
    """Encode a token request as JSON with the client's credentials in HTTP Basic."""
    from authlib.common.urls import url_decode  # noqa: PLC0415 - see above

    pair = b64encode(f"{client.client_id}:{client.client_secret}".encode()).decode()
    headers["Authorization"] = f"Basic {pair}"
    headers["Content-Type"] = "application/json"
    return url, headers, json.dumps(dict(url_decode(body.decode())))


@dataclass(slots=True)
class RefreshingTokenSource:
    """`AccessTokenSource` over the stored token; it refreshes under a lock after reading the token again."""

    connector: str
    authorization_server: AuthorizationServer
    secrets: SecretStore
    locks: Locks
    _cached: Token | None = None

    async def token(self) -> str:
        if self._cached is None or _is_expired(self._cached):
            self._cached = await self._load()
            if _is_expired(self._cached):
                return await self.refresh(str(self._cached["access_token"]))
        return str(self._cached["access_token"])

    async def refresh(self, rejected_token: str) -> str:
        """Replace a rejected token; if another process already did, return its token."""
        async with self.locks.acquire(f"token/{self.connector}"):
            kept = await self._load()
            if kept["access_token"] == rejected_token or _is_expired(kept):
                kept = await self.authorization_server.refresh(kept)
                await self.secrets.set_value(self.connector, "tokens", kept)
            self._cached = kept
            return str(kept["access_token"])

    async def _load(self) -> Token:
        token: Token | None = (await self.secrets.read(self.connector)).get("tokens")
        if token is None:
            raise AuthExpiredError("There is no access any more. Connect it again.")
        return token


def _is_expired(token: Token) -> bool:
    until = token.get("expires_at")
    return until is not None and float(until) - _EXPIRY_LEEWAY_SECONDS <= datetime.now(UTC).timestamp()
