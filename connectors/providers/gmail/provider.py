"""Gmail provider: threads as Markdown with attachments, by label, synced through the mailbox's history."""

import base64
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import httpx2

from connectors.client.access_token import AccessTokenSource
from connectors.client.http_client import HttpClient
from connectors.client.json_answers import json_or_raise
from connectors.client.request_throttle import RateLimit
from connectors.errors import PlanRequiredError, WebhookVerificationError
from connectors.provider_interface import (
    ChangeHint,
    Connection,
    PickerEntry,
    PickerPage,
    Provider,
    SelectionKind,
    VerifiedDelivery,
    WebhookDelivery,
    WebhookSubscription,
)
from connectors.providers.gmail.sync import GmailSync
from connectors.providers.google.oauth_client import GoogleOAuthClient, classify_error, error_reasons
from connectors.providers.google.pubsub_push import GoogleSigningKeys, verify_push
from connectors.sync_messages import Cursor, SyncMessage, SyncState
from pipeline.ports import Clock
from schemas.events import ConnectorAccount

SCOPE = "https://www.googleapis.com/auth/gmail.readonly"
_HIDDEN_LABELS = frozenset({"TRASH", "SPAM", "DRAFT", "CHAT", "UNREAD"})
_URLSAFE_TO_STANDARD = str.maketrans("-_", "+/")


@dataclass(frozen=True, slots=True)
class PubSubConfig:
    """Operator's Pub/Sub topic with the audience and service account of its push tokens."""

    topic: str
    audience: str
    service_account: str
    keys: GoogleSigningKeys


class Gmail(Provider):
    """Mail with any of the selected labels; without a selection all mail but spam and trash."""

    name = "gmail"
    selection_kinds: tuple[SelectionKind, ...] = ("labels",)
    rate_limit = RateLimit(requests_per_second=10, max_concurrent=8, burst=100)

    def __init__(self, client: GoogleOAuthClient, *, clock: Clock, pubsub: PubSubConfig | None = None) -> None:
        self._client = client
        self._clock = clock
        self._pubsub = pubsub
        self._base_url = f"{client.api_url}/gmail/v1/users/me"
        self.has_service_access = client.service_account is not None
        # A push names the mailbox, and only a consent records to which connectors one belongs.
        self.supports_webhooks = pubsub is not None and not self.has_service_access
        self.oauth = client.oauth(SCOPE)
        self.api_origins = client.origins()

    def sync(self, connection: Connection, cursor: Cursor | None, state: SyncState) -> AsyncIterator[SyncMessage]:
        account = connection.account.name if connection.account else ""
        labels = connection.selected_ids("labels")
        return GmailSync(connection.http, self._base_url, state, labels, account).run(cursor)

    def classify_error(self, response: httpx2.Response) -> Exception | None:
        """Classify 403 by its reason, and the 400 of an account without a mailbox."""
        if response.status_code == 400 and "failedPrecondition" in error_reasons(response):
            return PlanRequiredError("This Google account has no Gmail.")
        return classify_error(response, "Gmail") if response.status_code in {403, 429} else None

    def service_token_source(self, http: HttpClient, namespace: str | None) -> AccessTokenSource | None:
        return self._client.token_source(http, namespace, SCOPE, self._clock)

    async def fetch_account(self, connection: Connection) -> ConnectorAccount:
        """Return the mailbox, which pushes identify by its address."""
        profile = json_or_raise(await connection.http.get(f"{self._base_url}/profile"))
        return ConnectorAccount(name=profile["emailAddress"], webhook_id=profile["emailAddress"].lower())

    async def resolve_names(self, connection: Connection, kind: SelectionKind, ids: Sequence[str]) -> Mapping[str, str]:
        return {entry.id: entry.name for entry in await self._list_labels(connection) if entry.id in ids}

    async def browse(
        self, connection: Connection, parent: str | None, query: str, page_token: str | None
    ) -> PickerPage:
        """List all labels; there are a few hundred at most."""
        lowered_query = query.lower()
        return PickerPage(
            tuple(entry for entry in await self._list_labels(connection) if lowered_query in entry.name.lower())
        )

    async def read_delivery(self, delivery: WebhookDelivery) -> VerifiedDelivery:
        """Verify a Pub/Sub push for a mailbox; its history id is too new to start from and is ignored."""
        if self._pubsub is None:
            raise WebhookVerificationError("This deployment has no Pub/Sub topic.")
        claims = await verify_push(
            delivery.headers.get("authorization", ""),
            keys=self._pubsub.keys,
            audience=self._pubsub.audience,
            service_account=self._pubsub.service_account,
            now=delivery.received_at,
        )
        message = json.loads(delivery.body)["message"]
        data = json.loads(base64.b64decode(message["data"].translate(_URLSAFE_TO_STANDARD)))
        # Pub/Sub redelivers a message for days with a new token each time, so the token's age is checked.
        sent = datetime.fromtimestamp(claims["iat"], delivery.received_at.tzinfo)
        hint = ChangeHint(target="account", key=data["emailAddress"].lower())
        return VerifiedDelivery(hints=(hint,), delivery_id=str(message["messageId"]), sent_at=sent)

    async def subscribe(
        self, connection: Connection, callback_url: str, secret: str, current: WebhookSubscription | None
    ) -> WebhookSubscription | None:
        """Watch the mailbox; notifications go to the operator's topic and one address for all connectors."""
        if self._pubsub is None or not self.supports_webhooks:
            return None
        labels = sorted(connection.selected_ids("labels"))
        body = {"topicName": self._pubsub.topic}
        chosen = {"labelIds": labels, "labelFilterBehavior": "include"} if labels else {}
        answer = json_or_raise(
            await connection.http.request("POST", f"{self._base_url}/watch", json=body | chosen, idempotent=True)
        )
        expires = datetime.fromtimestamp(int(answer["expiration"]) / 1000, self._clock.now().tzinfo)
        name = connection.account.webhook_id if connection.account else connection.connector_id
        return WebhookSubscription(name, secret, expires)

    async def unsubscribe(self, connection: Connection, current: WebhookSubscription) -> None:
        """Stop the mailbox's only watch; another connector of the same mailbox renews it within days."""
        response = await connection.http.request("POST", f"{self._base_url}/stop", idempotent=True)
        if response.status_code >= 400:
            json_or_raise(response)

    async def _list_labels(self, connection: Connection) -> list[PickerEntry]:
        listed = json_or_raise(await connection.http.get(f"{self._base_url}/labels")).get("labels", ())
        shown = [each for each in listed if each["id"] not in _HIDDEN_LABELS]
        shown.sort(key=lambda each: (each["type"] != "user", each["name"].lower()))
        return [PickerEntry(each["id"], _label_name(each), "labels", detail=each["type"]) for each in shown]


def _label_name(label: Mapping[str, str]) -> str:
    if label["type"] == "user":
        return label["name"]
    return label["name"].removeprefix("CATEGORY_").replace("_", " ").capitalize()
