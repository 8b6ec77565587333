"""Google Drive: My Drive, shared drives, shortcuts, native documents, a feed of changes and its channels.

python -m tests.support.providers.google_drive_double --port 0
"""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import md5
from itertools import count
from typing import Any

from starlette.requests import Request

from tests.support.providers.api_description import DescriptionViolationError
from tests.support.providers.google_double import GoogleDouble, error_response, without_none
from tests.support.providers.provider_double import DoubleResponse, ReceivedRequest, serve_double

File = dict[str, Any]
GOOGLE = "application/vnd.google-apps."
FOLDER, SHORTCUT, DOCUMENT = f"{GOOGLE}folder", f"{GOOGLE}shortcut", f"{GOOGLE}document"
SHEET, SLIDES = f"{GOOGLE}spreadsheet", f"{GOOGLE}presentation"
EXPORT_BYTES = 10 * 1024 * 1024
MAX_CHANNEL_LIFETIME = timedelta(days=7)


@dataclass
class Channel:
    """A channel of notifications, as it was asked for."""

    id: str
    address: str
    token: str
    resource: str
    expires: datetime
    drive: str
    messages: int = 0


EXPORT_LINKS = "https://docs.google.com/outside/export"


class GoogleDriveDouble(GoogleDouble):
    """The world: files by id, what they contain, and when each last changed in which drive's feed."""

    def __init__(self) -> None:
        super().__init__("google-drive")
        self.address = "https://www.googleapis.com"
        self.files: dict[str, File] = {}
        self.contents: dict[str, dict[str, bytes]] = {}
        self.drives: dict[str, str] = {}
        self.feeds: dict[str, dict[str, int]] = {"": {}}
        self.channels: dict[str, Channel] = {}
        self.pages: dict[str, list[File]] = {}
        self.operations: dict[str, tuple[str, str]] = {}
        self.is_search_incomplete = False
        """Listings of files leave out the oldest, and say that not everything was searched."""
        self._numbers = count(1)
        self.root = self.put("My Drive", None, FOLDER)

    # What a person does in Drive.

    def put(
        self,
        name: str,
        parent: str | None,
        media: str = "text/plain",
        content: bytes | dict[str, bytes] = b"",
        *,
        drive: str | None = None,
        **more: Any,
    ) -> str:
        """A new file or folder; a native document's content is what it exports to, by media type."""
        id_ = f"file{next(self._numbers):06d}"
        home = drive or (self.files[parent].get("driveId") if parent in self.files else None)
        self.files[id_] = without_none(
            {
                "kind": "drive#file",
                "id": id_,
                "name": name,
                "mimeType": media,
                "parents": [parent] if parent else None,
                "driveId": home,
                "createdTime": self.timestamp_now(),
                "owners": None if home else [{"displayName": "Ada", "emailAddress": "ada@example.test"}],
                "webViewLink": f"https://drive.google.com/file/d/{id_}/view",
                "capabilities": {"canDownload": True},
                "explicitlyTrashed": False,
            }
            | more
        )
        self.write(id_, content)
        return id_

    def write(self, id_: str, content: bytes | dict[str, bytes]) -> None:
        """New content."""
        file = self.files[id_]
        self.contents[id_] = content if isinstance(content, dict) else {"": content}
        if isinstance(content, bytes) and not file["mimeType"].startswith(GOOGLE):
            file |= {"size": str(len(content)), "md5Checksum": md5(content).hexdigest()}  # noqa: S324 - as Drive does
        file["modifiedTime"] = self.timestamp_now()
        file["lastModifyingUser"] = {"displayName": "Grace", "emailAddress": "grace@example.test"}
        self.record_change(id_)

    def change(self, id_: str, **fields: Any) -> None:
        """Rename, move (parents=[...]) or mark; a change of a folder says nothing about what is in it."""
        self.files[id_] |= fields
        self.record_change(id_)

    def transfer(self, id_: str, parent: str) -> None:
        """Move to another drive, or out of one: the feed of the one it leaves says that it is removed."""
        file = self.files[id_]
        self.record_change(id_)
        self.files[id_] = without_none(file | {"parents": [parent], "driveId": self.files[parent].get("driveId")})
        self.record_change(id_)

    def trash(self, id_: str) -> None:
        """Into the bin, with everything in it."""
        self.change(id_, explicitlyTrashed=True)

    def restore(self, id_: str) -> None:
        """Take a file out of the bin."""
        self.change(id_, explicitlyTrashed=False)

    def delete(self, id_: str) -> None:
        """Delete for good, or hide from this user."""
        self.record_change(id_)
        del self.files[id_]

    def share_drive(self, name: str) -> str:
        """A new shared drive; its id is that of its root folder."""
        id_ = f"drive{next(self._numbers):04d}"
        self.drives[id_] = name
        self.feeds[""][id_] = next(self._numbers)
        self.feeds[id_] = {}
        self.files[id_] = {
            "kind": "drive#file",
            "id": id_,
            "name": name,
            "mimeType": FOLDER,
            "driveId": id_,
            "modifiedTime": self.timestamp_now(),
            "explicitlyTrashed": False,
        }
        return id_

    def shortcut(self, name: str, parent: str, target: str) -> str:
        """A file that stands for another."""
        details = {"targetId": target, "targetMimeType": self.files[target]["mimeType"]}
        return self.put(name, parent, SHORTCUT, shortcutDetails=details)

    def notifications(self, channel: str, state: str = "change") -> dict[str, str]:
        """The headers of a notification; there is no body, and no signature."""
        found = self.channels[channel]
        found.messages += 1
        return {
            "x-goog-channel-id": found.id,
            "x-goog-channel-token": found.token,
            "x-goog-channel-expiration": f"{found.expires:%a, %d %b %Y %H:%M:%S GMT}",
            "x-goog-message-number": str(found.messages),
            "x-goog-resource-id": found.resource,
            "x-goog-resource-state": state,
            "x-goog-resource-uri": f"{self.address}/drive/v3/changes?alt=json",
            "content-length": "0",
        }

    def timestamp_now(self) -> str:
        """Now, as Drive writes times."""
        self.advance_clock(timedelta(seconds=1))
        return f"{self.now:%Y-%m-%dT%H:%M:%S}.000Z"

    def record_change(self, id_: str) -> None:
        """Into the feed: each file stands in it once, at its latest change."""
        number = next(self._numbers)
        file = self.files[id_]
        file["version"] = str(number)
        self.feeds[file.get("driveId", "")][id_] = number

    # What Drive answers.

    def answer(self, call: ReceivedRequest) -> DoubleResponse:
        """Answer a request, by operation."""
        match call.operation.id:
            case "about.get":
                return self._about(call)
            case "drives.list":
                listed = [{"kind": "drive#drive", "id": i, "name": name} for i, name in self.drives.items()]
                return DoubleResponse(200, {"kind": "drive#driveList", "drives": listed})
            case "changes.getStartPageToken":
                return DoubleResponse(200, {"kind": "drive#startPageToken", "startPageToken": str(next(self._numbers))})
            case "changes.list":
                return self._changes(call)
            case "changes.watch":
                return self._watch(call)
            case "channels.stop":
                removed = self.channels.pop(call.body["id"], None)
                return DoubleResponse(204) if removed else error_response(404, "channelNotFound")
            case "files.list":
                return self._listing(call)
            case "operations.get":
                return self._operation(call.path_parameters["name"], done=True)
        return self._file(call)

    def answer_undescribed(self, request: Request, body: bytes) -> DoubleResponse:
        """The content that a long-running download leads to."""
        if request.url.path.startswith("/outside/export/"):
            id_, media = request.url.path.removeprefix("/outside/export/").split("/", 1)
            if not self.accounts.accepts(request.headers.get("authorization")):
                return DoubleResponse(401)
            return DoubleResponse(200, self.contents[id_][media], media_type=media)
        if request.url.path.startswith("/outside/"):
            id_, media = self.operations[request.url.path.rpartition("/")[2]]
            if not self.accounts.accepts(request.headers.get("authorization")):
                return DoubleResponse(401)
            return DoubleResponse(200, self.contents[id_][media], media_type=media)
        return super().answer_undescribed(request, body)

    def _about(self, call: ReceivedRequest) -> DoubleResponse:
        if "fields" not in call.query:
            return error_response(400, "required", "The 'fields' parameter is required for this method.")
        user = {"displayName": "Ada", "emailAddress": "ada@example.test", "permissionId": "0123"}
        return DoubleResponse(200, {"kind": "drive#about", "user": user})

    def _with_trashed_flag(self, file: File) -> File:
        trashed = any(each["explicitlyTrashed"] for each in self._ancestors(file))
        return file | {"trashed": trashed}

    def _ancestors(self, file: File) -> list[File]:
        line = [file]
        while parent := self.files.get((line[-1].get("parents") or [""])[0]):
            line.append(parent)
        return line

    def _file(self, call: ReceivedRequest) -> DoubleResponse:
        file = self.files.get(self.root if call.path_parameters["fileId"] == "root" else call.path_parameters["fileId"])
        if file is None or (
            "driveId" in file and call.query.get("supportsAllDrives") != "true" and call.operation.id == "files.get"
        ):
            return error_response(404, "notFound", f"File not found: {call.path_parameters['fileId']}.")
        media = call.query.get("mimeType", "")
        if call.operation.id == "files.get" and call.query.get("alt") != "media":
            medias = self.contents.get(file["id"], {}) if file["mimeType"].startswith(GOOGLE) else {}
            links = {media: f"{EXPORT_LINKS}/{file['id']}/{media}" for media in medias if media}
            shown = {"exportLinks": links} if links else {}
            return DoubleResponse(200, self._with_trashed_flag(file) | shown)
        if not file.get("capabilities", {}).get("canDownload", True):
            return error_response(403, "cannotDownloadFile")
        native = file["mimeType"].startswith(GOOGLE)
        if call.operation.id == "files.get" and native:
            return error_response(403, "fileNotDownloadable", "Use Export with Docs Editors files.")
        if call.operation.id != "files.get" and (not native or media not in self.contents[file["id"]]):
            return error_response(400, "badRequest", "The requested conversion is not supported.")
        if call.operation.id == "files.download":
            name = f"operation{next(self._numbers)}"
            self.operations[name] = (file["id"], media)
            return self._operation(name, done=False)
        content = self.contents[file["id"]][media]
        if call.operation.id == "files.export" and len(content) > EXPORT_BYTES:
            return error_response(403, "exportSizeLimitExceeded", "This file is too large to be exported.")
        return DoubleResponse(200, content, media_type=media or file["mimeType"])

    def _operation(self, name: str, *, done: bool) -> DoubleResponse:
        if name not in self.operations:
            return error_response(404, "notFound")
        found: dict[str, Any] = {"name": name, "done": done}
        if done:
            uri = f"{self.address}/outside/{name}"
            kind = "type.googleapis.com/google.apps.drive.v3.DownloadFileResponse"
            found["response"] = {"@type": kind, "downloadUri": uri, "partialDownloadAllowed": True}
        return DoubleResponse(200, found)

    def _listing(self, call: ReceivedRequest) -> DoubleResponse:
        query = call.query
        if (token := query.get("pageToken")) is not None:
            if token not in self.pages:
                return error_response(400, "invalid", "Invalid Value: pageToken")
            return self._page(self.pages[token], query)
        home = query.get("driveId", "")
        if bool(home) != (query.get("corpora") == "drive"):
            return error_response(400, "invalid", "driveId goes with corpora=drive")
        if home and not _all_drives(query):
            return error_response(403, "teamDrivesParentLimit", "Shared drives need both flags.")
        matches = _parse_query(query.get("q", ""))
        found = [
            shown
            for file in self.files.values()
            if file.get("driveId", "") == home
            and file["id"] not in (self.root, home)
            and matches(shown := self._with_trashed_flag(file))
        ]
        for key in reversed(query.get("orderBy", "modifiedTime").split(",")):
            field, _, direction = key.strip().partition(" ")
            found.sort(key=_sorting(field), reverse=direction == "desc")
        return self._page(found, query)

    def _page(self, found: list[File], query: dict[str, str]) -> DoubleResponse:
        found = found[:-1] if self.is_search_incomplete else found
        size = int(query.get("pageSize", "100"))
        if not 1 <= size <= 1000:
            raise DescriptionViolationError("files.list gives 1 to 1000 files a page")
        body: dict[str, Any] = {
            "kind": "drive#fileList",
            "incompleteSearch": self.is_search_incomplete,
            "files": found[:size],
        }
        if found[size:]:
            token = f"page{next(self._numbers)}"
            self.pages[token] = found[size:]
            body["nextPageToken"] = token
        return DoubleResponse(200, body)

    def _changes(self, call: ReceivedRequest) -> DoubleResponse:
        query = call.query
        drive, after = query.get("driveId", ""), int(query["pageToken"])
        if drive and not _all_drives(query):
            return error_response(403, "teamDrivesParentLimit", "Shared drives need both flags.")
        if drive not in self.feeds:
            return error_response(404, "notFound", f"Shared drive not found: {drive}.")
        size = int(query.get("pageSize", "100"))
        news = sorted((at, id_) for id_, at in self.feeds[drive].items() if at >= after)
        changes = [self._change(id_, drive) for _, id_ in news[:size]]
        body: dict[str, Any] = {"kind": "drive#changeList", "changes": changes}
        if news[size:]:
            body["nextPageToken"] = str(news[size][0])
        else:
            body["newStartPageToken"] = str(next(self._numbers))
        return DoubleResponse(200, body)

    def _change(self, id_: str, drive: str) -> File:
        change: File = {
            "kind": "drive#change",
            "changeType": "file",
            "time": self.timestamp_now(),
            "fileId": id_,
        }
        if id_ in self.drives:
            shared = {"kind": "drive#drive", "id": id_, "name": self.drives[id_]}
            change = {"changeType": "drive", "driveId": id_, "removed": False, "drive": shared}
            return {"kind": "drive#change", "time": self.timestamp_now()} | change
        file = self.files.get(id_)
        if file is not None and file.get("driveId", "") != drive:
            file = None
        return change | ({"removed": False, "file": self._with_trashed_flag(file)} if file else {"removed": True})

    def _watch(self, call: ReceivedRequest) -> DoubleResponse:
        channel = call.body
        if channel["type"] != "web_hook" or not channel["address"].startswith("https://"):
            return error_response(400, "webhookUrlNotHttps", "WebHook callback must be HTTPS.")
        if channel["id"] in self.channels:
            return error_response(400, "channelIdNotUnique")
        asked = int(channel.get("expiration", self.now.timestamp() * 1000 + 3_600_000)) / 1000
        expires = min(datetime.fromtimestamp(asked, self.now.tzinfo), self.now + MAX_CHANNEL_LIFETIME)
        drive = call.query.get("driveId", "")
        resource = f"resource-{drive or 'user'}"
        self.channels[channel["id"]] = Channel(
            channel["id"], channel["address"], channel.get("token", ""), resource, expires, drive
        )
        return DoubleResponse(
            200,
            {
                "kind": "api#channel",
                "id": channel["id"],
                "resourceId": resource,
                "resourceUri": f"{self.address}/drive/v3/changes?alt=json",
                "token": channel.get("token", ""),
                "expiration": str(int(expires.timestamp() * 1000)),
            },
        )


