"""OneDrive behind Microsoft Graph: one drive, its feed of changes, subscriptions, and contents elsewhere.

python -m tests.support.providers.onedrive_double --port 0
"""

import json
import sys
from datetime import datetime, timedelta
from itertools import count
from typing import Any
from urllib.parse import unquote

from starlette.requests import Request

from tests.support.providers.api_description import ApiDescription, DescriptionViolationError, Operation
from tests.support.providers.authorization_server import AuthorizationServerDouble
from tests.support.providers.provider_double import (
    DoubleResponse,
    ProviderDouble,
    ReceivedRequest,
    serve_double,
)

Item = dict[str, Any]
LONGEST = timedelta(minutes=42_300)
REVOKED = {
    "error": "invalid_grant",
    "error_description": "AADSTS50173: The provided grant has expired due to it being revoked.",
    "error_codes": [50173],
}


def refused(status: int, code: str, message: str = "Refused.", **headers: str) -> DoubleResponse:
    """A failure as Graph words it."""
    named_headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return DoubleResponse(status, {"error": {"code": code, "message": message}}, named_headers)


class OneDriveDouble(ProviderDouble):
    """The world: items by id, what they contain, and when each last changed."""

    def __init__(self, first_number: int = 1) -> None:
        super().__init__(ApiDescription("onedrive", errors="Error"))
        self.accounts = AuthorizationServerDouble(rotates_refresh_tokens=True, revoked_error=dict(REVOKED))
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
        """What answers without `$select` say of where contents are: `good`, `stale` or nothing."""
        self.others: dict[str, OneDriveDouble] = {}
        """Drives of other people and document libraries, by their id."""
        self.links: dict[str, Item] = {}
        """Items by the encoded link that was shared."""
        self._numbers = count(first_number)
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

    def link(self, name: str, drive: str, target: str, parent: str | None = None) -> str:
        """A shortcut to a folder that somebody shares."""
        remote = {"id": target, "name": name, "folder": {"childCount": 1}, "parentReference": {"driveId": drive}}
        return self._new({"name": name, "remoteItem": remote} | self._in(parent))

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
        """Into the bin: with it goes what it holds, which the feed names only if it changed before, as deleted."""
        for child in [each for each, item in self.items.items() if _parent(item) == id_]:
            changed = self.feed[child]
            self.delete(child)
            self.feed[child] = changed
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
        self.description.component("ChangeNotificationCollection", body)
        return json.dumps(body).encode()

    # What Graph answers.

    def described_operation(self, method: str, path: str) -> Operation | None:
        """None for what is not Graph: authorization, and contents."""
        return self.description.operation(method, unquote(path)) if path.startswith("/v1.0/") else None

    def answer_undescribed(self, request: Request, body: bytes) -> DoubleResponse:
        """Authorization, and contents at addresses that need no token."""
        path = request.url.path
        if path.endswith("/oauth2/v2.0/authorize"):
            return self.accounts.consent(request.url.query)
        if path.endswith("/oauth2/v2.0/token"):
            return self.accounts.token(body)
        if path.startswith("/contents/"):
            if "authorization" in request.headers:
                raise DescriptionViolationError("A pre-authenticated address was given a token")
            self.downloads += 1
            id_, _, good = path.removeprefix("/contents/").partition("/")
            held = next((drive for drive in (self, *self.others.values()) if id_ in drive.contents), self)
            found = held.contents.get(id_) if good == "good" else None
            return (
                DoubleResponse(200, found, media_type="application/octet-stream")
                if found is not None
                else DoubleResponse(404)
            )
        raise DescriptionViolationError(f"{request.method} {path} is not described")

    def handle(self, call: ReceivedRequest) -> DoubleResponse:
        """Answer a request, by operation."""
        if not self.accounts.accepts(call.headers.get("authorization")):
            return refused(401, "InvalidAuthenticationToken", "Access token has expired.")
        match call.operation.id:
            case "me":
                upn = "ada@example.test"
                user = {"id": "user-1", "displayName": "Ada", "mail": None, "userPrincipalName": upn}
                return DoubleResponse(200, user)
            case "delta":
                return self._delta(call.query)
            case "children":
                return self._children(call)
            case "search":
                return self._listed(call, lambda item: call.path_parameters["query"].lower() in item["name"].lower())
            case "item":
                item = self.items.get(call.path_parameters["item"])
                return (
                    DoubleResponse(200, self._select_fields(item, call.query)) if item else refused(404, "itemNotFound")
                )
            case "content":
                return self._content(call.path_parameters["item"])
            case "driveItem" | "driveChildren" | "driveContent":
                return self._of_other_drive(call)
            case "sharedItem":
                found = self.links.get(call.path_parameters["share"])
                return DoubleResponse(200, found) if found else refused(404, "itemNotFound")
        return self._subscription(call)

    def _content(self, id_: str) -> DoubleResponse:
        if id_ not in self.contents or id_ not in self.items:
            return refused(404, "itemNotFound")
        return DoubleResponse(302, None, {"location": f"{self.contents_at}/contents/{id_}/good"})

    def _of_other_drive(self, call: ReceivedRequest) -> DoubleResponse:
        other = self.others.get(call.path_parameters["drive"])
        if other is None:
            return refused(403, "accessDenied")
        id_ = call.path_parameters["item"]
        id_ = other.root if id_ == "root" else id_
        if id_ not in other.items:
            return refused(404, "itemNotFound")
        match call.operation.id:
            case "driveItem":
                return DoubleResponse(200, other._select_fields(other.items[id_], call.query))
            case "driveChildren":
                return other._listed(call, lambda item: _parent(item) == id_)
        return other._content(id_)

    def _children(self, call: ReceivedRequest) -> DoubleResponse:
        id_ = self.root if call.path_parameters["item"] == "root" else call.path_parameters["item"]
        if id_ not in self.items:
            return refused(404, "itemNotFound")
        return self._listed(call, lambda item: _parent(item) == id_)

    def _listed(self, call: ReceivedRequest, folder: Any) -> DoubleResponse:
        skip = int(call.query.get("$skiptoken", "0"))
        top = int(call.query.get("$top", "200"))
        found = [item for item in self.items.values() if folder(item)]
        body: Item = {"value": [self._select_fields(item, call.query) for item in found[skip : skip + top]]}
        if found[skip + top :]:
            link = f"{self.address}{call.path}?$top={top}&$skiptoken={skip + top}"
            body["@odata.nextLink"] = link
        return DoubleResponse(200, body)

    def _delta(self, query: dict[str, str]) -> DoubleResponse:
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
        return DoubleResponse(200, body)

    def _news(self, since: int, query: dict[str, str]) -> list[Item]:
        news = [id_ for id_, at in sorted(self.feed.items(), key=lambda entry: entry[1]) if at >= since]
        if since == 0:
            news = [id_ for id_ in news if id_ in self.items]
        return [
            self._select_fields(self.items[id_], query)
            if id_ in self.items
            else {"id": id_, "deleted": {"state": "deleted"}}
            for id_ in news
        ]

    def _link(self, token: str) -> str:
        return f"{self.address}/v1.0/me/drive/root/delta?token={token}"

    def _select_fields(self, item: Item, query: dict[str, str]) -> Item:
        shown = dict(item)
        if "$select" not in query and self.addresses is not None and "file" in item:
            state = self.addresses
            shown["@microsoft.graph.downloadUrl"] = f"{self.contents_at}/contents/{item['id']}/{state}"
        if "$select" not in query:
            return shown
        names = query["$select"].split(",")
        described = self.description.document["components"]["schemas"]["DriveItem"]["properties"].keys()
        if unknown := {name for name in names if not name.startswith("@")} - described:
            raise DescriptionViolationError(f"$select names properties that are not there: {sorted(unknown)}")
        return {name: shown[name] for name in names if name in shown and not name.startswith("@")}

    def _subscription(self, call: ReceivedRequest) -> DoubleResponse:
        if call.operation.id == "subscribe":
            changes = call.body
            if changes["changeType"] != "updated" or len(changes["clientState"]) > 128:
                return refused(400, "InvalidRequest")
            if not changes["notificationUrl"].startswith("https://"):
                return refused(400, "InvalidRequest", "The notification URL must be HTTPS.")
            if self._too_long(changes):
                return refused(400, "ExtensionError", "Subscription expiration is too far away.")
            id_ = f"subscription-{next(self._numbers)}"
            self.subscriptions[id_] = changes | {"id": id_}
            return DoubleResponse(201, self.subscriptions[id_] | {"clientState": None})
        id_ = call.path_parameters["subscription"]
        if id_ not in self.subscriptions:
            return refused(404, "ResourceNotFound")
        if call.operation.id == "unsubscribe":
            del self.subscriptions[id_]
            return DoubleResponse(204)
        if self._too_long(call.body):
            return refused(400, "ExtensionError")
        self.subscriptions[id_] |= call.body
        return DoubleResponse(200, self.subscriptions[id_] | {"clientState": None})

    def _too_long(self, item: Item) -> bool:
        return datetime.fromisoformat(item["expirationDateTime"]) > self.now + LONGEST

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
        self.advance_clock(timedelta(seconds=1))
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

    serve_double(demo(double), sys.argv[1:], ready)
