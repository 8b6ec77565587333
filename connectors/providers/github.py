"""GitHub: documentation files, issues and pull requests of chosen repositories.

Ids begin with the repository's number, which outlives its name. Files are compared by Git's hashes, so a
forced push, another default branch and a rename are all the same: two trees that differ.
"""

import hmac
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from pydantic import JsonValue

from connectors.errors import ForgedError
from connectors.http import checked, origin
from connectors.ports import (
    Account,
    Checkpoint,
    Connection,
    Cursor,
    Delivery,
    Entry,
    Failure,
    Hint,
    Kind,
    Known,
    Note,
    OAuth,
    Pace,
    Page,
    Provider,
    Receipt,
    Removed,
    Step,
    Subscription,
)
from connectors.providers import github_api
from connectors.providers.github_api import PAGE, Api, where
from connectors.providers.github_files import Files, head
from connectors.providers.github_glance import glances
from connectors.providers.github_issues import Issues, Progress
from connectors.providers.github_state import State, key, name_key, note, read
from pipeline.ports import Clock

API: Final = "https://api.github.com"
SITE: Final = "https://github.com"
EVENTS: Final = ("push", "repository", "issues", "issue_comment", "pull_request")
_UNLISTED: Final = {("issues", "deleted"), ("issues", "transferred"), ("issue_comment", "deleted")}
"""No list of changes tells of these."""
_GLANCED_FROM: Final = 2
"""For a single repository its lists are as good, and exact."""
_LISTED_FROM: Final = 5
"""Names of so many repositories come from the list of all rather than one by one."""


