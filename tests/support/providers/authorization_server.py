"""An authorization server as Google and Microsoft run one: codes with PKCE, refresh tokens, revocation."""

import base64
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from typing import Any
from urllib.parse import parse_qsl, urlencode

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import RSAKey

from connectors.errors import AuthExpiredError
from tests.support.providers.provider_double import DoubleResponse

CLIENT_ID = "the-client"
CLIENT_SECRET = "the-client-secret"
JWT_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
REVOKED = {"error": "invalid_grant", "error_description": "Token has been expired or revoked."}


@dataclass
class AuthorizationServerDouble:
    """`rotates`: a refresh gives a new refresh token too, and the old one stays good, as Microsoft does."""

    rotates_refresh_tokens: bool = False
    revoked_error: dict[str, object] = field(default_factory=lambda: dict(REVOKED))
    access_tokens: set[str] = field(default_factory=lambda: {"access-0"})
    refresh_tokens: set[str] = field(default_factory=lambda: {"refresh-0"})
    scope: str = ""
    accepts_any_code: bool = False
    """Codes are taken from anybody: for tests that come back from a consent nobody was asked for."""
    service_key: RSAKey | None = None
    """Key of a service account; `delegated_scopes` are granted to it, for `users`."""
    delegated_scopes: set[str] = field(default_factory=set)
    users: set[str] = field(default_factory=set)
    delegations: list[dict[str, Any]] = field(default_factory=list)
    _codes: dict[str, tuple[str, str]] = field(default_factory=dict)
    _numbers: "count[int]" = field(default_factory=lambda: count(1))

    def accepts(self, authorization: str | None) -> bool:
        """Return whether a request carries a valid token."""
        return authorization is not None and authorization.removeprefix("Bearer ") in self.access_tokens

    def expire(self) -> None:
        """Access tokens are good for no more requests; a refresh mends it."""
        self.access_tokens.clear()

    def revoke(self) -> None:
        """The user withdrew: only a new consent mends it."""
        self.access_tokens.clear()
        self.refresh_tokens.clear()

    def consent(self, query: str) -> DoubleResponse:
        """The page of consent, agreed to at once: leads back with a code."""
        asked = dict(parse_qsl(query))
        assert asked["response_type"] == "code"
        assert asked["client_id"] == CLIENT_ID
        assert asked["code_challenge_method"] == "S256"
        self.scope = asked["scope"]
        code = f"code-{next(self._numbers)}"
        self._codes[code] = (asked["code_challenge"], asked["redirect_uri"])
        location = f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"
        return DoubleResponse(302, headers={"location": location})

    def token(self, body: bytes) -> DoubleResponse:
        """The token endpoint, asked with a form."""
        form = dict(parse_qsl(body.decode()))
        if form.get("grant_type") == JWT_GRANT and self.service_key is not None:
            return self._delegate(self.service_key, form.get("assertion", ""))
        if (form.get("client_id"), form.get("client_secret")) != (CLIENT_ID, CLIENT_SECRET):
            return DoubleResponse(401, {"error": "invalid_client", "error_description": "The client is not known."})
        match form.get("grant_type"):
            case "authorization_code":
                challenge, redirect = self._codes.pop(form.get("code", ""), ("", ""))
                digest = sha256(form.get("code_verifier", "").encode()).digest()
                proof = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
                good = self.accepts_any_code or (challenge, redirect) == (proof, form.get("redirect_uri"))
                return self._issue(first=True) if good else DoubleResponse(400, {"error": "invalid_grant"})
            case "refresh_token":
                is_known = form.get("refresh_token") in self.refresh_tokens
                return self._issue(first=False) if is_known else DoubleResponse(400, self.revoked_error)
        return DoubleResponse(400, {"error": "unsupported_grant_type"})

    def _delegate(self, key: RSAKey, assertion: str) -> DoubleResponse:
        """A token for the user whom a service account names, as Google gives it."""
        try:
            found = jwt.decode(assertion, key, algorithms=["RS256"])
        except JoseError:
            return DoubleResponse(400, {"error": "invalid_grant", "error_description": "Invalid JWT Signature."})
        claims = found.claims
        assert claims["exp"] - claims["iat"] <= 3600
        if claims["scope"] not in self.delegated_scopes:
            told = "Client is unauthorized to retrieve access tokens using this method, or for any of the scopes."
            return DoubleResponse(401, {"error": "unauthorized_client", "error_description": told})
        if claims["sub"] not in self.users:
            return DoubleResponse(400, {"error": "invalid_grant", "error_description": "Invalid email or User ID"})
        self.scope = claims["scope"]
        self.delegations.append(claims)
        return self._issue(first=False)

    def _issue(self, *, first: bool) -> DoubleResponse:
        number = next(self._numbers)
        self.access_tokens.add(f"planted-access-{number}")
        granted = {"access_token": f"planted-access-{number}", "expires_in": 3600, "token_type": "Bearer"}
        granted |= {"scope": self.scope}
        if first or self.rotates_refresh_tokens:
            self.refresh_tokens.add(f"planted-refresh-{number}")
            granted |= {"refresh_token": f"planted-refresh-{number}"}
        return DoubleResponse(200, granted)


@dataclass
class GrantTokenSource:
    """`ports.Access` by refresh tokens, without the store and the lock of the real one."""

    accounts: AuthorizationServerDouble
    current: str = "access-0"
    refresh_token: str = "refresh-0"

    async def token(self) -> str:
        """The token at hand."""
        return self.current

    async def refresh(self, rejected_token: str) -> str:
        """A refresh; AuthExpiredError where the grant is gone."""
        form = {"grant_type": "refresh_token", "refresh_token": self.refresh_token}
        form |= {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
        answer = self.accounts.token(urlencode(form).encode())
        if answer.status != 200:
            raise AuthExpiredError("Authorize again.")
        self.current = answer.body["access_token"]
        return self.current
