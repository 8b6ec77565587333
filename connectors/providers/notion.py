"""Notion: the pages that a user shared, with their files, by Notion's own Markdown."""

import hmac
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final

from connectors.errors import ForgedError
from connectors.http import checked, origin
from connectors.ports import (
    Account,
    Connection,
    Cursor,
    Delivery,
    Entry,
    Hint,
    Kind,
    Known,
    OAuth,
    Pace,
    Page,
    Provider,
    Receipt,
    Step,
)
from connectors.providers.notion_api import Api
from connectors.providers.notion_run import Run
from connectors.providers.notion_text import dashed, title

API: Final = "https://api.notion.com"
_ABOUT: Final = ("page.", "data_source.", "database.")
_QUIET: Final = frozenset({"page.locked", "page.unlocked"})
_FULL: Final = frozenset({"moved", "undeleted"})
"""What these change may be old, so that no list of the newest has it."""


class Notion(Provider):
    """`webhook_secret` is the verification token that Notion sent when the operator gave it our address."""

    name = "notion"
    kinds = ("folders",)
    webhooks = True
    pace = Pace(per_second=3.0, concurrent=4, burst=10)
    reconcile = timedelta(days=1)
    order = "pages by the minute of their last change, newest first"

    def __init__(
        self, client_id: str, client_secret: str, *, webhook_secret: str | None = None, api: str = API
    ) -> None:
        self._api = api.rstrip("/")
        self._webhook_secret = webhook_secret
        self.origins = frozenset({origin(api)})
        self.oauth = OAuth(
            authorize_url=f"{self._api}/v1/oauth/authorize",
            token_url=f"{self._api}/v1/oauth/token",
            client_id=client_id,
            client_secret=client_secret,
            parameters={"owner": "user"},
            client_in="basic",
            body="json",
            pkce=False,
        )

    async def account(self, connection: Connection) -> Account:
        """The workspace: webhooks name it."""
        answer = await self._of(connection).ask("users/me")
        bot = checked(answer)["bot"]
        return Account(bot.get("workspace_name") or "Notion", bot["workspace_id"])

    async def sync(self, connection: Connection, cursor: Cursor | None, known: Known) -> AsyncIterator[Step]:
        """All of it without a cursor; a killed complete run lists again and reads what is left."""
        chosen = [dashed(id_) for id_ in connection.selected("folders")]
        run = Run(self._of(connection), connection.http, known, chosen)
        steps = run.complete() if cursor is None or "full" in cursor else run.changed(str(cursor["since"]))
        async for step in steps:
            yield step

    async def names(self, connection: Connection, kind: Kind, ids: Sequence[str]) -> Mapping[str, str]:
        """Titles of pages and data sources."""
        del kind
        api, names = self._of(connection), dict[str, str]()
        for id_ in ids:
            found = await api.find(f"pages/{dashed(id_)}") or await api.find(f"data_sources/{dashed(id_)}")
            if found is not None:
                names[id_] = title(found) or "Untitled"
        return names

    async def browse(self, connection: Connection, parent: str | None, query: str, page: str | None) -> Page:
        """Pages and data sources by title; Notion searches."""
        del parent
        body: dict[str, Any] = {"query": query} if query else {}
        listing = await self._of(connection).page_of(
            "search", {**body, "start_cursor": page} if page else body
        )
        entries = tuple(
            Entry(one["id"], title(one) or "Untitled", "folders", one["object"].replace("_", " "))
            for one in listing.results
        )
        return Page(entries, listing.following)

    async def receive(self, delivery: Delivery) -> Receipt:
        """Signed with the verification token. Before there is one, Notion sends it: the operator needs it."""
        try:
            body = json.loads(delivery.body)
        except ValueError as error:
            raise ForgedError("The delivery is not JSON.") from error
        given = delivery.headers.get("x-notion-signature", "")
        if self._webhook_secret is None:
            if not given and isinstance(body.get("verification_token"), str):
                return Receipt(handshake=body["verification_token"])
            raise ForgedError("No verification token is set for Notion's webhooks.")
        if not hmac.compare_digest(given.encode(), sign(self._webhook_secret, delivery.body).encode()):
            raise ForgedError("The delivery is not signed with the verification token that is set.")
        return Receipt(_hints(body), body["id"], datetime.fromisoformat(body["timestamp"]))

    def _of(self, connection: Connection) -> Api:
        return Api(connection.http, self._api)


def sign(secret: str, body: bytes) -> str:
    """The value of X-Notion-Signature."""
    return "sha256=" + hmac.new(secret.encode(), body, sha256).hexdigest()


def _hints(body: Mapping[str, Any]) -> tuple[Hint, ...]:
    kind = str(body["type"])
    if not kind.startswith(_ABOUT) or kind in _QUIET:
        return ()
    return (Hint("account", body["workspace_id"], full=kind.rpartition(".")[2] in _FULL),)
