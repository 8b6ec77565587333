"""OneDrive provider for personal and work accounts, through Microsoft Graph's change feed."""

import json
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from connectors.client.request_throttle import RateLimit
from connectors.errors import WebhookVerificationError
from connectors.provider_interface import (
    ChangeHint,
    Connection,
    PickerPage,
    Provider,
    SelectionKind,
    VerifiedDelivery,
    WebhookDelivery,
    WebhookResponse,
    WebhookSubscription,
)
from connectors.providers.common.folder_sync import FolderSelection, names_of_selected, picker_entry
from connectors.providers.onedrive.client import GraphClient, ItemPage, MicrosoftOAuthClient, classify_error
from connectors.providers.onedrive.sync import OneDriveSync
from connectors.sync_messages import Cursor, SyncMessage, SyncState
from pipeline.ports import Clock
from schemas.base import format_timestamp
from schemas.events import ConnectorAccount

SUBSCRIPTION_LIFETIME = timedelta(days=29)
"""Lifetime of a subscription, slightly below Graph's maximum of 42,300 minutes."""
_MAX_VALIDATION_TOKEN_LENGTH = 4096


class OneDrive(Provider):
    """Selected files and folders, or all with `syncScope: full`."""

    name = "onedrive"
    selection_kinds: tuple[SelectionKind, ...] = ("files", "folders")
    supports_webhooks = True
    rate_limit = RateLimit(requests_per_second=15, max_concurrent=6, burst=15)

    classify_error = staticmethod(classify_error)

    def __init__(self, client: MicrosoftOAuthClient, *, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self.oauth = client.oauth("Files.Read.All")
        self.api_origins = frozenset({client.graph_url})

    def sync(self, connection: Connection, cursor: Cursor | None, state: SyncState) -> AsyncIterator[SyncMessage]:
        run = OneDriveSync(
            client=self._graph_client(connection), selection=FolderSelection.of_connection(connection), state=state
        )
        return run.run(cursor)

    async def fetch_account(self, connection: Connection) -> ConnectorAccount:
        user = await self._graph_client(connection).user()
        return ConnectorAccount(name=user.get("mail") or user["userPrincipalName"], webhook_id=user["id"])

    async def resolve_names(self, connection: Connection, kind: SelectionKind, ids: Sequence[str]) -> Mapping[str, str]:
        return await names_of_selected(self._graph_client(connection).item, kind, ids)

    async def browse(
        self, connection: Connection, parent: str | None, query: str, page_token: str | None
    ) -> PickerPage:
        """List a folder (at the top level the root), search by a query, or find what a pasted link leads to."""
        graph = self._graph_client(connection)
        if query.startswith("https://"):
            shared = await graph.shared_item(query)
            return PickerPage(() if shared is None else (picker_entry(shared),))
        if query:
            return _picker_page(await graph.search(query, page_token))
        return _picker_page(await graph.children(parent or "root", page_link=page_token, page_size=100))

    async def read_delivery(self, delivery: WebhookDelivery) -> VerifiedDelivery:
        """Answer Graph's validation of our URL, or verify the subscription and secret of a notification."""
        if (token := delivery.query.get("validationToken")) is not None:
            if len(token) > _MAX_VALIDATION_TOKEN_LENGTH:
                raise WebhookVerificationError("A validation token that is too long.")
            # Plain text only: as HTML the token, which any caller can set, would allow script injection.
            return VerifiedDelivery(response=WebhookResponse(200, token, "text/plain"))
        ours = delivery.subscription
        if ours is None:
            raise WebhookVerificationError("A notification for a connector without a subscription.")
        listed = [note for note in json.loads(delivery.body)["value"] if isinstance(note, dict)]
        notes = [note for note in listed if note.get("subscriptionId") == ours.id]
        if not notes or not all(_has_client_state(note, ours) for note in notes):
            raise WebhookVerificationError("A notification without the subscription's id and secret.")
        return VerifiedDelivery(hints=(ChangeHint(),), response=WebhookResponse(202))

    async def subscribe(
        self, connection: Connection, callback_url: str, secret: str, current: WebhookSubscription | None
    ) -> WebhookSubscription:
        """Create or renew a subscription to the whole drive; Graph has no finer ones."""
        until = format_timestamp(self._clock.now() + SUBSCRIPTION_LIFETIME)
        graph = self._graph_client(connection)
        if current is not None and (prolonged := await graph.renew_subscription(current.id, until)) is not None:
            return _parse_subscription(prolonged, current.secret)
        body = {
            "changeType": "updated",
            "resource": "me/drive/root",
            "notificationUrl": callback_url,
            "lifecycleNotificationUrl": callback_url,
            "expirationDateTime": until,
            "clientState": secret,
        }
        return _parse_subscription(await graph.subscribe(body), secret)

    async def unsubscribe(self, connection: Connection, current: WebhookSubscription) -> None:
        await self._graph_client(connection).unsubscribe(current.id)

    def _graph_client(self, connection: Connection) -> GraphClient:
        return GraphClient(connection.http, self._client)


def _has_client_state(note: Mapping[str, Any], subscription: WebhookSubscription) -> bool:
    return secrets.compare_digest(str(note.get("clientState", "")).encode(), subscription.secret.encode())


def _parse_subscription(answer: Mapping[str, Any], secret: str) -> WebhookSubscription:
    return WebhookSubscription(answer["id"], secret, datetime.fromisoformat(answer["expirationDateTime"]))


def _picker_page(page: ItemPage) -> PickerPage:
    return PickerPage(tuple(picker_entry(item) for item in page.items if item.refusal is None), page.next_link)
