"""Microsoft Graph for one account's OneDrive. https://learn.microsoft.com/graph/api/resources/onedrive"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import httpx2

from connectors.errors import (
    ConnectorError,
    CursorExpiredError,
    NotFetchedError,
    OperatorMistakeError,
    PlanRequiredError,
    RateLimitedError,
)
from connectors.http import Http, checked, origin
from connectors.ports import OAuth
from schemas.limits import FILE_BYTES

_ITEM = (
    "id,name,size,cTag,webUrl,createdDateTime,lastModifiedDateTime,createdBy,lastModifiedBy,parentReference,"
    "file,folder,package,remoteItem,malware,deleted,root,@microsoft.graph.downloadUrl"
)
_URL = "@microsoft.graph.downloadUrl"
_PAGE = 200
_STALE = frozenset({401, 403, 404, 410})
"""How a pre-authenticated address says that it was good for an hour and no longer."""
HOSTS = ("sharepoint.com", "sharepoint.us", "sharepoint.cn", "1drv.com", "microsoftpersonalcontent.com")
"""Where Microsoft keeps contents; any other address is not one of theirs."""
_OPERATOR = frozenset(
    {"AADSTS7000215", "AADSTS7000222", "AADSTS9002313", "AADSTS700016", "AADSTS50011", "AADSTS90002"}
)
"""A wrong or expired client secret, a malformed request, an unknown app, redirect or tenant."""


@dataclass(frozen=True, slots=True)
class MicrosoftClient:
    """The app registration of this deployment, and where Microsoft is (elsewhere in demonstrations)."""

    id: str
    secret: str
    tenant: str = "common"
    graph: str = "https://graph.microsoft.com"
    login: str = "https://login.microsoftonline.com"
    hosts: tuple[str, ...] = HOSTS

    def oauth(self, *scopes: str) -> OAuth:
        """Each refresh gives a new refresh token; `offline_access` gives the first."""
        return OAuth(
            authorize_url=f"{self.login}/{self.tenant}/oauth2/v2.0/authorize",
            token_url=f"{self.login}/{self.tenant}/oauth2/v2.0/token",
            client_id=self.id,
            client_secret=self.secret,
            scopes=("offline_access", "User.Read", *scopes),
            parameters={"prompt": "select_account"},
            operator_errors=_OPERATOR,
        )


@dataclass(frozen=True, slots=True)
class DriveItem:
    """A file, a folder, or what is left of one. `parent` is None for the root and for what is gone."""

    id: str
    name: str
    parent: str | None
    gone: bool
    root: bool
    folder: bool
    refused: tuple[str, str] | None
    content_tag: str | None
    media_type: str | None
    size: int | None
    created: str | None
    modified: str | None
    author: str | None
    editor: str | None
    url: str | None
    download: str | None

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> "DriveItem":
        """From the resource `driveItem`."""
        return cls(
            id=data["id"],
            name=data.get("name") or "",
            parent=(data.get("parentReference") or {}).get("id"),
            gone="deleted" in data,
            root="root" in data,
            folder="folder" in data,
            refused=_refused(data),
            content_tag=data.get("cTag"),
            media_type=(data.get("file") or {}).get("mimeType"),
            size=data.get("size"),
            created=data.get("createdDateTime"),
            modified=data.get("lastModifiedDateTime"),
            author=_person(data.get("createdBy")),
            editor=_person(data.get("lastModifiedBy")),
            url=data.get("webUrl"),
            download=data.get(_URL),
        )

    @property
    def date(self) -> datetime | None:
        """When it was modified."""
        return datetime.fromisoformat(self.modified) if self.modified else None


@dataclass(frozen=True, slots=True)
class ItemPage:
    """A page of items; `following` is the next one's address, `delta` that of what changes afterwards."""

    items: tuple[DriveItem, ...]
    following: str | None
    delta: str | None = None


