"""Google Drive: files, native documents and folders of My Drive and shared drives, by its feed of changes."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import uuid4

import httpx2

from connectors.concurrency import mapped
from connectors.errors import ForgedError
from connectors.pace import Sleep
from connectors.ports import (
    Account,
    Connection,
    Cursor,
    Delivery,
    Entry,
    Hint,
    Kind,
    Known,
    Pace,
    Page,
    Provider,
    Receipt,
    Step,
    Subscription,
)
from connectors.providers.drive_api import FOLDER, SHORTCUT, DriveApi, DriveFile
from connectors.providers.drive_sync import DriveRun
from connectors.providers.google import GoogleClient, judged
from connectors.providers.tree_run import Selection
from pipeline.ports import Clock

SCOPE = "https://www.googleapis.com/auth/drive.readonly"
CHANNEL = timedelta(days=7)
"""The longest that a channel for changes lives; Google prolongs none, a new one takes its place."""
_RENEWED = timedelta(days=1)
_TOP = "drives"


class GoogleDrive(Provider):
    """Files and folders that were selected, or all of them with `syncScope: full`."""

    name = "google-drive"
    kinds: tuple[Kind, ...] = ("files", "folders")
    webhooks = True
    pace = Pace(per_second=50, concurrent=8, burst=50)
    order = "newest first within a drive; with selected folders, newest first within 50 of them"

    def __init__(self, client: GoogleClient, *, clock: Clock, sleep: Sleep = asyncio.sleep) -> None:
        self._client = client
        self._clock = clock
        self._sleep = sleep
        self.oauth = client.oauth(SCOPE)
        self.origins = frozenset({client.api})

    def sync(self, connection: Connection, cursor: Cursor | None, known: Known) -> AsyncIterator[Step]:
        """See `drive_sync`."""
        return DriveRun(api=self._api(connection), selection=Selection.of(connection), known=known).steps(
            cursor
        )

    def judge(self, response: httpx2.Response) -> Exception | None:
        """403 by its reason."""
        return judged(response, "Google Drive") if response.status_code in {403, 429} else None

    async def account(self, connection: Connection) -> Account:
        """The Google account."""
        user = await self._api(connection).user()
        return Account(user["emailAddress"], user.get("permissionId", user["emailAddress"]))

    async def names(self, connection: Connection, kind: Kind, ids: Sequence[str]) -> Mapping[str, str]:
        """Names of files and folders."""
        api = self._api(connection)
        found = [file async for file in mapped(ids, api.file, 8)]
        return {file.id: file.name for file in found if file and file.folder == (kind == "folders")}

    async def browse(self, connection: Connection, parent: str | None, query: str, page: str | None) -> Page:
        """At the top My Drive and the shared drives; within a folder its files; or what a name matches."""
        api = self._api(connection)
        if query:
            said = query.replace("\\", "\\\\").replace("'", "\\'")
            search = f"name contains '{said}' and mimeType != '{SHORTCUT}' and trashed = false"
            return _page(*await api.files(search, home=None, page=page, order="modifiedTime desc", size=50))
        if parent is None or parent == _TOP:
            mine = await api.file("root")
            drives = [Entry(id_, name, "folders", opens=True) for id_, name in await api.drives()]
            return Page((*([_entry(mine)] if mine else []), *drives))
        inside = f"'{parent}' in parents and mimeType != '{SHORTCUT}' and trashed = false"
        return _page(*await api.files(inside, home=None, page=page, order="folder,name_natural", size=100))

    async def receive(self, delivery: Delivery) -> Receipt:
        """A notification has no body and no signature: its channel, secret and resource have to be ours."""
        headers, ours = delivery.headers, delivery.subscription
        channel = headers.get("x-goog-channel-id", "")
        channels = ours.data.get("channels") if ours is not None else None
        if ours is None or not isinstance(channels, Mapping) or channel not in channels:
            raise ForgedError("A notification for a channel that is not open.")
        if not secrets.compare_digest(headers.get("x-goog-channel-token", "").encode(), ours.secret.encode()):
            raise ForgedError("A notification without the channel's token.")
        if channels[channel] != headers.get("x-goog-resource-id"):
            raise ForgedError("A notification about something else.")
        opened = headers.get("x-goog-resource-state") == "sync"
        number = headers.get("x-goog-message-number", "")
        return Receipt(hints=() if opened else (Hint(),), id=f"{channel}/{number}")

    async def subscribe(
        self, connection: Connection, address: str, secret: str, current: Subscription | None
    ) -> Subscription:
        """A channel per drive that is selected from; new ones before the old ones are closed."""
        mark = Selection.of(connection).mark
        now = self._clock.now()
        if current is not None and current.data.get("selection") == mark and _lasts(current, now):
            return current
        api = self._api(connection)
        channels: dict[str, str] = {}
        expires = now + CHANNEL
        for home in sorted(await self._homes(connection, api)):
            body = {
                "id": str(uuid4()),
                "type": "web_hook",
                "address": address,
                "token": secret,
                "expiration": str(int((now + CHANNEL).timestamp() * 1000)),
            }
            opened = await api.watch(home, body)
            channels[opened["id"]] = opened["resourceId"]
            expires = min(expires, datetime.fromtimestamp(int(opened["expiration"]) / 1000, now.tzinfo))
        if current is not None:
            await self.unsubscribe(connection, current)
        data: dict[str, object] = {"channels": channels, "selection": mark}
        return Subscription(next(iter(channels)), secret, expires, data)  # type: ignore[arg-type]  # JSON as it is

    async def unsubscribe(self, connection: Connection, current: Subscription) -> None:
        """Close the channels."""
        channels = current.data.get("channels")
        if isinstance(channels, Mapping):
            for channel, resource in channels.items():
                await self._api(connection).stop(channel, str(resource))

    async def _homes(self, connection: Connection, api: DriveApi) -> set[str]:
        """The drives whose feeds matter: My Drive always, and those of what was selected."""
        if connection.config.get("syncScope") == "full":
            return {"", *(id_ for id_, _ in await api.drives())}
        roots = [*connection.selected("folders"), *connection.selected("files")]
        return {"", *[file.home async for file in mapped(roots, api.file, 8) if file]}

    def _api(self, connection: Connection) -> DriveApi:
        return DriveApi(connection.http, self._client.api, self._sleep)


def _lasts(current: Subscription, now: datetime) -> bool:
    return current.expires_at is not None and current.expires_at - now > _RENEWED


def _page(files: Sequence[DriveFile], following: str | None) -> Page:
    return Page(tuple(_entry(file) for file in files), following)


def _entry(file: DriveFile) -> Entry:
    folder = file.media_type == FOLDER
    detail = "" if folder else (file.modified or "")[:10]
    return Entry(file.id, file.name, "folders" if folder else "files", detail=detail, opens=folder)
