"""Client of GitHub's REST API: versioning, pagination, repositories, and the meanings of 403."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import httpx2

from connectors.client.http_client import HttpClient, answered_at
from connectors.client.json_answers import PageTrail, error_body, json_list, json_or_raise, json_page
from connectors.errors import AuthExpiredError, ItemError, MisconfigurationError, RateLimitedError

API_VERSION: Final = "2026-03-10"
PAGE_SIZE: Final = 100
INSTALLED_REPOSITORIES: Final = "/installation/repositories"
_HEADERS: Final = {"accept": "application/vnd.github+json", "x-github-api-version": API_VERSION}
_MINUTE: Final = timedelta(minutes=1)
_GONE_STATUSES: Final = frozenset({404, 410})
"""Statuses of a repository that is deleted or private; 403 and 451 may pass and keep its documents."""


@dataclass(frozen=True, slots=True)
class Repository:
    """Repository under its current name; `id` survives renames and transfers."""

    id: int
    full_name: str
    default_branch: str
    url: str
    node_id: str = ""
    """Id in the GraphQL API."""

    @property
    def api_path(self) -> str:
        return f"/repos/{self.full_name}"

    @property
    def item_id_prefix(self) -> str:
        return f"{self.id}/"

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Repository":
        """Parse the API's representation."""
        name = body["full_name"]
        url = body.get("html_url") or f"https://github.com/{name}"
        return cls(body["id"], name, body.get("default_branch") or "main", url, body.get("node_id") or "")


class GitHubClient:
    """Client of one API address; pagination links are followed verbatim."""

    def __init__(self, http: HttpClient, base_url: str) -> None:
        self._http = http
        self._base_url = base_url

    async def get_response(self, path: str, **params: str | int) -> httpx2.Response:
        """Send a GET and return the response, whatever its status."""
        return await self._http.get(self._url(path), params=params or None, headers=_HEADERS)

    async def get_json(self, path: str, **params: str | int) -> Any:
        """Send a GET that must succeed and return its JSON."""
        return json_or_raise(await self.get_response(path, **params))

    async def pages(self, path: str, **params: str | int) -> AsyncIterator[list[dict[str, Any]]]:
        """Iterate the pages of a list; a missing list has none."""
        answer = await self.get_response(path, per_page=PAGE_SIZE, **params)
        if answer.status_code in {404, 410}:
            return
        trail = PageTrail("GitHub")
        while True:
            yield json_page(answer, "repositories")[0] if path == INSTALLED_REPOSITORIES else json_list(answer)
            following = trail.follow(answer.links.get("next", {}).get("url"))
            if following is None:
                return
            answer = await self.get_response(following)

    async def send(
        self,
        method: str,
        path: str,
        json: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        idempotent: bool | None = None,
    ) -> httpx2.Response:
        """Send a request, usually a modifying one, and return the response."""
        sent = {**_HEADERS, **(headers or {})}
        return await self._http.request(method, self._url(path), json=json, headers=sent, idempotent=idempotent)

    async def graphql(self, query: str, variables: Mapping[str, Any]) -> httpx2.Response:
        """Send a GraphQL query; enterprise servers have its endpoint beside the REST API."""
        url = f"{self._base_url.removesuffix('/v3')}/graphql"
        body = {"query": query, "variables": variables}
        return await self._http.request("POST", url, json=body, idempotent=True)

    async def repository(self, repository_ref: str) -> Repository | None:
        """Fetch a repository by id or `owner/name`; None if it is gone, ItemError if it may not be read now."""
        answer = await self.get_response(repository_path(repository_ref))
        if answer.status_code in _GONE_STATUSES:
            return None
        if answer.status_code == httpx2.codes.UNAVAILABLE_FOR_LEGAL_REASONS:
            raise ItemError(_blocked_message(answer), code="blocked", retryable=True)
        if answer.status_code == 403:
            message = "GitHub does not let this account read the repository. Grant access, or choose another."
            raise ItemError(message, code="not_found", retryable=True)
        return Repository.from_json(json_or_raise(answer))

    def _url(self, path: str) -> str:
        return path if "://" in path else self._base_url + path


def repository_path(repository_ref: str) -> str:
    """Return the API path of a selected repository; ids use the path of GitHub's own redirects."""
    return f"/repositories/{repository_ref}" if repository_ref.isdigit() else f"/repos/{repository_ref}"


def classify_error(response: httpx2.Response) -> Exception | None:
    """Classify 403 and 429 by headers and message: rate limit, missing single sign-on, or permission."""
    if response.status_code == 401 and "/app/installations" in response.url.path:
        return MisconfigurationError(
            "GitHub does not accept the app's key: its operator has to check RECOLLECT_GITHUB_APP_ID and"
            f" RECOLLECT_GITHUB_APP_PRIVATE_KEY, and the clock of this service. GitHub says: {error_message(response)}"
        )
    if response.status_code not in {403, 429}:
        return None
    headers, message = response.headers, error_message(response)
    if "retry-after" in headers:
        return RateLimitedError("GitHub allows no more requests for now.")
    if headers.get("x-ratelimit-remaining") == "0":
        return RateLimitedError("GitHub's hourly budget is used up.", _time_until_reset(response))
    if response.status_code == 429 or "rate limit" in message.lower():
        return RateLimitedError("GitHub asks us to slow down.", _MINUTE)
    if "x-github-sso" in headers:
        return AuthExpiredError(
            "The organization wants single sign-on: authorize recollect for it on GitHub, then connect again."
        )
    if "suspended" in message.lower():
        return AuthExpiredError("GitHub has suspended the account or the installation. Connect it again.")
    return None


def error_message(response: httpx2.Response) -> str:
    """Return GitHub's message in an error response, "" without one."""
    return str(error_body(response).get("message", ""))


def _blocked_message(response: httpx2.Response) -> str:
    """Say why GitHub shows a repository to nobody; it may do so again once its owner has answered the complaint."""
    block = error_body(response).get("block")
    told = block if isinstance(block, dict) else {}
    details = ", ".join(str(told[name]) for name in ("reason", "html_url") if told.get(name))
    return (
        f"GitHub blocks the repository for legal reasons{f' ({details})' if details else ''}. Its documents stay:"
        " take it out of the selection to remove them."
    )


def _time_until_reset(response: httpx2.Response) -> timedelta:
    """Return the time until the limit resets, by GitHub's clock rather than ours."""
    now = answered_at(response)
    try:
        reset = datetime.fromtimestamp(int(response.headers.get("x-ratelimit-reset", "")), UTC)
    except (ValueError, OverflowError, OSError):
        return _MINUTE
    return _MINUTE if now is None else max(timedelta(seconds=1), reset - now)