class Graph:
    """Calls of one connector."""

    def __init__(self, http: Http, client: MicrosoftClient) -> None:
        self._http = http
        self._client = client
        self._me = f"{client.graph}/v1.0/me"
        self._subscriptions = f"{client.graph}/v1.0/subscriptions"

    async def user(self) -> Mapping[str, Any]:
        """Whose OneDrive it is."""
        params = {"$select": "id,displayName,mail,userPrincipalName"}
        return _object(await self._http.get(self._me, params=params))

    async def delta(self, link: str | None) -> ItemPage:
        """A page of everything there is (None) or of what comes after: links are followed as they are."""
        if link is None:
            params = {"$top": str(_PAGE), "$select": _ITEM}
            response = await self._http.get(f"{self._me}/drive/root/delta", params=params)
            if response.status_code == 404:
                raise PlanRequiredError("This Microsoft account has no OneDrive.")
        else:
            response = await self._http.get(self._ours(link))
        if response.status_code == 410 or (link is not None and response.status_code in {400, 404}):
            raise CursorExpiredError("OneDrive does not know this place in its feed of changes any more.")
        return _page(response)

    async def item(self, id_: str) -> DriveItem | None:
        """An item; None where it is not there."""
        response = await self._http.get(f"{self._me}/drive/items/{id_}", params={"$select": _ITEM})
        return None if response.status_code == 404 else DriveItem.of(_object(response))

    async def children(self, id_: str, *, page: str | None = None, size: int = _PAGE) -> ItemPage:
        """A page of what is in a folder."""
        if page is not None:
            return _page(await self._http.get(self._ours(page)))
        params = {"$top": str(size), "$select": _ITEM}
        response = await self._http.get(f"{self._me}/drive/items/{id_}/children", params=params)
        return ItemPage((), None) if response.status_code == 404 else _page(response)

    async def search(self, query: str, page: str | None) -> ItemPage:
        """A page of what a name or content matches."""
        if page is not None:
            return _page(await self._http.get(self._ours(page)))
        said = httpx2.QueryParams({"q": query.replace("'", "''")})
        path = str(said).removeprefix("q=").replace("+", "%20")
        return _page(
            await self._http.get(
                f"{self._me}/drive/root/search(q='{path}')", params={"$top": "50", "$select": _ITEM}
            )
        )

    async def download(self, item: DriveItem) -> httpx2.Response | None:
        """The bytes, from an address that needs no token and must not be given one; None: it is gone."""
        if item.download is not None:
            response = await self._fetched(item.download)
            if response.status_code not in _STALE:
                return response
        fresh = await self.item(item.id)
        if fresh is None or fresh.download is None:
            return None
        return await self._fetched(fresh.download)

    async def subscribe(self, body: Mapping[str, str]) -> Mapping[str, Any]:
        """Open a subscription. Graph asks the address back before it answers."""
        return _object(await self._http.request("POST", self._subscriptions, json=dict(body)))

    async def prolong(self, id_: str, until: str) -> Mapping[str, Any] | None:
        """Prolong a subscription; None where it is gone."""
        response = await self._http.request(
            "PATCH", f"{self._subscriptions}/{id_}", json={"expirationDateTime": until}, repeatable=True
        )
        return None if response.status_code == 404 else _object(response)

    async def unsubscribe(self, id_: str) -> None:
        """Close a subscription; one that is gone is none to complain about."""
        response = await self._http.request("DELETE", f"{self._subscriptions}/{id_}")
        if response.status_code >= 400 and response.status_code != 404:
            checked(response)

    async def _fetched(self, url: str) -> httpx2.Response:
        host = httpx2.URL(url).host
        own = httpx2.URL(self._client.graph).host
        if host != own and not any(
            host == known or host.endswith(f".{known}") for known in self._client.hosts
        ):
            raise NotFetchedError(f"OneDrive keeps this file at {host}, which is not one of its addresses.")
        return await self._http.get(url, limit=FILE_BYTES, bare=True)

    def _ours(self, link: str) -> str:
        """A link that Graph gave, checked: links come back to us from browsers, too."""
        if origin(link) != origin(self._client.graph):
            raise ConnectorError("A link of Microsoft Graph leads to another host.")
        return link


def judged(response: httpx2.Response) -> Exception | None:
    """What a refusal of Graph means where its status alone does not say it."""
    if response.status_code == 509:
        return RateLimitedError("OneDrive allows no more transfers for now. The next run continues.")
    if response.status_code == 403 and code_of(response) in {"Authorization_RequestDenied", "NotAllowed"}:
        return OperatorMistakeError("The app registration of this service lacks the permission Files.Read.")
    return None


def code_of(response: httpx2.Response) -> str:
    """Graph's code of a failure."""
    try:
        code = response.json()["error"]["code"]
    except (ValueError, KeyError, TypeError):
        return ""
    return str(code)


def _page(response: httpx2.Response) -> ItemPage:
    answer = _object(response)
    # An item may be named more than once: the last time counts.
    latest = {each["id"]: DriveItem.of(each) for each in answer["value"]}
    return ItemPage(tuple(latest.values()), answer.get("@odata.nextLink"), answer.get("@odata.deltaLink"))


def _object(response: httpx2.Response) -> Mapping[str, Any]:
    found: Mapping[str, Any] = checked(response)
    return found


def _refused(data: Mapping[str, Any]) -> tuple[str, str] | None:
    if "malware" in data:
        return "malware", "OneDrive holds the file for malware and does not hand it out."
    if "package" in data:
        kind = (data["package"] or {}).get("type", "package")
        return "unsupported", f"OneDrive offers no text of a {kind}. Export it and add the file."
    if "remoteItem" in data:
        return "unsupported", "It lies in somebody else's OneDrive. Connect theirs, or copy it to this one."
    return None


def _person(said: Mapping[str, Any] | None) -> str | None:
    user = (said or {}).get("user") or {}
    name: str | None = user.get("displayName")
    return name