def _all_drives(query: dict[str, str]) -> bool:
    return query.get("supportsAllDrives") == "true" == query.get("includeItemsFromAllDrives")


def _sorting(field: str) -> Callable[[File], Any]:
    if field == "folder":
        return lambda file: file["mimeType"] != FOLDER
    if field not in ("name", "name_natural", "modifiedTime"):
        raise DescriptionViolationError(f"orderBy knows no {field}")
    return lambda file: file[field.removesuffix("_natural")]


FilePredicate = Callable[[File], bool]
_WORDS = re.compile(r"'(?:[^'\\]|\\.)*'|!=|=|\(|\)|\w+")


def _parse_query(text: str) -> FilePredicate:
    """`q` as a predicate: only what Drive's grammar has of it, the rest is a violation."""
    tokens = _WORDS.findall(text)
    if not tokens:
        return lambda _: True
    found = _parse_or(tokens)
    if tokens:
        raise DescriptionViolationError(f"q={text!r} can't be understood from {tokens[0]!r} on")
    return found


def _parse_or(tokens: list[str]) -> FilePredicate:
    parts = [_parse_and(tokens)]
    while tokens[:1] == ["or"]:
        tokens.pop(0)
        parts.append(_parse_and(tokens))
    return lambda file: any(part(file) for part in parts)