class GitHub(Provider):
    """`api` and `site` are those of an enterprise server where it is one.

    With a `webhook_secret` deliveries come from a GitHub App for all its installations; without one a hook of
    its own is made in every chosen repository.
    """

    name = "github"
    kinds = ("repos",)
    webhooks = True
    delivery_bytes = 25 * 1024 * 1024
    pace = Pace(per_second=15.0, concurrent=10, burst=30)
    order = (
        "repositories as chosen; of each its files by path, then issues by their last change, newest first"
    )

    def __init__(
        self,
        client_id: str,
        client_secret: str,
        *,
        webhook_secret: str | None = None,
        api: str = API,
        site: str = SITE,
        clock: Clock,
    ) -> None:
        self._api = api.rstrip("/")
        self._clock = clock
        self._webhook_secret = webhook_secret
        site = site.rstrip("/")
        self.origins = frozenset({origin(api)})
        self.oauth = OAuth(
            authorize_url=f"{site}/login/oauth/authorize",
            token_url=f"{site}/login/oauth/access_token",
            client_id=client_id,
            client_secret=client_secret,
            scopes=("repo", "read:org", "admin:repo_hook"),
            operator_errors=frozenset(
                {"incorrect_client_credentials", "redirect_uri_mismatch", "application_suspended"}
            ),
        )

    def judge(self, response: Any) -> Exception | None:
        """403 has four meanings here."""
        return github_api.judge(response)

    async def account(self, connection: Connection) -> Account:
        """The login, and the number that webhooks name."""
        user = await self._of(connection).get("/user")
        return Account(user["login"], str(user["id"]))

    async def sync(self, connection: Connection, cursor: Cursor | None, known: Known) -> AsyncIterator[Step]:
        """Repository by repository; a run that was killed goes on with the one it was at."""
        complete = cursor is None or "done" in cursor
        done = _texts((cursor or {}).get("done"))
        same = set[str]() if complete else await self._unchanged(connection, known)
        for choice in connection.selected("repos"):
            if choice in done or choice in same:
                continue
            async for step in self._steps(self._of(connection), choice, known, complete=complete):
                yield step or Checkpoint({"done": [*done]} if complete else {})
            done.append(choice)
            yield Checkpoint({"done": [*done]} if complete else {})
        yield Checkpoint({})

    async def _unchanged(self, connection: Connection, known: Known) -> set[str]:
        """Of several repositories those that one question shows to be as they were read.

        None of them where an event says that something is new: then it is what no glance can see.
        """
        now, chosen = self._clock.now(), connection.selected("repos")
        states = {choice: state for choice in chosen if (state := (await read(choice, known))[1])}
        settled = {choice: state for choice, state in states.items() if state.is_settled(now)}
        if len(chosen) < _GLANCED_FROM or not settled:
            return set()
        seen = await glances(self._of(connection), [state.node for state in settled.values()])
        same = {
            choice
            for choice, state in settled.items()
            if (glance := seen.get(state.node)) is not None and state.is_as(glance)
        }
        return set() if connection.told and len(same) == len(chosen) else same

    async def _steps(
        self, api: Api, choice: str, known: Known, *, complete: bool
    ) -> AsyncIterator[Step | None]:
        """What changed in one repository, or all of it; None: a good moment to save."""
        number, before = await read(choice, known)
        repository = await api.repository(number or choice)
        if repository is None:
            async for step in _withdrawn(choice, number, known):
                yield step
            return
        state = None if complete else before
        read_at = self._clock.now().isoformat()
        newest = await head(api, repository)
        sha = newest.sha if newest else None
        if state is None or (repository.name, repository.branch, sha) != (
            state.name,
            state.branch,
            state.head,
        ):
            files = Files(api, repository, newest, state.head if state else None)
            async for found in files.steps(known, complete=complete):
                yield found
            yield None
        issues = Issues(api, repository, state.progress if state else Progress())
        async for changed in _discussed(issues, known, complete=state is None):
            yield changed
        now = State(repository.name, repository.branch, sha, issues.progress, repository.node, read_at)
        yield note(repository.id, now)
        if number is None:
            yield Note(name_key(choice), str(repository.id))

    async def names(self, connection: Connection, kind: Kind, ids: Sequence[str]) -> Mapping[str, str]:
        """By `owner/name` or number."""
        del kind
        api, found = self._of(connection), dict[str, str]()
        if len(ids) >= _LISTED_FROM:
            async for page in api.pages("/user/repos"):
                found |= {str(repository["id"]): repository["full_name"] for repository in page}
                found |= {repository["full_name"]: repository["full_name"] for repository in page}
        for id_ in ids:
            if id_ not in found and (repository := await api.repository(id_)):
                found[id_] = repository.name
        return {id_: found[id_] for id_ in ids if id_ in found}

    async def browse(self, connection: Connection, parent: str | None, query: str, page: str | None) -> Page:
        """The repositories that the account can see, the last pushed to first; pages are filtered here."""
        del parent
        answer = await self._of(connection).ask(
            "/user/repos", sort="pushed", per_page=PAGE, page=int(page or 1)
        )
        entries = tuple(
            Entry(str(found["id"]), found["full_name"], "repos", found["description"] or "")
            for found in checked(answer)
            if query.lower() in found["full_name"].lower()
        )
        return Page(entries, str(int(page or 1) + 1) if "next" in answer.links else None)

    async def receive(self, delivery: Delivery) -> Receipt:
        """Signed with SHA-256 over the raw body; an older signature alone is none."""
        secret = delivery.subscription.secret if delivery.subscription else self._webhook_secret
        given = delivery.headers.get("x-hub-signature-256", "")
        if not secret or not hmac.compare_digest(given.encode(), sign(secret, delivery.body).encode()):
            raise ForgedError("The delivery is not signed with GitHub's webhook secret.")
        try:
            body = json.loads(delivery.body)
        except ValueError as error:
            raise ForgedError("The delivery is not JSON: set the webhook's content type to JSON.") from error
        event = delivery.headers.get("x-github-event", "")
        return Receipt(_hints(event, body), delivery.headers.get("x-github-delivery"))

    async def subscribe(
        self, connection: Connection, address: str, secret: str, current: Subscription | None
    ) -> Subscription | None:
        """A hook in every chosen repository whose administrator the account is; others are polled."""
        if self._webhook_secret is not None:
            return None
        api = self._of(connection)
        old = current.data if current and current.secret == secret else {}
        hooks, refused = _hooks(old.get("hooks")), set(_texts(old.get("refused")))
        chosen = connection.selected("repos")
        for choice in hooks.keys() - set(chosen):
            await api.send("DELETE", f"{where(choice)}/hooks/{hooks.pop(choice)}")
        for choice in chosen:
            if choice not in hooks and choice not in refused:
                number = await _hook(api, choice, address, secret)
                if number is None:
                    refused.add(choice)
                else:
                    hooks[choice] = number
        data: dict[str, JsonValue] = {"hooks": {**hooks}, "refused": [*sorted(refused & set(chosen))]}
        return Subscription(connection.connector, secret, data=data)

    async def unsubscribe(self, connection: Connection, current: Subscription) -> None:
        """Take every hook away; one that is gone already is none to complain about."""
        for choice, number in _hooks(current.data.get("hooks")).items():
            await self._of(connection).send("DELETE", f"{where(choice)}/hooks/{number}")

    def _of(self, connection: Connection) -> Api:
        return Api(connection.http, self._api)


