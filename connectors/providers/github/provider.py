"""GitHub provider: files, issues and pull requests of selected repositories.

Ids begin with the repository's number, which survives renames. Files are compared by Git's hashes, so a forced
push, another default branch and a rename are all handled as two different trees.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from pydantic import JsonValue

from connectors.client.access_token import AccessTokenSource
from connectors.client.http_client import HttpClient, origin
from connectors.client.json_answers import json_list, json_object, json_page
from connectors.client.request_throttle import RateLimit
from connectors.errors import ItemError, WebhookVerificationError
from connectors.provider_interface import (
    ChangeHint,
    Connection,
    OAuthConfig,
    PickerEntry,
    PickerPage,
    Provider,
    SelectionKind,
    VerifiedDelivery,
    WebhookDelivery,
    WebhookSubscription,
)
from connectors.providers.common.item_fetcher import ItemFetcher
from connectors.providers.common.webhook_signature import require_signature
from connectors.providers.github import client
from connectors.providers.github.batch_head_check import fetch_heads
from connectors.providers.github.client import (
    INSTALLED_REPOSITORIES,
    PAGE_SIZE,
    GitHubClient,
    Repository,
    repository_path,
)
from connectors.providers.github.file_filter import FileFilter
from connectors.providers.github.installation import GitHubApp, InstallationTokenSource
from connectors.providers.github.issues import IssueWatermarks, RepositoryIssues
from connectors.providers.github.repository_files import RepositoryFiles, fetch_head
from connectors.providers.github.state import RepositoryState, load_state, name_key, state_entry, state_key
from connectors.sync_messages import (
    Checkpoint,
    Cursor,
    FailedItem,
    ProviderState,
    RemovedItem,
    SyncMessage,
    SyncState,
    UnlistablePrefix,
)
from pipeline.ports import Clock
from schemas.events import ConnectorAccount

API_URL: Final = "https://api.github.com"
SITE_URL: Final = "https://github.com"
WEBHOOK_EVENTS: Final = (
    "push",
    "repository",
    "issues",
    "issue_comment",
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
)
_UNLISTED_EVENTS: Final = {
    ("issues", "deleted"),
    ("issues", "transferred"),
    ("issue_comment", "deleted"),
    ("pull_request_review", "edited"),
    ("pull_request_review", "dismissed"),
    ("pull_request_review_comment", "deleted"),
}
"""Events whose changes no list of changes contains."""
_MIN_REPOSITORIES_FOR_HEAD_CHECK: Final = 2
"""Minimum for the batch query; a single repository's lists cost no more and are exact."""
_MIN_IDS_FOR_LISTING: Final = 5
"""Number of repositories from which names are read from the list of all repositories."""


