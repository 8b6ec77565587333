"""Granola's public API as its reference describes it."""

import base64
import hmac
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from itertools import count
from typing import Any

from tests.support.providers.api_description import ApiDescription
from tests.support.providers.provider_double import (
    DoubleResponse,
    ProviderDouble,
    ReceivedRequest,
    serve_double,
)

API = "https://public-api.granola.ai"


def _time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class Folder:
    id: str
    name: str
    parent: str | None


@dataclass
class NoteDouble:
    id: str
    title: str | None
    summary: str
    created_at: datetime
    updated_at: datetime
    folders: list[str] = field(default_factory=list)
    said: list[tuple[str, str]] = field(default_factory=list)
    """(source or name, text); a source may be followed by `/me` or `/them`."""
    finished: bool = True


class GranolaDouble(ProviderDouble):
    """Notes and folders of one key."""

    def __init__(self) -> None:
        super().__init__(ApiDescription("granola", errors="Error"))
        self.numbers = count(1)
        self.keys = {"grn_good"}
        self.notes: dict[str, NoteDouble] = {}
        self.folders: dict[str, Folder] = {}
        self.allowed_scopes = {"personal", "public"}
        self.endpoints: dict[str, dict[str, Any]] = {}

    def note(self, title: str | None, summary: str = "", *, folders: list[Folder] | None = None) -> NoteDouble:
        at = self.advance_clock()
        note = NoteDouble(self._id("not"), title, summary, at, at, [folder.id for folder in folders or []])
        self.notes[note.id] = note
        return note

    def folder(self, name: str, parent: Folder | None = None) -> Folder:
        created = Folder(self._id("fol"), name, parent.id if parent else None)
        self.folders[created.id] = created
        return created

    def edit(self, note: NoteDouble, **changes: Any) -> None:
        for name, value in changes.items():
            setattr(note, name, value)
        note.updated_at = self.advance_clock()

    def _id(self, kind: str) -> str:
        return f"{kind}_{next(self.numbers):014d}"

    def handle(self, call: ReceivedRequest) -> DoubleResponse:
        if call.headers.get("authorization", "").removeprefix("Bearer ") not in self.keys:
            return DoubleResponse(401, {"message": "Unauthorized - Invalid API key"})
        answers: dict[str, Callable[[ReceivedRequest], DoubleResponse]] = {
            "listNotes": self._list,
            "getNote": self._get,
            "listFolders": self._list_folders,
            "createWebhookEndpoint": self._create_endpoint,
            "deleteWebhookEndpoint": self._delete_endpoint,
        }
        return answers[call.operation.id](call)

    def _create_endpoint(self, call: ReceivedRequest) -> DoubleResponse:
        if not set(call.body["scopes"]) <= self.allowed_scopes:
            return DoubleResponse(403, {"message": "The key does not have these scopes"})
        secret = f"whsec_{base64.b64encode(f'secret {next(self.numbers)}'.encode()).decode()}"
        made = {"id": self._id("whe"), "object": "webhook_endpoint", "signing_secret": secret, **call.body}
        self.endpoints[made["id"]] = made
        return DoubleResponse(201, made)

    def _delete_endpoint(self, call: ReceivedRequest) -> DoubleResponse:
        id_ = call.path_parameters["webhook_endpoint_id"]
        if self.endpoints.pop(id_, None) is None:
            return DoubleResponse(404, {"message": "Not found"})
        return DoubleResponse(200, {"id": id_, "object": "webhook_endpoint", "deleted": True})

    def deliver(self, endpoint: str, event: str, note: str, at: datetime) -> tuple[dict[str, str], bytes]:
        """The headers and the body of an event, signed as Standard Webhooks describes."""
        body = json.dumps({"event_id": "e1", "event_type": event, "note_id": note, "occurred_at": _time(at)}).encode()
        key = base64.b64decode(self.endpoints[endpoint]["signing_secret"].removeprefix("whsec_"))
        stamp = str(int(at.timestamp()))
        digest = hmac.new(key, f"msg_{note}.{stamp}.".encode() + body, sha256).digest()
        signature = f"v1,{base64.b64encode(digest).decode()}"
        return {"webhook-id": f"msg_{note}", "webhook-timestamp": stamp, "webhook-signature": signature}, body

    def _list(self, call: ReceivedRequest) -> DoubleResponse:
        within = self._within(call.query.get("folder_id"))
        updated_after = call.query.get("updated_after")
        after = datetime.fromisoformat(updated_after) if updated_after else datetime.min.replace(tzinfo=UTC)
        found = [
            note
            for note in self.notes.values()
            if note.finished and note.updated_at > after and (within is None or within & set(note.folders))
        ]
        found.sort(key=lambda note: note.created_at, reverse=True)
        return self._page(call, "notes", found, self._summary)

    def _within(self, folder: str | None) -> set[str] | None:
        """A folder and those within it."""
        if folder is None:
            return None
        inside = {folder}
        for child in self.folders.values():  # a folder is made after its parent
            if child.parent in inside:
                inside.add(child.id)
        return inside

    def _get(self, call: ReceivedRequest) -> DoubleResponse:
        note = self.notes.get(call.path_parameters["note_id"])
        if note is None or not note.finished:
            return DoubleResponse(404, {"message": "Not found"})
        member = [{"id": id_, "object": "folder", "name": self.folders[id_].name} for id_ in note.folders]
        transcript = None
        if call.query.get("include") == "transcript":
            transcript = [self._utterance(who, text, note.created_at) for who, text in note.said]
        response = self.description.filled_example(
            "Note", **self._summary(note), summary_text=note.summary, summary_markdown=note.summary,
            web_url=f"https://notes.granola.ai/d/{note.id}", folder_membership=member, transcript=transcript,
            attendees=[{"name": "Bob", "email": "bob@octo.test"}],
        )  # fmt: skip
        return DoubleResponse(200, {**response, "calendar_event": None})

    def _utterance(self, who: str, text: str, at: datetime) -> dict[str, Any]:
        who, _, side = who.partition("/")
        source = (
            {"source": who} if who in {"microphone", "speaker"} else {"source": "speaker", "diarization_label": who}
        )
        source |= {"attribution": side} if side else {}
        return {"speaker": source, "text": text, "start_time": _time(at), "end_time": _time(at)}

    def _summary(self, note: NoteDouble) -> dict[str, Any]:
        return {
            "id": note.id,
            "object": "note",
            "title": note.title,
            "owner": {"name": "Ada", "email": "ada@octo.test"},
            "created_at": _time(note.created_at),
            "updated_at": _time(note.updated_at),
        }

    def _list_folders(self, call: ReceivedRequest) -> DoubleResponse:
        found = sorted(self.folders.values(), key=lambda folder: folder.name)
        return self._page(
            call,
            "folders",
            found,
            lambda folder: {
                "id": folder.id,
                "object": "folder",
                "name": folder.name,
                "parent_folder_id": folder.parent,
            },
        )

    def _page(
        self, call: ReceivedRequest, name: str, found: list[Any], describe: Callable[[Any], dict[str, Any]]
    ) -> DoubleResponse:
        begin, size = int(call.query.get("cursor", 0)), int(call.query.get("page_size", 10))
        more = begin + size < len(found)
        part = [describe(item) for item in found[begin : begin + size]]
        return DoubleResponse(200, {name: part, "hasMore": more, "cursor": str(begin + size) if more else None})


def demo(granola: GranolaDouble) -> GranolaDouble:
    """A small world for the demonstration."""
    note = granola.note("Weekly", "- The coffee machine is **ordered**.", folders=[granola.folder("Team")])
    note.said = [("microphone", "Did it arrive?"), ("speaker", "On Monday.")]
    return granola


if __name__ == "__main__":
    serve_double(demo(GranolaDouble()), sys.argv[1:])
