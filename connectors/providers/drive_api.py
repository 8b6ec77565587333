"""Drive's interface: files, pages of them, changes. https://developers.google.com/workspace/drive/api"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import httpx2

from connectors.errors import CursorExpiredError, NotFetchedError, UnavailableError
from connectors.http import Http, checked
from connectors.providers.google import refusals
from connectors.providers.tree import Shortcut
from schemas.limits import FILE_BYTES

GOOGLE = "application/vnd.google-apps."
FOLDER, SHORTCUT = f"{GOOGLE}folder", f"{GOOGLE}shortcut"
MINE = ""
"""The home of what is in no shared drive. Other homes are the ids of shared drives."""
_FILE = (
    "id,name,mimeType,parents,driveId,createdTime,modifiedTime,md5Checksum,size,trashed,webViewLink,"
    "shortcutDetails(targetId,targetMimeType),capabilities/canDownload,"
    "owners(displayName,emailAddress),lastModifyingUser(displayName,emailAddress)"
)
_PAGE = 1000
_POLLS = 12


@dataclass(frozen=True, slots=True)
class DriveFile:
    """A file, folder or shortcut. `home`: the shared drive it is in, or MINE."""

    id: str
    name: str
    media_type: str
    parent: str | None
    home: str
    created: str | None
    modified: str | None
    md5: str | None
    size: int | None
    trashed: bool
    url: str | None
    downloadable: bool
    author: str | None
    editor: str | None
    target: tuple[str, str] | None

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> "DriveFile":
        """From the resource `File`."""
        shortcut = data.get("shortcutDetails")
        return cls(
            id=data["id"],
            name=data.get("name", ""),
            media_type=data.get("mimeType", ""),
            parent=(data.get("parents") or [None])[0],
            home=data.get("driveId", MINE),
            created=data.get("createdTime"),
            modified=data.get("modifiedTime"),
            md5=data.get("md5Checksum"),
            size=int(data["size"]) if "size" in data else None,
            trashed=data.get("trashed", False),
            url=data.get("webViewLink"),
            downloadable=data.get("capabilities", {}).get("canDownload", True),
            author=_person((data.get("owners") or [{}])[0]),
            editor=_person(data.get("lastModifyingUser", {})),
            target=(shortcut["targetId"], shortcut["targetMimeType"]) if shortcut else None,
        )

    @property
    def folder(self) -> bool:
        """Whether it holds others."""
        return self.media_type == FOLDER

    @property
    def shortcut(self) -> Shortcut | None:
        """What it stands for, where it stands for another."""
        if self.target is None:
            return None
        return Shortcut(self.parent or "", self.target[0], self.target[1] == FOLDER)

    @property
    def date(self) -> datetime | None:
        """When it was modified."""
        return datetime.fromisoformat(self.modified) if self.modified else None


@dataclass(frozen=True, slots=True)
class Change:
    """What the feed says of an id: its newest state, None where it is gone. `drive`: it is a drive's id."""

    id: str
    file: DriveFile | None
    drive: bool = False


@dataclass(frozen=True, slots=True)
class ChangePage:
    """A page of the feed and the token that follows it; the last page has `last` set."""

    changes: tuple[Change, ...]
    token: str
    last: bool


