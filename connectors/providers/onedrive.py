"""OneDrive, personal and for work, by Microsoft Graph's feed of changes."""

import json
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import httpx2

from connectors.concurrency import mapped
from connectors.errors import ForgedError
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
    Reply,
    Step,
    Subscription,
)
from connectors.providers.graph import DriveItem, Graph, ItemPage, MicrosoftClient, judged
from connectors.providers.onedrive_sync import OneDriveRun
from connectors.providers.tree_run import Selection
from pipeline.ports import Clock
from schemas.base import timestamp

SUBSCRIPTION = timedelta(days=29)
"""Graph lets a subscription to a drive live for 42,300 minutes, a little more than this."""
_RENEWED = timedelta(days=3)
_TOKEN_LENGTH = 4096


class OneDrive(Provider):
    """Files and folders that were selected, or all of them with `syncScope: full`."""

    name = "onedrive"
    kinds: tuple[Kind, ...] = ("files", "folders")
    webhooks = True
    pace = Pace(per_second=15, concurrent=6, burst=15)
    order = "as OneDrive's feed names files, folder by folder"

    def __init__(self, client: MicrosoftClient, *, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self.oauth = client.oauth("Files.Read")
        self.origins = frozenset({client.graph})

    def sync(self, connection: Connection, cursor: Cursor | None, known: Known) -> AsyncIterator[Step]:
        """See `onedrive_sync`."""
        run = OneDriveRun(graph=self._graph(connection), selection=Selection.of(connection), known=known)
        return run.steps(cursor)

    def judge(self, response: httpx2.Response) -> Exception | None:
        """As Graph words it."""
        return judged(response)

    async def account(self, connection: Connection) -> Account:
        """The Microsoft account."""
        user = await self._graph(connection).user()
        return Account(user.get("mail") or user["userPrincipalName"], user["id"])

    async def names(self, connection: Connection, kind: Kind, ids: Sequence[str]) -> Mapping[str, str]:
        """Names of files and folders."""
        found = [item async for item in mapped(ids, self._graph(connection).item, 6)]
        return {item.id: item.name for item in found if item and item.folder == (kind == "folders")}

    async def browse(self, connection: Connection, parent: str | None, query: str, page: str | None) -> Page:
        """What is in a folder, at the top in the root; or what a query finds."""
        graph = self._graph(connection)
        if query:
            return _shown(await graph.search(query, page))
        return _shown(await graph.children(parent or "root", page=page, size=100))

    async def receive(self, delivery: Delivery) -> Receipt:
        """Graph first asks whether the address is ours; then it names our subscription and our secret."""
        if (token := delivery.query.get("validationToken")) is not None:
            if len(token) > _TOKEN_LENGTH:
                raise ForgedError("A validation token that is too long.")
            # As plain text and nothing else: whoever calls this would otherwise have a page of ours to fill.
            return Receipt(reply=Reply(200, token, "text/plain"))
        ours = delivery.subscription
        if ours is None:
            raise ForgedError("A notification for a connector without a subscription.")
        told = [note for note in _notifications(delivery.body) if note.get("subscriptionId") == ours.id]
        if not told or not all(_genuine(note, ours) for note in told):
            raise ForgedError("A notification without the subscription's id and secret.")
        return Receipt(hints=(Hint(),), reply=Reply(202))

    async def subscribe(
        self, connection: Connection, address: str, secret: str, current: Subscription | None
    ) -> Subscription:
        """One subscription to the whole drive: Graph knows no finer one. It is prolonged in time."""
        now = self._clock.now()
        until = timestamp(now + SUBSCRIPTION)
        graph = self._graph(connection)
        if current is not None:
            if current.expires_at is not None and current.expires_at - now > _RENEWED:
                return current
            if (prolonged := await graph.prolong(current.id, until)) is not None:
                return _subscription(prolonged, current.secret)
        body = {
            "changeType": "updated",
            "resource": "me/drive/root",
            "notificationUrl": address,
            "lifecycleNotificationUrl": address,
            "expirationDateTime": until,
            "clientState": secret,
        }
        return _subscription(await graph.subscribe(body), secret)

    async def unsubscribe(self, connection: Connection, current: Subscription) -> None:
        """Close it."""
        await self._graph(connection).unsubscribe(current.id)

    def _graph(self, connection: Connection) -> Graph:
        return Graph(connection.http, self._client)


def _notifications(body: bytes) -> list[Mapping[str, Any]]:
    try:
        value = json.loads(body)["value"]
    except (ValueError, KeyError, TypeError) as error:
        raise ForgedError("A notification that is none.") from error
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _genuine(note: Mapping[str, Any], ours: Subscription) -> bool:
    return secrets.compare_digest(str(note.get("clientState", "")).encode(), ours.secret.encode())


def _subscription(answer: Mapping[str, Any], secret: str) -> Subscription:
    return Subscription(answer["id"], secret, datetime.fromisoformat(answer["expirationDateTime"]))


def _shown(page: ItemPage) -> Page:
    return Page(tuple(_entry(item) for item in page.items if item.refused is None), page.following)


def _entry(item: DriveItem) -> Entry:
    detail = "" if item.folder else (item.modified or "")[:10]
    kind: Kind = "folders" if item.folder else "files"
    return Entry(item.id, item.name, kind, detail=detail, opens=item.folder)
