"""Access of a GitHub App as an installation: tokens of an hour, requested with a JWT that the app's key signs."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from connectors.client.access_token import RenewedTokenSource
from connectors.client.http_client import HttpClient
from connectors.client.json_answers import json_or_raise
from connectors.errors import AuthExpiredError, MisconfigurationError
from connectors.providers.common.signed_jwt import sign_jwt
from connectors.providers.github.client import GitHubClient
from pipeline.ports import Clock

_JWT_LIFETIME: Final = timedelta(minutes=10)
_NO_KEY: Final = (
    "RECOLLECT_GITHUB_APP_PRIVATE_KEY is not a private key. Its operator has to set the whole PEM file that GitHub made"
    " for the app."
)


@dataclass(frozen=True, slots=True)
class GitHubApp:
    """App with its private key (PEM); without an `installation_id` it has to have exactly one installation."""

    app_id: str
    private_key: str = field(repr=False)
    installation_id: str | None = None

    def sign_jwt(self, now: datetime) -> str:
        """Sign a JWT with which the app authenticates as itself; MisconfigurationError for an unusable key."""
        key = self.private_key.replace("\\n", "\n")
        return sign_jwt({"iss": self.app_id}, key, now=now, lifetime=_JWT_LIFETIME, refusal=_NO_KEY)


class InstallationTokenSource(RenewedTokenSource):
    def __init__(self, app: GitHubApp, http: HttpClient, api_url: str, clock: Clock) -> None:
        super().__init__(clock)
        self._app = app
        self._client = GitHubClient(http, api_url)

    async def _fetch_token(self) -> tuple[str, datetime]:
        number = self._app.installation_id or await self._only_installation()
        answer = await self._send("POST", f"/app/installations/{number}/access_tokens")
        if answer.status_code == 404:
            raise AuthExpiredError("The GitHub App is not installed any more. Install it again.")
        body = json_or_raise(answer)
        return body["token"], datetime.fromisoformat(body["expires_at"])

    async def _only_installation(self) -> int:
        installations = json_or_raise(await self._send("GET", "/app/installations"))
        if len(installations) == 1:
            return int(installations[0]["id"])
        if not installations:
            raise MisconfigurationError("The GitHub App is installed nowhere. Install it, and choose repositories.")
        found = ", ".join(f"{each['id']} ({(each.get('account') or {}).get('login')})" for each in installations)
        raise MisconfigurationError(
            f"The GitHub App has several installations: set RECOLLECT_GITHUB_APP_INSTALLATION to one of {found}."
        )

    async def _send(self, method: str, path: str) -> Any:
        token = self._app.sign_jwt(self._clock.now())
        return await self._client.send(method, path, headers={"authorization": f"Bearer {token}"}, idempotent=True)