class GitHub(Provider):
    """GitHub or a GitHub Enterprise server.

    With an `app`, connectors read as its installation and need no authorization. With a `webhook_secret`, deliveries
    come from a GitHub App for all its installations; without one, a webhook is created in every selected repository.
    """

    name = "github"
    selection_kinds = ("repos",)
    supports_webhooks = True
    max_delivery_bytes = 25 * 1024 * 1024
    rate_limit = RateLimit(requests_per_second=15.0, max_concurrent=10, burst=30)

    classify_error = staticmethod(client.classify_error)

    def __init__(
        self,
        client_id: str | None,
        client_secret: str,
        *,
        app: GitHubApp | None = None,
        webhook_secret: str | None = None,
        api_url: str = API_URL,
        site_url: str = SITE_URL,
        clock: Clock,
    ) -> None:
        self._api_url = api_url.rstrip("/")
        self._clock = clock
        self._webhook_secret = webhook_secret
        site_url = site_url.rstrip("/")
        self.api_origins = frozenset({origin(api_url)})
        self._app = app
        self.has_service_access = app is not None
        if app is None and client_id is not None:
            self.oauth = OAuthConfig(
                authorize_url=f"{site_url}/login/oauth/authorize",
                token_url=f"{site_url}/login/oauth/access_token",
                client_id=client_id,
                client_secret=client_secret,
                scopes=("repo",),
            )

    def service_token_source(self, http: HttpClient, namespace: str | None) -> AccessTokenSource | None:
        return None if self._app is None else InstallationTokenSource(self._app, http, self._api_url, self._clock)

    async def fetch_account(self, connection: Connection) -> ConnectorAccount | None:
        """Return the login, and the number that identifies the account in webhooks."""
        found = await self._probe(self._client(connection))
        if self._app is None:
            return ConnectorAccount(name=found["login"], webhook_id=str(found["id"]))
        owner = next((repository["owner"] for repository in found["repositories"]), None)
        return owner and ConnectorAccount(name=owner["login"], webhook_id=str(owner["id"]))

    async def _probe(self, api: GitHubClient) -> Any:
        """Send a cheap request that answers whenever the access works."""
        return (
            await api.get_json("/user") if self._app is None else await api.get_json(INSTALLED_REPOSITORIES, per_page=1)
        )

    async def sync(self, connection: Connection, cursor: Cursor | None, state: SyncState) -> AsyncIterator[SyncMessage]:
        """Sync repository by repository; a killed run continues with the repository it had reached."""
        complete = cursor is None or "done" in cursor
        done = _string_list((cursor or {}).get("done"))
        failed = await state.retryable_failures()
        same = set[str]() if complete or failed else await self._unchanged_repositories(connection, state)
        api = self._client(connection)
        fetcher = ItemFetcher("GitHub", lambda: self._probe(api))
        file_filter = FileFilter.from_config(connection.config)
        for choice in connection.selected_ids("repos"):
            if choice in done or choice in same:
                continue
            steps = self._sync_repository(
                api, choice, state, full_sync=complete, failed=failed, fetcher=fetcher, file_filter=file_filter
            )
            async for step in _isolated(steps, choice, state, fetcher):
                yield step or Checkpoint({"done": [*done]} if complete else {})
            done.append(choice)
            yield Checkpoint({"done": [*done]} if complete else {})
        yield Checkpoint({})

    async def _unchanged_repositories(self, connection: Connection, sync_state: SyncState) -> set[str]:
        """Return the repositories that one batch query shows to be unchanged.

        Returns none if an event triggered the run, because its change may be invisible to the query.
        """
        now, chosen = self._clock.now(), connection.selected_ids("repos")
        states = {choice: state for choice in chosen if (state := (await load_state(choice, sync_state))[1])}
        settled = {choice: state for choice, state in states.items() if state.is_settled(now)}
        if len(chosen) < _MIN_REPOSITORIES_FOR_HEAD_CHECK or not settled:
            return set()
        seen = await fetch_heads(self._client(connection), [state.node_id for state in settled.values()])
        same = {
            choice
            for choice, state in settled.items()
            if (glance := seen.get(state.node_id)) is not None and state.matches(glance)
        }
        return set() if connection.triggered_by_event and len(same) == len(chosen) else same

    async def _sync_repository(
        self,
        client: GitHubClient,
        repository_ref: str,
        sync_state: SyncState,
        *,
        full_sync: bool,
        failed: Sequence[str],
        fetcher: ItemFetcher,
        file_filter: FileFilter,
    ) -> AsyncIterator[SyncMessage | None]:
        """Yield the changes or all items of one repository; None marks a point for a checkpoint."""
        number, before = await load_state(repository_ref, sync_state)
        repository = await client.repository(number or repository_ref)
        if repository is None:
            async for step in _remove_repository(repository_ref, number, sync_state):
                yield step
            return
        state = None if full_sync else before
        read_at = self._clock.now().isoformat()
        newest = None
        if file_filter.branch is not None:
            of_branch = replace(repository, default_branch=file_filter.branch)
            newest = await fetch_head(client, of_branch)
            yield _branch_outcome(of_branch, repository, is_there=newest is not None)
            repository = repository if newest is None else of_branch
        newest = newest or await fetch_head(client, repository)
        sha = newest.sha if newest else None
        if (
            any(id_.startswith(f"{repository.item_id_prefix}blob/") for id_ in failed)
            or state is None
            or (repository.full_name, repository.default_branch, sha)
            != (state.full_name, state.default_branch, state.head)
        ):
            files = RepositoryFiles(
                client, repository, newest, state.head if state else None, fetcher, file_filter=file_filter
            )
            async for found in files.sync(sync_state, full_sync=full_sync):
                yield found
            yield None
        watermarks = state.watermarks if state else IssueWatermarks()
        issues = RepositoryIssues(client, repository, watermarks, fetcher)
        prefix = f"{repository.item_id_prefix}issues/"
        numbers = [int(id_.removeprefix(prefix)) for id_ in failed if id_.removeprefix(prefix).isdigit()]
        are_read = True
        async for changed in _isolated(
            _sync_issues(issues, sync_state, full_sync=state is None, failed_numbers=numbers),
            prefix.rstrip("/"),
            sync_state,
            fetcher,
            prefix=prefix,
        ):
            are_read = are_read and not isinstance(changed, UnlistablePrefix)
            yield changed
        now = RepositoryState(
            repository.full_name,
            repository.default_branch,
            sha,
            issues.watermarks if are_read else watermarks,
            repository.node_id,
            read_at if are_read else "",
        )
        yield state_entry(repository.id, now)
        if number is None:
            yield ProviderState(name_key(repository_ref), str(repository.id))

    async def resolve_names(self, connection: Connection, kind: SelectionKind, ids: Sequence[str]) -> Mapping[str, str]:
        """Return repository names by `owner/name` or number."""
        api, found = self._client(connection), dict[str, str]()
        if len(ids) >= _MIN_IDS_FOR_LISTING:
            async for page in api.pages("/user/repos" if self._app is None else INSTALLED_REPOSITORIES):
                found |= {str(repository["id"]): repository["full_name"] for repository in page}
                found |= {repository["full_name"]: repository["full_name"] for repository in page}
        for id_ in ids:
            with suppress(ItemError):  # the run tells what is wrong with it
                if id_ not in found and (repository := await api.repository(id_)):
                    found[id_] = repository.full_name
        return {id_: found[id_] for id_ in ids if id_ in found}

    async def browse(
        self, connection: Connection, parent: str | None, query: str, page_token: str | None
    ) -> PickerPage:
        """List accessible repositories, of a user the most recently pushed first, filtered by the query on our side."""
        api, page = self._client(connection), {"per_page": PAGE_SIZE, "page": int(page_token or 1)}
        if self._app is None:
            answer = await api.get_response("/user/repos", sort="pushed", **page)
            listed = json_list(answer)
        else:
            answer = await api.get_response(INSTALLED_REPOSITORIES, **page)
            listed, _ = json_page(answer, "repositories")
        entries = tuple(
            PickerEntry(str(found["id"]), found["full_name"], "repos", found["description"] or "")
            for found in listed
            if query.lower() in found["full_name"].lower()
        )
        return PickerPage(entries, str(int(page_token or 1) + 1) if "next" in answer.links else None)

    async def read_delivery(self, delivery: WebhookDelivery) -> VerifiedDelivery:
        """Verify the SHA-256 signature over the raw body; the older SHA-1 signature is not accepted."""
        secret = delivery.subscription.secret if delivery.subscription else self._webhook_secret
        given = delivery.headers.get("x-hub-signature-256", "")
        require_signature(secret, delivery.body, given, "The delivery is not signed with GitHub's webhook secret.")
        try:
            body = json.loads(delivery.body)
        except ValueError as error:
            raise WebhookVerificationError(
                "The delivery is not JSON: set the webhook's content type to JSON."
            ) from error
        event = delivery.headers.get("x-github-event", "")
        return VerifiedDelivery(_hints(event, body), delivery.headers.get("x-github-delivery"))

    async def subscribe(
        self, connection: Connection, callback_url: str, secret: str, current: WebhookSubscription | None
    ) -> WebhookSubscription | None:
        """Create a webhook in every selected repository that the account administers; others are polled."""
        if self._webhook_secret is not None:
            return None
        api = self._client(connection)
        old = current.data if current and current.secret == secret else {}
        hooks, refused = _parse_hooks(old.get("hooks")), set(_string_list(old.get("refused")))
        chosen = connection.selected_ids("repos")
        for choice in hooks.keys() - set(chosen):
            await api.send("DELETE", f"{repository_path(choice)}/hooks/{hooks.pop(choice)}")
        for choice in chosen:
            if choice not in hooks and choice not in refused:
                number = await _create_hook(api, choice, callback_url, secret)
                if number is None:
                    refused.add(choice)
                else:
                    hooks[choice] = number
        data: dict[str, JsonValue] = {"hooks": {**hooks}, "refused": [*sorted(refused & set(chosen))]}
        return WebhookSubscription(connection.connector_id, secret, data=data)

    async def unsubscribe(self, connection: Connection, current: WebhookSubscription) -> None:
        """Delete every webhook; missing ones are ignored."""
        for choice, number in _parse_hooks(current.data.get("hooks")).items():
            await self._client(connection).send("DELETE", f"{repository_path(choice)}/hooks/{number}")

    def _client(self, connection: Connection) -> GitHubClient:
        return GitHubClient(connection.http, self._api_url)


