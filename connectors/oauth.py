"""OAuth with Authlib: authorization links, codes to tokens, and tokens that stay fresh. Its only home."""

import json
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import httpx2

from connectors.errors import AuthExpiredError, ConnectorError, OperatorMistakeError, UnavailableError
from connectors.ports import OAuth
from connectors.vault import Secrets
from pipeline.ports import Locks

if TYPE_CHECKING:
    # Authlib is imported where it is used: a service that nothing is connected to does without its memory.
    from authlib.integrations.base_client import OAuthError
    from authlib.integrations.httpx_client import AsyncOAuth2Client

_LEEWAY: Final = 60.0
"""Seconds before a token's end in which it counts as expired."""
_OPERATOR: Final = frozenset(
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
_PASSING: Final = frozenset({"temporarily_unavailable", "server_error", "slow_down"})

Token = Mapping[str, Any]


class _Borrowed(httpx2.AsyncBaseTransport):
    """A transport that stays open when the client is closed."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return await self._inner.handle_async_request(request)


class Authority:
    """A provider's authorization server, for one redirect URI."""

    def __init__(
        self, provider: str, oauth: OAuth, redirect_uri: str, transport: httpx2.AsyncBaseTransport
    ) -> None:
        self._provider = provider
        self._oauth = oauth
        self._redirect_uri = redirect_uri
        self._transport = transport

    def link(self, state: str, verifier: str) -> str:
        """Where a user authorizes."""
        parameters = dict(self._oauth.parameters)
        if self._oauth.pkce:
            parameters["code_verifier"] = verifier
        if self._oauth.scopes:
            parameters["scope"] = " ".join(self._oauth.scopes)
        url, _ = self._client().create_authorization_url(self._oauth.authorize_url, state=state, **parameters)
        return str(url)

    async def exchange(self, code: str, verifier: str) -> Token:
        """The token for a code. AuthExpiredError where the code is no good."""
        given = {"code_verifier": verifier} if self._oauth.pkce else {}
        return await self._asked("fetch_token", code=code, grant_type="authorization_code", **given)

    async def refresh(self, token: Token) -> Token:
        """The next token. AuthExpiredError where only the user can help."""
        if not token.get("refresh_token"):
            raise AuthExpiredError(f"The access to {self._provider} has ended. Connect it again.")
        fresh = await self._asked("refresh_token", refresh_token=token["refresh_token"])
        return {**token, **fresh}

    async def revoke(self, token: Token) -> None:
        """Give access back, where the provider has a call for it; an answer of whatever kind will do."""
        if self._oauth.revoke_url is None:
            return
        given = token.get("refresh_token") or token.get("access_token")
        async with self._client() as client:
            try:
                await client.revoke_token(self._oauth.revoke_url, token=given)
            except httpx2.HTTPError as error:
                raise UnavailableError(f"{self._provider} could not be told to end the access.") from error

    async def _asked(self, method: str, **given: Any) -> Token:
        from authlib.integrations.base_client import OAuthError  # noqa: PLC0415 - see above

        async with self._client() as client:
            try:
                answer = await getattr(client, method)(self._oauth.token_url, **given)
            except OAuthError as error:
                raise self._judged(error) from error
            except (httpx2.HTTPError, ValueError) as error:
                raise UnavailableError(
                    f"{self._provider} gives no token now ({type(error).__name__}). The next run tries again."
                ) from error
        token = {name: value for name, value in dict(answer).items() if value is not None}
        if "access_token" not in token:
            raise UnavailableError(f"{self._provider} answered without a token. The next run tries again.")
        return token

    def _judged(self, error: "OAuthError") -> ConnectorError:
        """Whose turn it is: the user's, the operator's, or nobody's."""
        code, told = str(error.error), str(error.description or "")
        faults = self._oauth.operator_errors
        if code in _OPERATOR or code in faults or any(fault in told for fault in faults):
            return OperatorMistakeError(
                f"{self._provider} does not accept this service ({code}). Its operator has to check the"
                " client id and secret, and the redirect address registered there."
            )
        if code in _PASSING:
            return UnavailableError(
                f"{self._provider} gives no token now ({code}). The next run tries again."
            )
        return AuthExpiredError(f"{self._provider} has ended the access ({code}). Connect it again.")

    def _client(self) -> "AsyncOAuth2Client":
        from authlib.integrations.httpx_client import AsyncOAuth2Client  # noqa: PLC0415 - see above

        oauth = self._oauth
        client = AsyncOAuth2Client(
            client_id=oauth.client_id,
            client_secret=oauth.client_secret,
            redirect_uri=self._redirect_uri,
            code_challenge_method="S256" if oauth.pkce else None,
            token_endpoint_auth_method=_METHODS[oauth.body, oauth.client_in],
            transport=_Borrowed(self._transport),
            timeout=30.0,
            trust_env=False,
        )
        client.register_client_auth_method(("json_basic", _json_basic))
        return client


_METHODS: Final = {
    ("form", "basic"): "client_secret_basic",
    ("form", "body"): "client_secret_post",
    ("json", "basic"): "json_basic",
}


def _json_basic(
    client: "AsyncOAuth2Client", method: str, url: str, headers: dict[str, str], body: bytes
) -> tuple[str, dict[str, str], str]:
    """The token request as JSON, the client's secret as Basic."""
    from authlib.common.urls import url_decode  # noqa: PLC0415 - see above

    del method
    pair = b64encode(f"{client.client_id}:{client.client_secret}".encode()).decode()
    headers["Authorization"] = f"Basic {pair}"
    headers["Content-Type"] = "application/json"
    return url, headers, json.dumps(dict(url_decode(body.decode())))


class Tokens:
    """`ports.Access`: the kept token of a connector; it is refreshed under a lock, once read again."""

    def __init__(self, connector: str, authority: Authority, secrets: Secrets, locks: Locks) -> None:
        self._connector = connector
        self._authority = authority
        self._secrets = secrets
        self._locks = locks
        self._held: Token | None = None

    async def token(self) -> str:
        """As `ports.Access.token`."""
        if self._held is None or _is_over(self._held):
            self._held = await self._kept()
            if _is_over(self._held):
                return await self.renew(str(self._held["access_token"]))
        return str(self._held["access_token"])

    async def renew(self, rejected: str) -> str:
        """As `ports.Access.renew`; where another process was first, what it got."""
        async with self._locks.hold(f"token/{self._connector}"):
            kept = await self._kept()
            if kept["access_token"] == rejected or _is_over(kept):
                kept = await self._authority.refresh(kept)
                await self._secrets.put(self._connector, "tokens", kept)
            self._held = kept
            return str(kept["access_token"])

    async def _kept(self) -> Token:
        token: Token | None = (await self._secrets.read(self._connector)).get("tokens")
        if token is None:
            raise AuthExpiredError("There is no access any more. Connect it again.")
        return token


def _is_over(token: Token) -> bool:
    until = token.get("expires_at")
    return until is not None and float(until) - _LEEWAY <= datetime.now(UTC).timestamp()
