"""OneDrive behind Microsoft Graph: one drive, its feed of changes, subscriptions, and contents elsewhere.

python -m tests.connectors.doubles.onedrive --port 0
"""

import json
import sys
from datetime import datetime, timedelta
from itertools import count
from typing import Any
from urllib.parse import unquote

from starlette.requests import Request

from tests.connectors.doubles.accounts import Accounts
from tests.connectors.doubles.double import Answer, Call, Double, run
from tests.connectors.doubles.judge import Judge, Operation, ViolationError

Item = dict[str, Any]
LONGEST = timedelta(minutes=42_300)
REVOKED = {
    "error": "invalid_grant",
    "error_description": "AADSTS50173: The provided grant has expired due to it being revoked.",
    "error_codes": [50173],
}


def refused(status: int, code: str, message: str = "Refused.", **headers: str) -> Answer:
    """A failure as Graph words it."""
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, {"error": {"code": code, "message": message}}, told)


class OneDriveDouble(Double):
    """The world: items by id, what they contain, and when each last changed."""

    def __init__(self) -> None:
        super().__init__(Judge("onedrive", errors="Error"))
        self.accounts = Accounts(rotates=True, revoked=dict(REVOKED))
        self.address = "https://graph.microsoft.com"
        self.contents_at = "https://public.bn.files.1drv.com"
        self.items: dict[str, Item] = {}
        self.contents: dict[str, bytes] = {}
        self.feed: dict[str, int] = {}
        self.subscriptions: dict[str, Item] = {}
        self.size = 200
        self.downloads = 0
        self.listings: dict[str, tuple[list[Item], int]] = {}
        self.addresses: str | None = "good"
        """What the feed says of where contents are: `good`, `stale` or nothing; an item says it always."""
        self.selected = "id"
        self._numbers = count(1)
        self.root = self._new({"name": "root", "root": {}, "folder": {"childCount": 0}})

    # What a person does in OneDrive.

    def folder(self, name: str, parent: str | None = None) -> str:
        """A new folder."""
        return self._new({"name": name, "folder": {"childCount": 0}} | self._in(parent))

    def put(self, name: str, parent: str | None = None, content: bytes = b"text", **more: Any) -> str:
        """A new file."""
        file = {"name": name, "file": {"mimeType": more.pop("media", "text/plain")}} | self._in(parent) | more
        id_ = self._new(file)
        self.write(id_, content)
        return id_

    def write(self, id_: str, content: bytes) -> None:
        """New content."""
        self.contents[id_] = content
        self.items[id_] |= {"size": len(content), "cTag": f'"c:{id_},{next(self._numbers)}"'}
        self.change(id_)

    def change(self, id_: str, *, parent: str | None = None, **fields: Any) -> None:
        """Rename, move or mark; a change of a folder says nothing about what is in it."""
        self.items[id_] |= fields | (self._in(parent) if parent else {})
        self.items[id_]["lastModifiedDateTime"] = self._clock()
        self.feed[id_] = next(self._numbers)

    def delete(self, id_: str) -> None:
        """Into the bin: with it goes what it holds, which the feed does not name."""
        for child in [each for each, item in self.items.items() if _parent(item) == id_]:
            self.delete(child)
            del self.feed[child]
        del self.items[id_]
        self.feed[id_] = next(self._numbers)

    def notification(self, id_: str, **changed: Any) -> bytes:
        """The body of a notification."""
        subscription = self.subscriptions[id_]
        note = {
            "subscriptionId": id_,
            "clientState": subscription.get("clientState"),
            "resource": subscription["resource"],
            "changeType": "updated",
            "tenantId": "tenant",
            "subscriptionExpirationDateTime": subscription["expirationDateTime"],
        }
        body = {"value": [note | changed]}
        self.judge.component("ChangeNotificationCollection", body)
        return json.dumps(body).encode()

    # What Graph answers.

    def locate(self, method: str, path: str) -> Operation | None:
        """None for what is not Graph: authorization, and contents."""
        return self.judge.operation(method, unquote(path)) if path.startswith("/v1.0/") else None

    def outside(self, request: Request, body: bytes) -> Answer:
        """Authorization, and contents at addresses that need no token."""
        path = request.url.path
        if path.endswith("/oauth2/v2.0/authorize"):
            return self.accounts.consent(request.url.query)
        if path.endswith("/oauth2/v2.0/token"):
            return self.accounts.token(body)
        if path.startswith("/contents/"):
            if "authorization" in request.headers:
                raise ViolationError("A pre-authenticated address was given a token")
            self.downloads += 1
            id_, _, good = path.removeprefix("/contents/").partition("/")
            found = self.contents.get(id_) if good == "good" else None
            return Answer(200, found, media="application/octet-stream") if found is not None else Answer(404)
        raise ViolationError(f"{request.method} {path} is not described")

    def handle(self, call: Call) -> Answer:
        """By operation."""
        if not self.accounts.accepts(call.headers.get("authorization")):
            return refused(401, "InvalidAuthenticationToken", "Access token has expired.")
        match call.operation.id:
            case "me":
                upn = "ada@example.test"
                user = {"id": "user-1", "displayName": "Ada", "mail": None, "userPrincipalName": upn}
                return Answer(200, user)
            case "delta":
                return self._delta(call.query)
            case "children":
                return self._children(call)
            case "search":
                return self._listed(call, lambda item: call.at["query"].lower() in item["name"].lower())
            case "item":
                item = self.items.get(call.at["item"])
                return (
                    Answer(200, self._cut(item, call.query, "good")) if item else refused(404, "itemNotFound")
                )
        return self._subscription(call)

    def _children(self, call: Call) -> Answer:
        id_ = self.root if call.at["item"] == "root" else call.at["item"]
        if id_ not in self.items:
            return refused(404, "itemNotFound")
        return self._listed(call, lambda item: _parent(item) == id_)

    def _listed(self, call: Call, wanted: Any) -> Answer:
        skip = int(call.query.get("$skiptoken", "0"))
        top = int(call.query.get("$top", "200"))
        found = [item for item in self.items.values() if wanted(item)]
        body: Item = {"value": [self._cut(item, call.query) for item in found[skip : skip + top]]}
        if found[skip + top :]:
            select = call.query.get("$select", "")
            link = f"{self.address}{call.path}?$select={select}&$top={top}&$skiptoken={skip + top}"
            body["@odata.nextLink"] = link
        return Answer(200, body)

    def _delta(self, query: dict[str, str]) -> Answer:
        """All of it without a token, else what changed since; pages are of what was there at first."""
        kind, _, name = query.get("token", "since-0").partition("-")
        if kind == "page":
            if name not in self.listings:
                return refused(410, "resyncChangesApplyDifferences", Location=self._link("since-0"))
            waiting, begun = self.listings[name]
        else:
            waiting, begun = self._news(int(name), query), next(self._numbers)
        size = min(int(query.get("$top", "200")), self.size)
        body: Item = {"value": waiting[:size]}
        if waiting[size:]:
            page = str(next(self._numbers))
            self.listings[page] = waiting[size:], begun
            body["@odata.nextLink"] = self._link(f"page-{page}")
        else:
            body["@odata.deltaLink"] = self._link(f"since-{begun}")
        return Answer(200, body)

    def _news(self, since: int, query: dict[str, str]) -> list[Item]:
        news = [id_ for id_, at in sorted(self.feed.items(), key=lambda entry: entry[1]) if at >= since]
        if since == 0:
            news = [id_ for id_ in news if id_ in self.items]
        self.selected = query.get("$select", self.selected)
        selected = {"$select": self.selected}
        return [
            self._cut(self.items[id_], selected)
            if id_ in self.items
            else {"id": id_, "deleted": {"state": "deleted"}}
            for id_ in news
        ]

    def _link(self, token: str) -> str:
        return f"{self.address}/v1.0/me/drive/root/delta?token={token}"

    def _cut(self, item: Item, query: dict[str, str], address: str | None = None) -> Item:
        shown = dict(item)
        if (state := address or self.addresses) is not None and "file" in item:
            shown["@microsoft.graph.downloadUrl"] = f"{self.contents_at}/contents/{item['id']}/{state}"
        names = query.get("$select", ",".join(shown)).split(",")
        described = self.judge.document["components"]["schemas"]["DriveItem"]["properties"].keys()
        if unknown := {name for name in names if not name.startswith("@")} - described:
            raise ViolationError(f"$select names properties that are not there: {sorted(unknown)}")
        return {name: shown[name] for name in names if name in shown}

    def _subscription(self, call: Call) -> Answer:
        if call.operation.id == "subscribe":
            wanted = call.body
            if wanted["changeType"] != "updated" or len(wanted["clientState"]) > 128:
                return refused(400, "InvalidRequest")
            if not wanted["notificationUrl"].startswith("https://"):
                return refused(400, "InvalidRequest", "The notification URL must be HTTPS.")
            if self._too_long(wanted):
                return refused(400, "ExtensionError", "Subscription expiration is too far away.")
            id_ = f"subscription-{next(self._numbers)}"
            self.subscriptions[id_] = wanted | {"id": id_}
            return Answer(201, self.subscriptions[id_] | {"clientState": None})
        id_ = call.at["subscription"]
        if id_ not in self.subscriptions:
            return refused(404, "ResourceNotFound")
        if call.operation.id == "unsubscribe":
            del self.subscriptions[id_]
            return Answer(204)
        if self._too_long(call.body):
            return refused(400, "ExtensionError")
        self.subscriptions[id_] |= call.body
        return Answer(200, self.subscriptions[id_] | {"clientState": None})

    def _too_long(self, wanted: Item) -> bool:
        return datetime.fromisoformat(wanted["expirationDateTime"]) > self.now + LONGEST

    def _new(self, item: Item) -> str:
        id_ = f"01ITEM{next(self._numbers):06d}"
        person = {"user": {"displayName": "Ada"}}
        self.items[id_] = {
            "id": id_,
            "createdDateTime": self._clock(),
            "createdBy": person,
            "lastModifiedBy": {"user": {"displayName": "Grace"}},
            "webUrl": f"https://onedrive.live.com/?id={id_}",
        } | item
        self.change(id_)
        return id_

    def _in(self, parent: str | None) -> Item:
        return {"parentReference": {"driveId": "drive-1", "id": parent or self.root}}

    def _clock(self) -> str:
        self.tick(timedelta(seconds=1))
        return f"{self.now:%Y-%m-%dT%H:%M:%S}Z"


def _parent(item: Item) -> str | None:
    parent: str | None = item.get("parentReference", {}).get("id")
    return parent


def demo(drive: OneDriveDouble) -> OneDriveDouble:
    """A small world for the demonstration."""
    folder = drive.folder("Harbour")
    drive.put("ships.txt", folder, b"The ferry passes the lighthouse at nine and at five.")
    drive.put("tides.md", folder, b"# Tides\n\nHigh water is at noon on Friday.", media="text/markdown")
    return drive


if __name__ == "__main__":
    double = OneDriveDouble()

    def ready(address: str) -> None:
        double.address = double.contents_at = address
        print(address)  # noqa: T201 - whoever starts it reads its address

    run(demo(double), sys.argv[1:], ready)