class EndOfSteps:
    """Marks the end of a part's steps."""


END_OF_STEPS: Final = EndOfSteps()


async def _sync_issues(
    issues: RepositoryIssues, sync_state: SyncState, *, full_sync: bool, failed_numbers: Sequence[int]
) -> AsyncIterator[SyncMessage | None]:
    if not full_sync:
        async for changed in issues.sync_changed(sync_state, failed_numbers):
            yield changed
        return
    async for page in issues.sync_all(sync_state):
        for item in page:
            yield item
        yield None


async def _isolated(
    steps: AsyncIterator[SyncMessage | None],
    name: str,
    sync_state: SyncState,
    fetcher: ItemFetcher,
    *,
    prefix: str | None = None,
) -> AsyncIterator[SyncMessage | None]:
    """Yield the steps of a repository or of its issues; an error fails this part only, which removes nothing.

    `name` is the failure's id, and `prefix` that of the part's items; without one it is the whole repository.
    """
    failure_id = state_key(name) if prefix is None else name

    async def following() -> SyncMessage | EndOfSteps | None:
        return await anext(steps, END_OF_STEPS)

    failed_before = failure_id in await sync_state.retryable_failures()
    while True:
        step = await fetcher.fetch(failure_id, name, following)
        if isinstance(step, EndOfSteps):
            break
        yield step
        if isinstance(step, FailedItem) and step.id == failure_id and step.retryable:
            number, _ = (None, None) if prefix is not None else await load_state(name, sync_state)
            unread = prefix or (f"{number}/" if number is not None else None)
            if unread is not None:
                yield UnlistablePrefix(unread)
            return
    if failed_before:
        yield RemovedItem(failure_id)  # the failure is over


