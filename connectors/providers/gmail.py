"""Gmail: threads as Markdown with their attachments, by label, kept in step by the mailbox's history."""

import base64
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import httpx2

from connectors.errors import ForgedError, PlanRequiredError
from connectors.http import checked
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
from connectors.providers.gmail_sync import GmailRun
from connectors.providers.google import GoogleClient, judged, refusals
from connectors.providers.google_push import GoogleKeys, checked_push, members
from pipeline.ports import Clock

SCOPE = "https://www.googleapis.com/auth/gmail.readonly"
_HIDDEN = frozenset({"TRASH", "SPAM", "DRAFT", "CHAT", "UNREAD"})
_STANDARD = str.maketrans("-_", "+/")
_AGAIN = timedelta(days=6)
"""A watch lives for seven days and is to be asked for daily: with less than this left it is."""


@dataclass(frozen=True, slots=True)
class Push:
    """The operator's Pub/Sub topic, and what its pushes are signed for and by whom."""

    topic: str
    audience: str
    account: str
    keys: GoogleKeys


class Gmail(Provider):
    """Mail with any of the selected labels; all of it but spam and the bin where none is selected."""

    name = "gmail"
    kinds: tuple[Kind, ...] = ("labels",)
    pace = Pace(per_second=10, concurrent=8, burst=100)
    order = "newest first, label by label"

    def __init__(self, client: GoogleClient, *, clock: Clock, push: Push | None = None) -> None:
        self._client = client
        self._clock = clock
        self._push = push
        self._base = f"{client.api}/gmail/v1/users/me"
        self.webhooks = push is not None
        self.oauth = client.oauth(SCOPE)
        self.origins = frozenset({client.api})

    def sync(self, connection: Connection, cursor: Cursor | None, known: Known) -> AsyncIterator[Step]:
        """See `gmail_sync`."""
        account = connection.account.name if connection.account else ""
        labels = connection.selected("labels")
        return GmailRun(connection.http, self._base, known, labels, account).steps(cursor)

    def judge(self, response: httpx2.Response) -> Exception | None:
        """403 by its reason; 400 of an account that has no mailbox."""
        if response.status_code == 400 and "failedPrecondition" in refusals(response):
            return PlanRequiredError("This Google account has no Gmail.")
        return judged(response, "Gmail") if response.status_code in {403, 429} else None

    async def account(self, connection: Connection) -> Account:
        """The mailbox: pushes name it by its address."""
        profile = checked(await connection.http.get(f"{self._base}/profile"))
        return Account(profile["emailAddress"], profile["emailAddress"].lower())

    async def names(self, connection: Connection, kind: Kind, ids: Sequence[str]) -> Mapping[str, str]:
        """Names of labels."""
        del kind
        return {entry.id: entry.name for entry in await self._labels(connection) if entry.id in ids}

    async def browse(self, connection: Connection, parent: str | None, query: str, page: str | None) -> Page:
        """All labels: there are never more than a few hundred."""
        del parent, page
        said = query.lower()
        return Page(tuple(entry for entry in await self._labels(connection) if said in entry.name.lower()))

    async def receive(self, delivery: Delivery) -> Receipt:
        """A push of Pub/Sub for a mailbox. The history id in it is new: it is no place to start from."""
        if self._push is None:
            raise ForgedError("This deployment has no Pub/Sub topic.")
        claims = await checked_push(
            delivery.headers.get("authorization", ""),
            keys=self._push.keys,
            audience=self._push.audience,
            account=self._push.account,
            now=delivery.at,
        )
        try:
            message = json.loads(delivery.body)["message"]
            data = json.loads(base64.b64decode(message["data"].translate(_STANDARD)))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ForgedError("A push that is none of Gmail's.") from error
        address = members(data, {"emailAddress"})["emailAddress"].lower()
        identified = members(message, {"messageId"})["messageId"]
        # Pub/Sub repeats a message for days, each time with a new token: that is what may not be old.
        sent = datetime.fromtimestamp(claims["iat"], delivery.at.tzinfo)
        return Receipt(hints=(Hint(by="account", key=address),), id=identified, sent_at=sent)

    async def subscribe(
        self, connection: Connection, address: str, secret: str, current: Subscription | None
    ) -> Subscription | None:
        """Ask Gmail to tell the operator's topic; pushes come to one address for all connectors."""
        del address
        if self._push is None:
            return None
        labels = sorted(connection.selected("labels"))
        if current is not None and current.data.get("labels") == labels and self._lasts(current):
            return current
        body = {"topicName": self._push.topic}
        chosen = {"labelIds": labels, "labelFilterBehavior": "include"} if labels else {}
        answer = checked(
            await connection.http.request("POST", f"{self._base}/watch", json=body | chosen, repeatable=True)
        )
        expires = datetime.fromtimestamp(int(answer["expiration"]) / 1000, self._clock.now().tzinfo)
        name = connection.account.key if connection.account else connection.connector
        return Subscription(name, secret, expires, {"labels": list(labels)})

    async def unsubscribe(self, connection: Connection, current: Subscription) -> None:
        """Gmail has one watch per mailbox: another connector of the same one asks again within a day."""
        del current
        response = await connection.http.request("POST", f"{self._base}/stop", repeatable=True)
        if response.status_code >= 400:
            checked(response)

    def _lasts(self, current: Subscription) -> bool:
        return current.expires_at is not None and current.expires_at - self._clock.now() > _AGAIN

    async def _labels(self, connection: Connection) -> list[Entry]:
        listed = checked(await connection.http.get(f"{self._base}/labels")).get("labels", ())
        shown = [each for each in listed if each["id"] not in _HIDDEN]
        shown.sort(key=lambda each: (each["type"] != "user", each["name"].lower()))
        return [Entry(each["id"], _readable(each), "labels", detail=each["type"]) for each in shown]


def _readable(label: Mapping[str, str]) -> str:
    if label["type"] == "user":
        return label["name"]
    return label["name"].removeprefix("CATEGORY_").replace("_", " ").capitalize()
