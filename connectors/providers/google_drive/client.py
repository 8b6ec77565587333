"""Client of the Drive API: files, changes, channels. https://developers.google.com/workspace/drive/api"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from connectors.client.http_client import HttpClient
from connectors.client.json_answers import PageTrail, Shape, conforming, json_object, json_or_raise, json_page
from connectors.errors import CursorExpiredError, ItemError, ProviderUnavailableError
from connectors.providers.common.file_metadata import FileOrFolder
from connectors.providers.common.folder_tree import Shortcut
from connectors.providers.common.item_fetcher import item_response
from connectors.providers.google.oauth_client import error_reasons
from schemas.limits import MAX_FILE_BYTES

GOOGLE_APPS_PREFIX = "application/vnd.google-apps."
FOLDER, SHORTCUT = f"{GOOGLE_APPS_PREFIX}folder", f"{GOOGLE_APPS_PREFIX}shortcut"
MY_DRIVE = ""
"""Drive id of My Drive; all others are ids of shared drives."""
_FILE_FIELDS = (
    "id,name,mimeType,parents,driveId,createdTime,modifiedTime,md5Checksum,size,trashed,webViewLink,"
    "shortcutDetails(targetId,targetMimeType),capabilities/canDownload,"
    "owners(displayName,emailAddress),lastModifyingUser(displayName,emailAddress)"
)
_PERSON: Shape = {"displayName": str, "emailAddress": str}
_FILE: Shape = {
    **dict.fromkeys(("id", "name", "mimeType", "driveId", "md5Checksum", "createdTime", "modifiedTime"), str),
    "webViewLink": str,
    "parents": [str],
    "capabilities": dict,
    "owners": [_PERSON],
    "lastModifyingUser": _PERSON,
    "shortcutDetails": {"targetId": str, "targetMimeType": str},
}
"""What is read of a file in a list."""
_PAGE_SIZE = 1000
_MAX_EXPORT_POLLS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveFile(FileOrFolder):
    """File, folder or shortcut."""

    media_type: str
    drive_id: str
    md5: str | None
    trashed: bool
    downloadable: bool
    shortcut_target: tuple[str, str] | None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "DriveFile":
        """Parse the resource `File`."""
        return cls(
            id=data["id"],
            name=data.get("name") or "",
            media_type=data.get("mimeType") or "",
            parent=(data.get("parents") or [None])[0],
            is_folder=data.get("mimeType") == FOLDER,
            drive_id=data.get("driveId") or MY_DRIVE,
            created=data.get("createdTime"),
            modified=data.get("modifiedTime"),
            md5=data.get("md5Checksum"),
            size=int(data["size"]) if str(data.get("size")).isdigit() else None,
            trashed=bool(data.get("trashed")),
            url=data.get("webViewLink"),
            downloadable=(data.get("capabilities") or {}).get("canDownload") is not False,
            author=_person_name((data.get("owners") or [{}])[0]),
            editor=_person_name(data.get("lastModifyingUser")),
            shortcut_target=_shortcut_target(data.get("shortcutDetails")),
        )

    @property
    def shortcut(self) -> Shortcut | None:
        """Target of the shortcut; None for other files."""
        if self.shortcut_target is None:
            return None
        return Shortcut(self.parent or "", self.shortcut_target[0], self.shortcut_target[1] == FOLDER)


@dataclass(frozen=True, slots=True)
class FileChange:
    """Entry of the change feed for a file or drive: its newest state, None if it was removed."""

    id: str
    file: DriveFile | None
    is_drive: bool = False


@dataclass(frozen=True, slots=True)
class ChangePage:
    changes: tuple[FileChange, ...]
    next_page_token: str
    is_last: bool


class DriveClient:
    def __init__(
        self, http: HttpClient, base_url: str, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    ) -> None:
        self._http = http
        self._base_url = f"{base_url}/drive/v3"
        self._sleep = sleep
        self.searched_everything = True
        """Whether no list of files was cut short by Drive so far."""

    async def user(self) -> Mapping[str, Any]:
        params = {"fields": "user(displayName,emailAddress,permissionId)"}
        answer = json_object(await self._http.get(f"{self._base_url}/about", params=params), "user")
        user: Mapping[str, Any] = answer["user"]
        return user

    async def file(self, id_: str) -> DriveFile | None:
        """Fetch a file by id; None if it is missing or inaccessible."""
        response = await self._http.get(
            f"{self._base_url}/files/{id_}", params={"fields": _FILE_FIELDS, "supportsAllDrives": "true"}
        )
        if response.status_code == 404:
            return None
        return DriveFile.from_json(json_object(item_response(response, "Google Drive")))

    async def files(
        self,
        query: str,
        *,
        drive_id: str | None = MY_DRIVE,
        page_token: str | None = None,
        order_by: str = "modifiedTime desc",
        page_size: int = _PAGE_SIZE,
    ) -> tuple[list[DriveFile], str | None]:
        """Query a page of files in a drive (None: all drives), with the token of the next page."""
        params = {"q": query, "pageSize": str(page_size), "orderBy": order_by} | _drive_parameters(drive_id)
        params["fields"] = f"nextPageToken,incompleteSearch,files({_FILE_FIELDS})"
        if page_token is not None:
            params["pageToken"] = page_token
        response = await self._http.get(f"{self._base_url}/files", params=params)
        if response.status_code == 400 and page_token is not None:
            raise CursorExpiredError("Drive does not know this page of a listing any more.")
        listed, answer = json_page(response, "files")
        self.searched_everything &= answer.get("incompleteSearch") is not True
        files = [DriveFile.from_json(each) for each in conforming(listed, [_FILE]) if each.get("id")]
        return files, answer.get("nextPageToken")

    async def all_files(self, query: str, *, drive_id: str = MY_DRIVE) -> list[DriveFile]:
        found, page = await self.files(query, drive_id=drive_id)
        trail = PageTrail("Google Drive")
        while trail.follow(page) is not None:
            more, page = await self.files(query, drive_id=drive_id, page_token=page)
            found += more
        return found

    async def shared_drives(self) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        params = {"pageSize": "100", "fields": "nextPageToken,drives(id,name)"}
        trail = PageTrail("Google Drive")
        while True:
            response = await self._http.get(f"{self._base_url}/drives", params=params)
            listed, answer = json_page(response, "drives")
            found += [(each["id"], each.get("name") or "") for each in listed if each.get("id")]
            page = trail.follow(answer.get("nextPageToken"))
            if page is None:
                return found
            params["pageToken"] = page

    async def start_page_token(self, drive_id: str) -> str:
        """Fetch the token from which a drive's changes are read."""
        params = {"supportsAllDrives": "true", "fields": "startPageToken"} | ({"driveId": drive_id} if drive_id else {})
        response = await self._http.get(f"{self._base_url}/changes/startPageToken", params=params)
        return str(json_object(response, "startPageToken")["startPageToken"])

    async def changes(self, drive_id: str, page_token: str) -> ChangePage:
        response = await self._http.get(f"{self._base_url}/changes", params=_changes_parameters(drive_id, page_token))
        if response.status_code in {400, 404, 410} or (response.status_code == 403 and drive_id):
            # A shared drive that was left answers 403 too; a complete listing finds out what remains.
            raise CursorExpiredError("Drive does not know this place in its feed of changes any more.")
        listed, answer = json_page(response, "changes")
        entries = conforming(listed, [{"fileId": str, "driveId": str, "file": _FILE}])
        changes = tuple(change for each in entries if (change := _parse_change(each)))
        following = answer.get("nextPageToken")
        after = following or json_object(response, "newStartPageToken")["newStartPageToken"]
        return ChangePage(changes, after, following is None)

    async def download(self, id_: str) -> httpx2.Response:
        params = {"alt": "media", "supportsAllDrives": "true"}
        return await self._http.get(f"{self._base_url}/files/{id_}", params=params, max_bytes=MAX_FILE_BYTES)

    async def export(self, id_: str, media_type: str) -> httpx2.Response:
        """Export a native document to another format, up to 10 MB."""
        return await self._http.get(
            f"{self._base_url}/files/{id_}/export", params={"mimeType": media_type}, max_bytes=MAX_FILE_BYTES
        )

    async def export_large(self, id_: str, media_type: str) -> httpx2.Response:
        """Export without a size limit: Drive prepares the file, then returns its URL."""
        answer = await self._http.request(
            "POST", f"{self._base_url}/files/{id_}/download", params={"mimeType": media_type}, idempotent=True
        )
        operation = json_or_raise(item_response(answer, "Google Drive"))
        for attempt in range(_MAX_EXPORT_POLLS):
            if operation.get("done"):
                break
            await self._sleep(min(2.0**attempt, 15.0))
            answer = await self._http.get(f"{self._base_url}/operations/{operation['name']}")
            operation = json_or_raise(item_response(answer, "Google Drive"))
        if not operation.get("done"):
            raise ProviderUnavailableError("Drive took too long to prepare an export. The next run tries again.")
        if "response" not in operation:
            raise ItemError("Google Drive can't export the document. Split it, or export it by hand.", retryable=True)
        return await self._http.get(operation["response"]["downloadUri"], max_bytes=MAX_FILE_BYTES)

    async def export_by_link(self, id_: str, media_type: str) -> httpx2.Response | None:
        """Export by the link that the editors' own menu uses, which has no size limit; None if there is no link."""
        params = {"fields": "exportLinks", "supportsAllDrives": "true"}
        answer = await self._http.get(f"{self._base_url}/files/{id_}", params=params)
        links = json_or_raise(item_response(answer, "Google Drive")).get("exportLinks") or {}
        if not links.get(media_type):
            return None
        return item_response(await self._http.get(links[media_type], max_bytes=MAX_FILE_BYTES), "Google Drive")

    async def watch(self, drive_id: str, channel: Mapping[str, str]) -> Mapping[str, Any]:
        """Open a notification channel for a drive's changes."""
        params = _changes_parameters(drive_id, await self.start_page_token(drive_id)) | {
            "fields": "id,resourceId,expiration"
        }
        return json_object(
            await self._http.request("POST", f"{self._base_url}/changes/watch", params=params, json=channel)
        )

    async def stop(self, channel: str, resource: str) -> None:
        """Close a channel; a closed one is ignored."""
        body = {"id": channel, "resourceId": resource}
        response = await self._http.request("POST", f"{self._base_url}/channels/stop", json=body, idempotent=True)
        if response.status_code != 404 and response.status_code >= 400:
            json_or_raise(response)


