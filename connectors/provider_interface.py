"""Interface of a provider: it yields items and failures of a source, and cursors between them.

The sync runner does what all providers have in common: documents, limits, deletions, state, retries, tokens,
schedules. A provider knows one API, and nothing of documents or the log.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

import httpx2
from pydantic import JsonValue

from connectors.client.access_token import AccessTokenSource
from connectors.client.http_client import HttpClient
from connectors.client.request_throttle import RateLimit
from connectors.errors import ConnectorError, WebhookVerificationError
from connectors.sync_messages import Cursor, SyncMessage, SyncState
from schemas.events import ConnectorAccount, SelectedItem
from schemas.http.v5.connector_bodies import Provider as ProviderName

SelectionKind: TypeAlias = Literal["repos", "labels", "files", "folders"]
_MALFORMED: Final = (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError)


@dataclass(frozen=True, slots=True)
class Connection:
    """Open connection of one connector. API responses show `config` and hide `secrets`.

    `selection` is None until a user selected resources. `account` is the result of `Provider.fetch_account`.
    `http` sends the token to the provider's own origins only.
    """

    connector_id: str
    http: HttpClient
    config: Mapping[str, str | float | bool] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    selection: Mapping[str, tuple[SelectedItem, ...]] | None = None
    """Selected resources by `SelectionKind`."""
    account: ConnectorAccount | None = None
    triggered_by_event: bool = False

    def selected_ids(self, kind: SelectionKind) -> tuple[str, ...]:
        return tuple(choice.id for choice in (self.selection or {}).get(kind, ()))


@dataclass(frozen=True, slots=True)
class OAuthConfig:
    """OAuth parameters of a provider. Notion needs JSON token requests with the secret in HTTP Basic (`json_basic`).

    `misconfiguration_codes`: error codes of the token endpoint (or in its `error_description`) that only the
    operator can fix, beside the standard ones (invalid_client, unauthorized_client, ...).
    """

    authorize_url: str
    token_url: str
    client_id: str
    client_secret: str = field(repr=False)
    scopes: tuple[str, ...] = ()
    authorize_parameters: Mapping[str, str] = field(default_factory=dict)
    token_auth_method: Literal["client_secret_post", "json_basic"] = "client_secret_post"  # noqa: S105 - a method
    pkce: bool = True
    revoke_url: str | None = None
    misconfiguration_codes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PickerEntry:
    """Row of the picker; with kind None it can be expanded but not selected."""

    id: str
    name: str
    kind: SelectionKind | None
    detail: str = ""
    expandable: bool = False


@dataclass(frozen=True, slots=True)
class PickerPage:
    entries: tuple[PickerEntry, ...]
    next_page_token: str | None = None


@dataclass(frozen=True, slots=True)
class WebhookSubscription:
    """Webhook subscription at the provider; deliveries carry our `secret` or are signed with it."""

    id: str
    secret: str = field(repr=False)
    expires_at: datetime | None = None
    data: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WebhookDelivery:
    """Request to /webhooks/<provider> or /webhooks/<provider>/<connector>; header names are lower case.

    `subscription` belongs to the connector in the path, None without one.
    """

    headers: Mapping[str, str]
    query: Mapping[str, str]
    body: bytes
    received_at: datetime
    subscription: WebhookSubscription | None = None


@dataclass(frozen=True, slots=True)
class ChangeHint:
    """Change that concerns the connector of the path, an account's `key`, or a selected resource's `key`.

    `requires_full_sync`: changes were lost.
    """

    target: Literal["connector", "account", "selected"] = "connector"
    key: str = ""
    requires_full_sync: bool = False


@dataclass(frozen=True, slots=True)
class WebhookResponse:
    """Answer to a delivery, for providers that expect a particular one."""

    status: int = 200
    body: str = ""
    media_type: str = "text/plain"


@dataclass(frozen=True, slots=True)
class VerifiedDelivery:
    """Authentic delivery; `delivery_id` detects duplicates, `sent_at` replays.

    The operator has to copy `verification_token` to the provider's settings page.
    """

    hints: tuple[ChangeHint, ...] = ()
    delivery_id: str | None = None
    sent_at: datetime | None = None
    response: WebhookResponse = field(default_factory=WebhookResponse)
    verification_token: str | None = field(default=None, repr=False)


class Provider(ABC):
    """Kind of source. An instance holds endpoints and the operator's settings, nothing of a connector.

    Every method may raise the errors of `connectors.errors`; the HTTP client raises most of them itself.
    """

    name: ProviderName
    oauth: OAuthConfig | None = None
    """None if a config suffices and no user has to authorize."""
    has_service_access: bool = False
    """Whether the operator's own access is used: then every connector reads what the operator may read."""
    api_origins: frozenset[str] = frozenset()
    """Origins (`scheme://host[:port]`) of its API, the only ones that receive the token."""
    selection_kinds: tuple[SelectionKind, ...] = ()
    """Kinds of resources that can be selected; if empty, a selection is rejected."""
    supports_webhooks: bool = False
    rate_limit: RateLimit = RateLimit()
    sync_interval: timedelta | None = None
    """Time between two runs; None means the operator's setting, four hours by default."""
    full_sync_interval: timedelta = timedelta(days=7)
    """Time between two complete listings, which start without a cursor."""
    event_debounce: timedelta = timedelta(seconds=30)
    """Delay from the first event to the run that it triggers."""
    max_delivery_bytes: int = 1024 * 1024
    """Size limit of a delivery."""

    @abstractmethod
    def sync(self, connection: Connection, cursor: Cursor | None, state: SyncState) -> AsyncIterator[SyncMessage]:
        """Yield all changes since the cursor; without a cursor, everything.

        A normal end means that nothing is missing. After a complete listing (begun without a cursor, possibly
        resumed) items that were not listed are removed. CursorExpiredError starts over without a cursor. A cursor is
        of the current config and selection: after a change of either there is none.
        """

    def classify_error(self, response: httpx2.Response) -> Exception | None:
        """Interpret a response of 400 or above whose status alone is ambiguous.

        None means the default: 401 refreshes the token once, 429 and 503 wait, 408 and other 5xx are retried,
        all others are returned to the caller.
        """
        return None

    def service_token_source(self, http: HttpClient, namespace: str | None) -> AccessTokenSource | None:
        """Return the source of tokens that the operator's own access gives, of a provider without `oauth`.

        `namespace` is the connector's; None if this process does not know it yet.
        """
        return None

    async def fetch_account(self, connection: Connection) -> ConnectorAccount | None:
        """Return the account that was just authorized, or that the operator's own access belongs to."""
        return None

    async def resolve_names(self, connection: Connection, kind: SelectionKind, ids: Sequence[str]) -> Mapping[str, str]:
        """Return display names of selected ids; missing resources are left out."""
        return {id_: id_ for id_ in ids}

    async def browse(
        self, connection: Connection, parent: str | None, query: str, page_token: str | None
    ) -> PickerPage:
        """List picker entries within a parent (None: top level) that match a query ("": all)."""
        raise NotImplementedError

    async def verify_delivery(self, delivery: WebhookDelivery) -> VerifiedDelivery:
        """Verify a delivery and return what changed; WebhookVerificationError if it is not authentic.

        What breaks the reading of it, such as a missing field or JSON of great depth, is not from the provider.
        """
        try:
            return await self.read_delivery(delivery)
        except ConnectorError:
            raise
        except _MALFORMED as error:
            raise WebhookVerificationError(f"It is malformed ({type(error).__name__}).") from error

    async def read_delivery(self, delivery: WebhookDelivery) -> VerifiedDelivery:
        """Read a delivery quickly; see `verify_delivery`, which also judges the errors of reading JSON."""
        raise WebhookVerificationError(f"{self.name} sends none: {len(delivery.body):,} bytes from somebody else.")

    async def subscribe(
        self, connection: Connection, callback_url: str, secret: str, current: WebhookSubscription | None
    ) -> WebhookSubscription | None:
        """Create a subscription for `callback_url` or renew `current`; None if the provider has none.

        Called when a run begins, if less than half of the lifetime is left or the selection changed.
        """
        return None

    async def unsubscribe(self, connection: Connection, current: WebhookSubscription) -> None:
        """Remove a subscription; one that no longer exists is not an error."""
        del connection, current