def sign(secret: str, body: bytes) -> str:
    """The value of X-Hub-Signature-256."""
    return "sha256=" + hmac.new(secret.encode(), body, sha256).hexdigest()


async def _discussed(issues: Issues, known: Known, *, complete: bool) -> AsyncIterator[Step | None]:
    if not complete:
        async for changed in issues.changed(known):
            yield changed
        return
    async for page in issues.complete(known):
        for item in page:
            yield item
        yield None


async def _withdrawn(choice: str, number: str | None, known: Known) -> AsyncIterator[Step]:
    if number is not None:
        for id_ in [id_ async for id_, _ in known.versions(f"{number}/")]:
            yield Removed(id_)
        yield Note(key(number), None)
    yield Failure(
        key(choice),
        "The repository is gone, or this account may not read it. Choose another, or grant access.",
        choice,
        "not_found",
    )


def _hints(event: str, body: Mapping[str, Any]) -> tuple[Hint, ...]:
    """What to look at again. A repository may have been chosen by its number or its name."""
    match event, body.get("action"):
        case "github_app_authorization", "revoked":
            return (Hint("account", str(body["sender"]["id"]), expired=True),)
        case ("installation", _) | ("installation_repositories", _):
            return (Hint("account", str(body["installation"]["account"]["id"])),)
    repository = body.get("repository")
    if event not in EVENTS or repository is None:
        return ()
    if event == "push" and body["ref"] != f"refs/heads/{repository['default_branch']}":
        return ()
    full = (event, body.get("action")) in _UNLISTED
    names = {str(repository["id"]), repository["full_name"]}
    before = body.get("changes", {}).get("repository", {}).get("name", {}).get("from")
    if before:
        names.add(f"{repository['owner']['login']}/{before}")
    return tuple(Hint("selected", name, full=full) for name in sorted(names))


async def _hook(api: Api, choice: str, address: str, secret: str) -> int | None:
    """The number of a new hook; None: not allowed. One of ours from before has an unknown secret and goes."""
    config = {"url": address, "content_type": "json", "secret": secret, "insecure_ssl": "0"}
    wanted = {"name": "web", "active": True, "events": list(EVENTS), "config": config}
    place = f"{where(choice)}/hooks"
    answer = await api.send("POST", place, wanted)
    if answer.status_code == 422:
        async for page in api.pages(place):
            for hook in page:
                if hook["config"].get("url") == address:
                    await api.send("DELETE", f"{place}/{hook['id']}")
        answer = await api.send("POST", place, wanted)
    if answer.status_code in {403, 404, 422}:
        return None
    return int(checked(answer)["id"])


def _hooks(value: JsonValue) -> dict[str, int]:
    return {choice: int(str(number)) for choice, number in value.items()} if isinstance(value, dict) else {}


def _texts(value: JsonValue) -> list[str]:
    return [str(text) for text in value] if isinstance(value, list) else []