class DriveApi:
    """Calls of one connector."""

    def __init__(
        self, http: Http, base: str, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    ) -> None:
        self._http = http
        self._base = f"{base}/drive/v3"
        self._sleep = sleep

    async def user(self) -> Mapping[str, Any]:
        """Whose Drive it is."""
        params = {"fields": "user(displayName,emailAddress,permissionId)"}
        return _object(checked(await self._http.get(f"{self._base}/about", params=params))["user"])

    async def file(self, id_: str) -> DriveFile | None:
        """A file by id; None where it is not there, or not for this user."""
        response = await self._http.get(
            f"{self._base}/files/{id_}", params={"fields": _FILE, "supportsAllDrives": "true"}
        )
        return None if response.status_code == 404 else DriveFile.of(checked(response))

    async def files(
        self,
        query: str,
        *,
        home: str | None = MINE,
        page: str | None = None,
        order: str = "modifiedTime desc",
        size: int = _PAGE,
    ) -> tuple[list[DriveFile], str | None]:
        """A page of what a query finds in a home (None: everywhere), and the token of the next."""
        params = {"q": query, "pageSize": str(size), "orderBy": order} | _everywhere(home)
        params["fields"] = f"nextPageToken,files({_FILE})"
        if page is not None:
            params["pageToken"] = page
        response = await self._http.get(f"{self._base}/files", params=params)
        if response.status_code == 400 and page is not None:
            raise CursorExpiredError("Drive does not know this page of a listing any more.")
        found = checked(response)
        return [DriveFile.of(each) for each in found.get("files", [])], found.get("nextPageToken")

    async def all_files(self, query: str, *, home: str = MINE) -> list[DriveFile]:
        """Every page of it."""
        found, page = await self.files(query, home=home)
        while page is not None:
            more, page = await self.files(query, home=home, page=page)
            found += more
        return found

    async def drives(self) -> list[tuple[str, str]]:
        """The shared drives: ids and names."""
        found: list[tuple[str, str]] = []
        params = {"pageSize": "100", "fields": "nextPageToken,drives(id,name)"}
        while True:
            answer = checked(await self._http.get(f"{self._base}/drives", params=params))
            found += [(each["id"], each["name"]) for each in answer.get("drives", [])]
            if "nextPageToken" not in answer:
                return found
            params["pageToken"] = answer["nextPageToken"]

    async def start(self, home: str) -> str:
        """The token from which a home's changes are to be read."""
        params = {"supportsAllDrives": "true", "fields": "startPageToken"} | (
            {"driveId": home} if home else {}
        )
        answer = checked(await self._http.get(f"{self._base}/changes/startPageToken", params=params))
        return str(answer["startPageToken"])

    async def changes(self, home: str, token: str) -> ChangePage:
        """A page of a home's feed."""
        response = await self._http.get(f"{self._base}/changes", params=_feed(home, token))
        if response.status_code in {400, 404, 410}:
            raise CursorExpiredError("Drive does not know this place in its feed of changes any more.")
        answer = checked(response)
        changes = tuple(_change(each) for each in answer.get("changes", []))
        following = answer.get("nextPageToken")
        return ChangePage(changes, following or answer["newStartPageToken"], following is None)

    async def download(self, id_: str) -> httpx2.Response:
        """A file's bytes."""
        params = {"alt": "media", "supportsAllDrives": "true"}
        return await self._http.get(f"{self._base}/files/{id_}", params=params, limit=FILE_BYTES)

    async def export(self, id_: str, media_type: str) -> httpx2.Response:
        """A native document in another format, up to 10 MB."""
        return await self._http.get(
            f"{self._base}/files/{id_}/export", params={"mimeType": media_type}, limit=FILE_BYTES
        )

    async def export_large(self, id_: str, media_type: str) -> httpx2.Response:
        """The same without that limit: Drive prepares it, which is waited for, and says where it is."""
        operation = checked(
            await self._http.request(
                "POST", f"{self._base}/files/{id_}/download", params={"mimeType": media_type}, repeatable=True
            )
        )
        for attempt in range(_POLLS):
            if operation.get("done"):
                break
            await self._sleep(min(2.0**attempt, 15.0))
            operation = checked(await self._http.get(f"{self._base}/operations/{operation['name']}"))
        if not operation.get("done"):
            raise UnavailableError("Drive took too long to prepare an export. The next run tries again.")
        if "response" not in operation:
            raise NotFetchedError("Drive can't export the document.")
        return await self._http.get(operation["response"]["downloadUri"], limit=FILE_BYTES)

    async def watch(self, home: str, channel: Mapping[str, str]) -> Mapping[str, Any]:
        """Open a channel for a home's changes, from now on."""
        params = _feed(home, await self.start(home)) | {"fields": "id,resourceId,expiration"}
        return _object(
            checked(
                await self._http.request("POST", f"{self._base}/changes/watch", params=params, json=channel)
            )
        )

    async def stop(self, channel: str, resource: str) -> None:
        """Close a channel; one that is closed already is none to complain about."""
        body = {"id": channel, "resourceId": resource}
        response = await self._http.request("POST", f"{self._base}/channels/stop", json=body, repeatable=True)
        if response.status_code != 404 and response.status_code >= 400:
            checked(response)


def denied(response: httpx2.Response) -> bool:
    """Whether an export is too large for the short way."""
    return response.status_code == 403 and "exportSizeLimitExceeded" in refusals(response)


def _feed(home: str, token: str) -> dict[str, str]:
    params = {
        "pageToken": token,
        "pageSize": str(_PAGE),
        "includeRemoved": "true",
        "supportsAllDrives": "true",
        "includeItemsFromAllDrives": "true",
        "fields": f"nextPageToken,newStartPageToken,changes(changeType,fileId,driveId,removed,file({_FILE}))",
    }
    return params | ({"driveId": home} if home else {})


def _everywhere(home: str | None) -> dict[str, str]:
    corpora = "allDrives" if home is None else "drive" if home else "user"
    params = {"supportsAllDrives": "true", "includeItemsFromAllDrives": "true", "corpora": corpora}
    return params | ({"driveId": home} if home else {})


def _change(data: Mapping[str, Any]) -> Change:
    if data.get("changeType") == "drive":
        return Change(data["driveId"], None, drive=True)
    file = None if data.get("removed") or "file" not in data else DriveFile.of(data["file"])
    return Change(data["fileId"], file)


def _person(user: Mapping[str, Any]) -> str | None:
    name: str | None = user.get("displayName") or user.get("emailAddress")
    return name


def _object(value: Any) -> Mapping[str, Any]:
    found: Mapping[str, Any] = value
    return found
