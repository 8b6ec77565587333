"""Client of Microsoft Graph for OneDrive: OAuth, items, feed, subscriptions, errors.

https://learn.microsoft.com/graph/api/resources/onedrive
"""

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import httpx2

from connectors import errors
from connectors.client.http_client import HttpClient, origin
from connectors.client.json_answers import Shape, conforming, error_body, json_object, json_or_raise, json_page
from connectors.provider_interface import OAuthConfig
from connectors.providers.common.file_metadata import FileOrFolder
from connectors.providers.common.item_fetcher import item_response
from schemas.limits import MAX_FILE_BYTES

_SEPARATOR = ":"
"""Stands between the ids of a drive and of an item in it, in ids of items outside the account's own drive."""
_DOWNLOAD_URL_FIELD = "@microsoft.graph.downloadUrl"
"""Annotation of files in answers without `$select`, which strips it; Graph does not always send it."""
_PERSON: Shape = {"user": {"displayName": str}}
_PLACE: Shape = {"id": str, "driveId": str}
_ITEM: Shape = {
    **dict.fromkeys(("id", "name", "cTag", "createdDateTime", "lastModifiedDateTime", "webUrl"), str),
    **dict.fromkeys(("folder", "root", "deleted", "malware"), dict),
    _DOWNLOAD_URL_FIELD: str,
    "size": int,
    "file": {"mimeType": str},
    "package": {"type": str},
    "parentReference": _PLACE,
    "remoteItem": {"id": str, "parentReference": _PLACE},
    "createdBy": _PERSON,
    "lastModifiedBy": _PERSON,
}
"""What is read of an item in a list."""
_PAGE_SIZE = 200
DOWNLOAD_HOSTS = ("sharepoint.com", "sharepoint.us", "sharepoint.cn", "1drv.com", "microsoftpersonalcontent.com")
"""Microsoft's domains for file contents; downloads from others are refused."""
_MISCONFIGURATION_CODES = frozenset(
    {"AADSTS7000215", "AADSTS7000222", "AADSTS9002313", "AADSTS700016", "AADSTS50011", "AADSTS90002"}
)
"""Codes for a wrong or expired client secret, a malformed request, an unknown app, redirect or tenant."""


