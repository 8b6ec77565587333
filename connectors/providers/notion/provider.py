"""Notion provider: shared pages with their files, through Notion's Markdown export."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from connectors.client.http_client import origin
from connectors.client.json_answers import json_object
from connectors.client.request_throttle import RateLimit
from connectors.errors import WebhookVerificationError
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
)
from connectors.providers.common.webhook_signature import require_signature
from connectors.providers.notion.client import NotionClient
from connectors.providers.notion.content import object_title
from connectors.providers.notion.enhanced_markdown import dashed_id
from connectors.providers.notion.sync import NotionSync
from connectors.sync_messages import Cursor, SyncMessage, SyncState
from schemas.events import ConnectorAccount

API_URL: Final = "https://api.notion.com"
_RELEVANT_EVENT_PREFIXES: Final = ("page.", "data_source.", "database.")
_IGNORED_EVENTS: Final = frozenset({"page.locked", "page.unlocked"})
_FULL_SYNC_EVENTS: Final = frozenset({"moved", "undeleted"})
"""Events on pages that may be old and thus missing from a list of recent changes."""


class Notion(Provider):
    """Notion; `webhook_secret` is the verification token that Notion sent when the webhook was set up."""

    name = "notion"
    selection_kinds = ("folders",)
    supports_webhooks = True
    rate_limit = RateLimit(requests_per_second=3.0, max_concurrent=4, burst=10)
    full_sync_interval = timedelta(days=1)

    def __init__(
        self,
        client_id: str | None,
        client_secret: str,
        *,
        token: str | None = None,
        webhook_secret: str | None = None,
        api_url: str = API_URL,
    ) -> None:
        """Use a public integration, or the `token` of an internal one if `client_id` is None."""
        self._token = None if client_id is not None else token
        self.has_service_access = self._token is not None
        self._api_url = api_url.rstrip("/")
        self._webhook_secret = webhook_secret
        self.api_origins = frozenset({origin(api_url)})
        if client_id is not None:
            self.oauth = OAuthConfig(
                authorize_url=f"{self._api_url}/v1/oauth/authorize",
                token_url=f"{self._api_url}/v1/oauth/token",
                client_id=client_id,
                client_secret=client_secret,
                authorize_parameters={"owner": "user"},
                token_auth_method="json_basic",  # noqa: S106 - a method
                pkce=False,
            )

    async def fetch_account(self, connection: Connection) -> ConnectorAccount:
        """Return the workspace, which identifies the account in webhooks."""
        answer = await self._client(connection).get_response("users/me")
        bot = json_object(answer, "bot")["bot"]
        return ConnectorAccount(name=bot.get("workspace_name") or "Notion", webhook_id=bot["workspace_id"])

    async def sync(self, connection: Connection, cursor: Cursor | None, state: SyncState) -> AsyncIterator[SyncMessage]:
        """Sync everything or recent changes; a killed complete listing lists again and reads the rest."""
        chosen = [dashed_id(id_) for id_ in connection.selected_ids("folders")]
        run = NotionSync(self._client(connection), connection.http, state, chosen)
        steps = run.sync_all() if cursor is None or "full" in cursor else run.sync_changed(str(cursor["since"]))
        async for step in steps:
            yield step

    async def resolve_names(self, connection: Connection, kind: SelectionKind, ids: Sequence[str]) -> Mapping[str, str]:
        api, names = self._client(connection), dict[str, str]()
        for id_ in ids:
            found = await api.get_if_accessible(f"pages/{dashed_id(id_)}") or await api.get_if_accessible(
                f"data_sources/{dashed_id(id_)}"
            )
            if found is not None:
                names[id_] = object_title(found) or "Untitled"
        return names

    async def browse(
        self, connection: Connection, parent: str | None, query: str, page_token: str | None
    ) -> PickerPage:
        """Search pages and data sources by title."""
        body: dict[str, Any] = {"query": query} if query else {}
        listing = await self._client(connection).query_page(
            "search", {**body, "start_cursor": page_token} if page_token else body
        )
        entries = tuple(
            PickerEntry(result["id"], object_title(result) or "Untitled", "folders", result["object"].replace("_", " "))
            for result in listing.results
        )
        return PickerPage(entries, listing.next_cursor)

    async def read_delivery(self, delivery: WebhookDelivery) -> VerifiedDelivery:
        """Verify the signature; before setup, pass on the verification token that the operator has to configure."""
        body = json.loads(delivery.body)
        given = delivery.headers.get("x-notion-signature", "")
        if self._webhook_secret is None:
            if not given and isinstance(body.get("verification_token"), str):
                return VerifiedDelivery(verification_token=body["verification_token"])
            raise WebhookVerificationError("No verification token is set for Notion's webhooks.")
        refusal = "The delivery is not signed with the verification token that is set."
        require_signature(self._webhook_secret, delivery.body, given, refusal)
        return VerifiedDelivery(_hints(body), body["id"], datetime.fromisoformat(body["timestamp"]))

    def _client(self, connection: Connection) -> NotionClient:
        return NotionClient(connection.http, self._api_url, self._token)


def _hints(body: Mapping[str, Any]) -> tuple[ChangeHint, ...]:
    kind = str(body["type"])
    if not kind.startswith(_RELEVANT_EVENT_PREFIXES) or kind in _IGNORED_EVENTS:
        return ()
    return (
        ChangeHint("account", body["workspace_id"], requires_full_sync=kind.rpartition(".")[2] in _FULL_SYNC_EVENTS),
    )