def _branch_outcome(of_branch: Repository, repository: Repository, *, is_there: bool) -> FailedItem | RemovedItem:
    """Return the failure of a branch that a repository lacks, or the end of that failure."""
    id_ = f"{repository.item_id_prefix}branch"
    if is_there:
        return RemovedItem(id_)
    message = (
        f"{repository.full_name} has no branch {of_branch.default_branch}: {repository.default_branch} is read."
        " Create it, or choose another."
    )
    return FailedItem(id_, message, of_branch.default_branch, "not_found")


async def _remove_repository(
    repository_ref: str, number: str | None, sync_state: SyncState
) -> AsyncIterator[SyncMessage]:
    if number is not None:
        for id_ in [id_ async for id_, _ in sync_state.item_versions(f"{number}/")]:
            yield RemovedItem(id_)
        yield ProviderState(state_key(number), None)
    yield FailedItem(
        state_key(repository_ref),
        "The repository is gone, or this account may not read it. Choose another, or grant access.",
        repository_ref,
        "not_found",
    )


def _hints(event: str, body: Mapping[str, Any]) -> tuple[ChangeHint, ...]:
    """Return hints for a repository under its number and its name, as either may have been selected."""
    match event, body.get("action"):
        case "github_app_authorization", "revoked":
            return (ChangeHint("account", str(body["sender"]["id"])),)
        case ("installation", _) | ("installation_repositories", _):
            return (ChangeHint("account", str(body["installation"]["account"]["id"])),)
    repository = body.get("repository")
    if event not in WEBHOOK_EVENTS or repository is None:
        return ()
    if event == "push" and not body["ref"].startswith("refs/heads/"):
        return ()  # a tag; which branch a connector reads is known to its run only
    full = (event, body.get("action")) in _UNLISTED_EVENTS
    names = {str(repository["id"]), repository["full_name"]}
    before = body.get("changes", {}).get("repository", {}).get("name", {}).get("from")
    if before:
        names.add(f"{repository['owner']['login']}/{before}")
    return tuple(ChangeHint("selected", name, requires_full_sync=full) for name in sorted(names))


async def _create_hook(client: GitHubClient, repository_ref: str, address: str, secret: str) -> int | None:
    """Create a webhook and return its id, None if not permitted; an old one with a lost secret is replaced."""
    config = {"url": address, "content_type": "json", "secret": secret, "insecure_ssl": "0"}
    new_hook = {"name": "web", "active": True, "events": list(WEBHOOK_EVENTS), "config": config}
    place = f"{repository_path(repository_ref)}/hooks"
    answer = await client.send("POST", place, new_hook)
    if answer.status_code == 422:
        async for page in client.pages(place):
            for hook in page:
                if hook["config"].get("url") == address:
                    await client.send("DELETE", f"{place}/{hook['id']}")
        answer = await client.send("POST", place, new_hook)
    if answer.status_code in {403, 404, 422}:
        return None
    return int(json_object(answer, "id")["id"])


def _parse_hooks(value: JsonValue) -> dict[str, int]:
    return {choice: int(str(number)) for choice, number in value.items()} if isinstance(value, dict) else {}


def _string_list(value: JsonValue) -> list[str]:
    return [str(text) for text in value] if isinstance(value, list) else []