@dataclass(frozen=True, slots=True)
class MicrosoftOAuthClient:
    """App registration of this deployment, with Microsoft's URLs (replaced in demonstrations)."""

    id: str
    secret: str
    tenant: str = "common"
    graph_url: str = "https://graph.microsoft.com"
    login_url: str = "https://login.microsoftonline.com"
    download_hosts: tuple[str, ...] = DOWNLOAD_HOSTS

    def oauth(self, *scopes: str) -> OAuthConfig:
        """Build the OAuth parameters; `offline_access` yields the first refresh token, each refresh a new one."""
        return OAuthConfig(
            authorize_url=f"{self.login_url}/{self.tenant}/oauth2/v2.0/authorize",
            token_url=f"{self.login_url}/{self.tenant}/oauth2/v2.0/token",
            client_id=self.id,
            client_secret=self.secret,
            scopes=("offline_access", "User.Read", *scopes),
            authorize_parameters={"prompt": "select_account"},
            misconfiguration_codes=_MISCONFIGURATION_CODES,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveItem(FileOrFolder):
    """File or folder, possibly deleted; `parent` is None for the root and for deleted items."""

    is_deleted: bool
    is_root: bool
    refusal: errors.ItemError | None
    content_tag: str | None
    download_url: str | None
    target: str | None
    """Item that this one only links to: in a folder that somebody shares, or in a document library."""
    folder_path: str | None = None
    """Path of the folder, for items outside the account's own drive."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "DriveItem":
        return cls(
            id=data["id"],
            name=data.get("name") or "",
            parent=(data.get("parentReference") or {}).get("id"),
            is_deleted=data.get("deleted") is not None,
            is_root=data.get("root") is not None,
            is_folder=data.get("folder") is not None,
            refusal=_refusal(data),
            content_tag=data.get("cTag"),
            media_type=(data.get("file") or {}).get("mimeType"),
            size=data["size"] if isinstance(data.get("size"), int) else None,
            created=data.get("createdDateTime"),
            modified=data.get("lastModifiedDateTime"),
            author=_person_name(data.get("createdBy")),
            editor=_person_name(data.get("lastModifiedBy")),
            url=data.get("webUrl"),
            download_url=data.get(_DOWNLOAD_URL_FIELD),
            target=_target(data.get("remoteItem")),
        )

    def outside_own_drive(self, drive: str, folder_path: str) -> "DriveItem":
        """Return the item of another drive, under an id that is unique among all drives."""
        return replace(self, id=f"{drive}{_SEPARATOR}{self.id}", folder_path=folder_path)


@dataclass(frozen=True, slots=True)
class ItemPage:
    """Page of items with the URL of the next page, or on the last page that of later changes."""

    items: tuple[DriveItem, ...]
    next_link: str | None
    delta_link: str | None = None


class GraphClient:
    def __init__(self, http: HttpClient, client: MicrosoftOAuthClient) -> None:
        self._http = http
        self._client = client
        self._graph_url = f"{client.graph_url}/v1.0"
        self._me_url = f"{self._graph_url}/me"
        self._subscriptions_url = f"{self._graph_url}/subscriptions"

    async def user(self) -> Mapping[str, Any]:
        params = {"$select": "id,displayName,mail,userPrincipalName"}
        return json_object(await self._http.get(self._me_url, params=params))

    async def delta_page(self, link: str | None) -> ItemPage:
        """Fetch a page of the change feed, from its start (None) or by a link, which is followed verbatim."""
        if link is None:
            params = {"$top": str(_PAGE_SIZE)}
            response = await self._http.get(f"{self._me_url}/drive/root/delta", params=params)
            if response.status_code == 404:
                raise errors.PlanRequiredError("This Microsoft account has no OneDrive.")
        else:
            response = await self._http.get(self._verified_link(link))
        if response.status_code == 410 or (link is not None and response.status_code in {400, 404}):
            raise errors.CursorExpiredError("OneDrive does not know this place in its feed of changes any more.")
        return _parse_page(response)

    async def item(self, id_: str) -> DriveItem | None:
        """Fetch an item of any drive; None if it is missing."""
        response = await self._http.get(self._item_url(id_))
        return (
            None
            if response.status_code == 404
            else DriveItem.from_json(json_object(item_response(response, "OneDrive")))
        )

    async def children(self, id_: str, *, page_link: str | None = None, page_size: int = _PAGE_SIZE) -> ItemPage:
        if page_link is not None:
            return _parse_page(await self._http.get(self._verified_link(page_link)))
        params = {"$top": str(page_size)}
        response = await self._http.get(f"{self._item_url(id_)}/children", params=params)
        if response.status_code == 404:
            return ItemPage((), None)
        return _parse_page(item_response(response, "OneDrive"))

    async def shared_item(self, url: str) -> DriveItem | None:
        """Fetch what a link leads to: a shared file or folder, or a document library; None if nothing."""
        token = urlsafe_b64encode(url.encode()).decode().rstrip("=")
        response = await self._http.get(f"{self._graph_url}/shares/u!{token}/driveItem")
        if response.status_code >= 400:
            return None
        found = json_object(response)
        drive = (found.get("parentReference") or {}).get("driveId")
        return DriveItem.from_json(found).outside_own_drive(drive, "") if drive else None

    async def search(self, query: str, page_link: str | None) -> ItemPage:
        """Fetch a page of items whose name or content matches."""
        if page_link is not None:
            return _parse_page(await self._http.get(self._verified_link(page_link)))
        identity = httpx2.QueryParams({"q": query.replace("'", "''")})
        path = str(identity).removeprefix("q=").replace("+", "%20")
        return _parse_page(await self._http.get(f"{self._me_url}/drive/root/search(q='{path}')", params={"$top": "50"}))

    async def download(self, item: DriveItem) -> httpx2.Response:
        """Download a file from a pre-authenticated URL, which must not get the token.

        The feed may hold the URL, for an hour; otherwise Graph redirects to one.
        """
        if item.download_url is not None:
            response = await self._download_from(item.download_url)
            if response.status_code < 400:
                return response
        url = f"{self._item_url(item.id)}/content"
        response = await self._http.get(url, max_bytes=MAX_FILE_BYTES, follow_redirects=False)
        if response.has_redirect_location:
            response = await self._download_from(str(httpx2.URL(url).join(response.headers["location"])))
        return item_response(response, "OneDrive")

    async def subscribe(self, body: Mapping[str, str]) -> Mapping[str, Any]:
        """Create a subscription; Graph validates our URL before it responds."""
        return json_object(await self._http.request("POST", self._subscriptions_url, json=dict(body)))

    async def renew_subscription(self, id_: str, expires_at: str) -> Mapping[str, Any] | None:
        """Renew a subscription; None if it no longer exists."""
        response = await self._http.request(
            "PATCH", f"{self._subscriptions_url}/{id_}", json={"expirationDateTime": expires_at}, idempotent=True
        )
        return None if response.status_code == 404 else json_object(response)

    async def unsubscribe(self, id_: str) -> None:
        """Delete a subscription; a missing one is ignored."""
        response = await self._http.request("DELETE", f"{self._subscriptions_url}/{id_}")
        if response.status_code >= 400 and response.status_code != 404:
            json_or_raise(response)

    async def _download_from(self, url: str) -> httpx2.Response:
        host = httpx2.URL(url).host
        own = httpx2.URL(self._client.graph_url).host
        if host != own and not any(
            host == domain or host.endswith(f".{domain}") for domain in self._client.download_hosts
        ):
            raise errors.ResourceFetchError(f"OneDrive keeps this file at {host}, which is not one of its addresses.")
        return await self._http.get(url, max_bytes=MAX_FILE_BYTES, without_token=True)

    def _item_url(self, id_: str) -> str:
        drive, separator, item = id_.rpartition(_SEPARATOR)
        return f"{self._graph_url}/drives/{drive}/items/{item}" if separator else f"{self._me_url}/drive/items/{id_}"

    def _verified_link(self, link: str) -> str:
        """Check that a link belongs to Graph, as browsers send page links back to us."""
        if origin(link) != origin(self._client.graph_url):
            raise errors.UnexpectedAnswerError("A link of Microsoft Graph leads to another host.")
        return link


def is_outside_own_drive(id_: str) -> bool:
    """Return whether an id belongs to an item of another drive than the account's own."""
    return _SEPARATOR in id_


def classify_error(response: httpx2.Response) -> Exception | None:
    """Classify Graph's errors whose status alone is ambiguous."""
    if response.status_code == 509:
        return errors.RateLimitedError("OneDrive allows no more transfers for now. The next run continues.")
    if response.status_code == 403 and error_code(response) in {"Authorization_RequestDenied", "NotAllowed"}:
        return errors.MisconfigurationError("The app registration of this service lacks the permission Files.Read.All.")
    return None


def error_code(response: httpx2.Response) -> str:
    error = error_body(response).get("error")
    return str(error.get("code") or "") if isinstance(error, dict) else ""


def _parse_page(response: httpx2.Response) -> ItemPage:
    listed, answer = json_page(response, "value")
    # An item may occur more than once; its last occurrence is current.
    latest = {each["id"]: DriveItem.from_json(each) for each in conforming(listed, [_ITEM]) if each.get("id")}
    return ItemPage(tuple(latest.values()), answer.get("@odata.nextLink"), answer.get("@odata.deltaLink"))


def _target(remote: Mapping[str, Any] | None) -> str | None:
    drive = ((remote or {}).get("parentReference") or {}).get("driveId")
    return f"{drive}{_SEPARATOR}{remote['id']}" if remote and drive and remote.get("id") else None


def _refusal(data: Mapping[str, Any]) -> errors.ItemError | None:
    if data.get("malware") is not None:
        message = "OneDrive holds the file for malware and does not hand it out."
        return errors.ItemError(message, code="malware")
    if data.get("package") is not None:
        kind = data["package"].get("type", "package")
        message = f"OneDrive offers no text of a {kind}. Export it and add the file."
        return errors.ItemError(message, code="unsupported")
    if data.get("remoteItem") is not None and _target(data["remoteItem"]) is None:
        message = "OneDrive does not say where this shared item lies. Copy it to the own OneDrive."
        return errors.ItemError(message, code="unsupported")
    return None


def _person_name(identity: Mapping[str, Any] | None) -> str | None:
    user = (identity or {}).get("user") or {}
    name: str | None = user.get("displayName")
    return name
