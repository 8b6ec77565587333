"""Google Drive provider: files of My Drive and shared drives, synced through the change feed."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import uuid4

import httpx2

from connectors.client.access_token import AccessTokenSource
from connectors.client.concurrent_map import map_concurrently
from connectors.client.http_client import HttpClient
from connectors.client.request_throttle import RateLimit, SleepFunction
from connectors.errors import WebhookVerificationError
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
from connectors.providers.common.folder_sync import FolderSelection, names_of_selected, picker_entry
from connectors.providers.common.item_fetcher import without_item_errors
from connectors.providers.google.oauth_client import GoogleOAuthClient, classify_error
from connectors.providers.google_drive.client import SHORTCUT, DriveClient
from connectors.providers.google_drive.sync import DriveSync
from connectors.sync_messages import Cursor, SyncMessage, SyncState
from pipeline.ports import Clock
from schemas.events import ConnectorAccount

SCOPE = "https://www.googleapis.com/auth/drive.readonly"
CHANNEL_LIFETIME = timedelta(days=7)
"""Maximum lifetime of a channel; channels can't be renewed, only replaced."""
_EXPORT_LINKS_ORIGIN = "https://docs.google.com"
_TOP_LEVEL = "drives"


class GoogleDrive(Provider):
    """Selected files and folders, or all with `syncScope: full`."""

    name = "google-drive"
    selection_kinds: tuple[SelectionKind, ...] = ("files", "folders")
    supports_webhooks = True
    rate_limit = RateLimit(requests_per_second=50, max_concurrent=8, burst=50)

    def __init__(self, client: GoogleOAuthClient, *, clock: Clock, sleep: SleepFunction = asyncio.sleep) -> None:
        self._client = client
        self._clock = clock
        self._sleep = sleep
        self.oauth = client.oauth(SCOPE)
        self.has_service_access = client.service_account is not None
        self.api_origins = client.origins(_EXPORT_LINKS_ORIGIN)

    def sync(self, connection: Connection, cursor: Cursor | None, state: SyncState) -> AsyncIterator[SyncMessage]:
        return DriveSync(
            client=self._drive_client(connection), selection=FolderSelection.of_connection(connection), state=state
        ).run(cursor)

    def classify_error(self, response: httpx2.Response) -> Exception | None:
        return classify_error(response, "Google Drive") if response.status_code in {403, 429} else None

    def service_token_source(self, http: HttpClient, namespace: str | None) -> AccessTokenSource | None:
        return self._client.token_source(http, namespace, SCOPE, self._clock)

    async def fetch_account(self, connection: Connection) -> ConnectorAccount:
        user = await self._drive_client(connection).user()
        return ConnectorAccount(name=user["emailAddress"], webhook_id=user.get("permissionId", user["emailAddress"]))

    async def resolve_names(self, connection: Connection, kind: SelectionKind, ids: Sequence[str]) -> Mapping[str, str]:
        return await names_of_selected(self._drive_client(connection).file, kind, ids)

    async def browse(
        self, connection: Connection, parent: str | None, query: str, page_token: str | None
    ) -> PickerPage:
        """List drives at the top level, the files of a folder, or files whose name matches."""
        api = self._drive_client(connection)
        if query:
            escaped_query = query.replace("\\", "\\\\").replace("'", "\\'")
            condition, order, size = f"name contains '{escaped_query}'", "modifiedTime desc", 50
        elif parent is None or parent == _TOP_LEVEL:
            mine = await api.file("root")
            drives = [PickerEntry(id_, name, "folders", expandable=True) for id_, name in await api.shared_drives()]
            return PickerPage((*([picker_entry(mine)] if mine else []), *drives))
        else:
            condition, order, size = f"'{parent}' in parents", "folder,name_natural", 100
        search = f"{condition} and mimeType != '{SHORTCUT}' and trashed = false"
        files, following = await api.files(search, drive_id=None, page_token=page_token, order_by=order, page_size=size)
        return PickerPage(tuple(map(picker_entry, files)), following)

    async def read_delivery(self, delivery: WebhookDelivery) -> VerifiedDelivery:
        """Verify channel, secret and resource; Google's notifications have neither body nor signature."""
        headers, ours = delivery.headers, delivery.subscription
        channel = headers.get("x-goog-channel-id", "")
        channels = ours.data.get("channels") if ours is not None else None
        if ours is None or not isinstance(channels, Mapping) or channel not in channels:
            raise WebhookVerificationError("A notification for a channel that is not open.")
        if not secrets.compare_digest(headers.get("x-goog-channel-token", "").encode(), ours.secret.encode()):
            raise WebhookVerificationError("A notification without the channel's token.")
        if channels[channel] != headers.get("x-goog-resource-id"):
            raise WebhookVerificationError("A notification for another resource.")
        opened = headers.get("x-goog-resource-state") == "sync"
        number = headers.get("x-goog-message-number", "")
        return VerifiedDelivery(hints=() if opened else (ChangeHint(),), delivery_id=f"{channel}/{number}")

    async def subscribe(
        self, connection: Connection, callback_url: str, secret: str, current: WebhookSubscription | None
    ) -> WebhookSubscription:
        """Open a channel per selected drive, then close the old ones."""
        now = self._clock.now()
        api = self._drive_client(connection)
        channels: dict[str, str] = {}
        expires = now + CHANNEL_LIFETIME
        for home in sorted(await self._watched_drive_ids(connection, api)):
            body = {
                "id": str(uuid4()),
                "type": "web_hook",
                "address": callback_url,
                "token": secret,
                "expiration": str(int((now + CHANNEL_LIFETIME).timestamp() * 1000)),
            }
            opened = await api.watch(home, body)
            channels[opened["id"]] = opened["resourceId"]
            expires = min(expires, datetime.fromtimestamp(int(opened["expiration"]) / 1000, now.tzinfo))
        if current is not None:
            await self.unsubscribe(connection, current)
        return WebhookSubscription(next(iter(channels)), secret, expires, {"channels": {**channels}})

    async def unsubscribe(self, connection: Connection, current: WebhookSubscription) -> None:
        channels = current.data.get("channels")
        if isinstance(channels, Mapping):
            for channel, resource in channels.items():
                await self._drive_client(connection).stop(channel, str(resource))

    async def _watched_drive_ids(self, connection: Connection, api: DriveClient) -> set[str]:
        """Return the drives with selected files, always including My Drive."""
        if connection.config.get("syncScope") == "full":
            return {"", *(id_ for id_, _ in await api.shared_drives())}
        roots = [*connection.selected_ids("folders"), *connection.selected_ids("files")]
        return {
            "",
            *[file.drive_id async for file in map_concurrently(roots, without_item_errors(api.file), 8) if file],
        }

    def _drive_client(self, connection: Connection) -> DriveClient:
        return DriveClient(connection.http, self._client.api_url, self._sleep)
