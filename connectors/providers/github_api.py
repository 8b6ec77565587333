"""GitHub's REST API: its version, its pages, its repositories, and the many meanings of 403."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Final

import httpx2

from connectors.errors import AuthExpiredError, RateLimitedError
from connectors.http import Http, checked

VERSION: Final = "2026-03-10"
PAGE: Final = 100
_MINUTE: Final = timedelta(minutes=1)
_ABSENT: Final = frozenset({403, 404, 410, 451})
"""For a repository: blocked, deleted or not to be seen, issues switched off, taken down."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository as it is called now; `id` stays when it is renamed or handed over."""

    id: int
    name: str
    branch: str
    url: str
    node: str = ""
    """What GraphQL calls it."""

    @property
    def path(self) -> str:
        """Where the API has it."""
        return f"/repos/{self.name}"

    @property
    def prefix(self) -> str:
        """What the ids of its items begin with."""
        return f"{self.id}/"

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> "Repository":
        """From the API's answer."""
        return cls(body["id"], body["full_name"], body["default_branch"], body["html_url"], body["node_id"])


class Api:
    """Requests to one API address, in its version. Links to further pages are followed as they are."""

    def __init__(self, http: Http, address: str) -> None:
        self._http = http
        self._address = address

    async def ask(self, path: str, **params: str | int) -> httpx2.Response:
        """The answer to a GET, whatever its status."""
        headers = {"accept": "application/vnd.github+json", "x-github-api-version": VERSION}
        return await self._http.get(self._url(path), params=params or None, headers=headers)

    async def get(self, path: str, **params: str | int) -> Any:
        """The JSON of a GET that must go well."""
        return checked(await self.ask(path, **params))

    async def pages(self, path: str, **params: str | int) -> AsyncIterator[list[dict[str, Any]]]:
        """The pages of a list. A list that is not there has none."""
        answer = await self.ask(path, per_page=PAGE, **params)
        if answer.status_code in {404, 410}:
            return
        while True:
            yield checked(answer)
            following = answer.links.get("next", {}).get("url")
            if following is None:
                return
            answer = await self.ask(following)

    async def send(self, method: str, path: str, json: Any = None) -> httpx2.Response:
        """The answer to a request that changes something."""
        headers = {"accept": "application/vnd.github+json", "x-github-api-version": VERSION}
        return await self._http.request(method, self._url(path), json=json, headers=headers)

    async def question(self, query: str, variables: Mapping[str, Any]) -> httpx2.Response:
        """The answer to a GraphQL query, which an enterprise server takes beside its REST API."""
        url = f"{self._address.removesuffix('/v3')}/graphql"
        body = {"query": query, "variables": variables}
        return await self._http.request("POST", url, json=body, repeatable=True)

    async def repository(self, choice: str) -> Repository | None:
        """The repository with this id or `owner/name`; None: deleted, or not to be seen with this token."""
        answer = await self.ask(where(choice))
        return None if answer.status_code in _ABSENT else Repository.read(checked(answer))

    def _url(self, path: str) -> str:
        return path if "://" in path else self._address + path


def where(choice: str) -> str:
    """The path of a selected repository. By its id is where GitHub's own redirects and links lead, too."""
    return f"/repositories/{choice}" if choice.isdigit() else f"/repos/{choice}"


def judge(response: httpx2.Response) -> Exception | None:
    """403 and 429 are a limit, a missing sign-on, or a missing permission: headers and message tell which."""
    if response.status_code not in {403, 429}:
        return None
    headers, message = response.headers, _message(response)
    if "retry-after" in headers:
        return RateLimitedError("GitHub allows no more requests for now.")
    if headers.get("x-ratelimit-remaining") == "0":
        return RateLimitedError("GitHub's hourly budget is used up.", _until_reset(response))
    if response.status_code == 429 or "rate limit" in message.lower():
        return RateLimitedError("GitHub asks us to slow down.", _MINUTE)
    if "x-github-sso" in headers:
        return AuthExpiredError(
            "The organization wants single sign-on: authorize recollect for it on GitHub, then connect again."
        )
    if "suspended" in message.lower():
        return AuthExpiredError("GitHub has suspended the account or the installation. Connect it again.")
    return None


def _message(response: httpx2.Response) -> str:
    try:
        body = response.json()
    except ValueError:
        return ""
    return str(body.get("message", "")) if isinstance(body, dict) else ""


def _until_reset(response: httpx2.Response) -> timedelta:
    """By GitHub's own clock, so that ours may be wrong."""
    reset = response.headers.get("x-ratelimit-reset", "")
    if not reset.isdigit() or "date" not in response.headers:
        return _MINUTE
    now = parsedate_to_datetime(response.headers["date"])
    return max(timedelta(seconds=1), datetime.fromtimestamp(int(reset), UTC) - now)