def _parse_and(tokens: list[str]) -> FilePredicate:
    parts = [_parse_term(tokens)]
    while tokens[:1] == ["and"]:
        tokens.pop(0)
        parts.append(_parse_term(tokens))
    return lambda file: all(part(file) for part in parts)


def _parse_term(tokens: list[str]) -> FilePredicate:
    first = tokens.pop(0)
    if first == "(":
        inner = _parse_or(tokens)
        if tokens.pop(0) != ")":
            raise DescriptionViolationError("q has a parenthesis too few")
        return inner
    operator, value = tokens.pop(0), tokens.pop(0)
    if operator == "in" and value == "parents":
        parent = _unquoted(first)
        return lambda file: parent in file.get("parents", [])
    match first, operator:
        case "trashed", "=":
            return lambda file: file["trashed"] == (value == "true")
        case "mimeType", "=":
            return lambda file: bool(file["mimeType"] == _unquoted(value))
        case "mimeType", "!=":
            return lambda file: bool(file["mimeType"] != _unquoted(value))
        case "name", "contains":
            return lambda file: _unquoted(value).lower() in file["name"].lower()
    raise DescriptionViolationError(f"q knows no {first} {operator} {value}")


def _unquoted(token: str) -> str:
    return re.sub(r"\\(.)", r"\1", token[1:-1])


def demo(drive: GoogleDriveDouble) -> GoogleDriveDouble:
    """A small world for the demonstration."""
    folder = drive.put("Lighthouse", drive.root, FOLDER)
    plan = "# Painting\n\nThe lighthouse is painted every spring, white first and red afterwards."
    drive.put("Painting plan", folder, DOCUMENT, {"text/markdown": plan.encode()})
    drive.put("keepers.txt", folder, "text/plain", b"Ada keeps the light from May to October.")
    return drive


if __name__ == "__main__":
    double = GoogleDriveDouble()

    def ready(address: str) -> None:
        double.address = address
        print(address)  # noqa: T201 - whoever starts it reads its address

    serve_double(demo(double), sys.argv[1:], ready)