def is_export_too_large(response: httpx2.Response) -> bool:
    """Return whether an export exceeds the limit of the direct call."""
    return response.status_code == 403 and "exportSizeLimitExceeded" in error_reasons(response)


def _changes_parameters(drive_id: str, page_token: str) -> dict[str, str]:
    params = {
        "pageToken": page_token,
        "pageSize": str(_PAGE_SIZE),
        "includeRemoved": "true",
        "supportsAllDrives": "true",
        "includeItemsFromAllDrives": "true",
        "fields": f"nextPageToken,newStartPageToken,changes(changeType,fileId,driveId,removed,file({_FILE_FIELDS}))",
    }
    return params | ({"driveId": drive_id} if drive_id else {})


def _drive_parameters(drive_id: str | None) -> dict[str, str]:
    corpora = "allDrives" if drive_id is None else "drive" if drive_id else "user"
    params = {"supportsAllDrives": "true", "includeItemsFromAllDrives": "true", "corpora": corpora}
    return params | ({"driveId": drive_id} if drive_id else {})


def _parse_change(data: Mapping[str, Any]) -> FileChange | None:
    if data.get("changeType") == "drive":
        return FileChange(data.get("driveId") or "", None, is_drive=True)
    if not data.get("fileId"):
        return None
    file = DriveFile.from_json(data["file"]) if data.get("file") and not data.get("removed") else None
    return FileChange(data["fileId"], file)


def _shortcut_target(shortcut: Mapping[str, Any] | None) -> tuple[str, str] | None:
    target = (shortcut or {}).get("targetId")
    return (target, (shortcut or {}).get("targetMimeType") or "") if target else None


def _person_name(user: Mapping[str, Any] | None) -> str | None:
    name: str | None = (user or {}).get("displayName") or (user or {}).get("emailAddress")
    return name
