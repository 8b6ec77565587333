"""Granola: notes of meetings with their transcripts.

There is no feed of deletions and no webhook, and a note may leave a folder without a new time: only a
complete listing finds both. It is made in every run while it takes a few requests, and once a day where it
takes more. A note is listed only while its summary is finished.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Final

import httpx2

from connectors.concurrency import mapped
from connectors.errors import AuthExpiredError, PlanRequiredError
from connectors.http import checked, origin
from connectors.ports import (
    Checkpoint,
    Connection,
    Cursor,
    Entry,
    Item,
    Kind,
    Known,
    Pace,
    Page,
    Provider,
    Removed,
    Step,
)
from schemas.base import Metadata

API: Final = "https://public-api.granola.ai"
OVERLAP: Final = timedelta(minutes=5)
_PAGE: Final = 30
_FEW: Final = 3 * _PAGE
_WIDTH: Final = 4


class Granola(Provider):
    """The customer's API key is all it needs."""

    name = "granola"
    kinds = ("folders",)
    pace = Pace(per_second=5.0, concurrent=4, burst=25)
    reconcile = timedelta(days=1)
    order = "notes as Granola lists them, newest first; with a selection folder by folder"

    def __init__(self, *, api: str = API) -> None:
        self._api = api.rstrip("/")
        self.origins = frozenset({origin(api)})

    def judge(self, response: httpx2.Response) -> Exception | None:
        """A key can't be renewed, only replaced."""
        if response.status_code == 401:
            return AuthExpiredError(
                "Granola does not accept the API key. Connect again with a new one from its settings."
            )
        if response.status_code in {402, 403}:
            return PlanRequiredError(
                "Granola's API needs a Business or Enterprise plan, and a key that may read."
            )
        return None

    async def sync(self, connection: Connection, cursor: Cursor | None, known: Known) -> AsyncIterator[Step]:
        """All notes, or those updated since; a killed complete run lists again and reads what is left."""
        since = None if cursor is None else cursor.get("since")
        run = _Run(self._api, connection, known)
        ids = [id_ async for id_, _ in known.versions()]
        if since is None or len(ids) <= _FEW:
            steps = run.complete(ids, {} if since is None else {"since": str(since)})
        else:
            steps = run.changed(str(since))
        async for step in steps:
            yield step

    async def names(self, connection: Connection, kind: Kind, ids: Sequence[str]) -> Mapping[str, str]:
        """Of folders."""
        del kind
        folders = {folder["id"]: folder["name"] async for folder in self._folders(connection)}
        return {id_: folders[id_] for id_ in ids if id_ in folders}

    async def browse(self, connection: Connection, parent: str | None, query: str, page: str | None) -> Page:
        """Folders within a folder; a query looks through all of them."""
        del page
        folders = [folder async for folder in self._folders(connection)]
        parents = {folder["parent_folder_id"] for folder in folders}
        shown = [
            folder
            for folder in folders
            if (query.lower() in folder["name"].lower() if query else folder["parent_folder_id"] == parent)
        ]
        return Page(tuple(Entry(f["id"], f["name"], "folders", opens=f["id"] in parents) for f in shown))

    async def _folders(self, connection: Connection) -> AsyncIterator[dict[str, Any]]:
        async for page in _listed(self._api, connection, "folders", {}):
            for folder in page:
                yield folder


class _Run:
    def __init__(self, api: str, connection: Connection, known: Known) -> None:
        self._api = api
        self._connection = connection
        self._known = known
        self._newest = ""
        self._seen: set[str] = set()

    async def complete(self, known: Sequence[str], cursor: Cursor) -> AsyncIterator[Step]:
        """Every note; what is known and was not listed is asked for, as its summary may be under way."""
        async for step in self._listing({}, cursor):
            yield step
        missing = [id_ for id_ in known if id_ not in self._seen]
        async for id_, note in mapped(missing, self._named, _WIDTH):
            if note is None or not self._is_chosen(note):
                yield Removed(id_)
            elif await self._known.wanted([(id_, _version(note))]):
                yield _item(note)
        yield Checkpoint({"since": self._newest})

    async def changed(self, since: str) -> AsyncIterator[Step]:
        """Notes updated since."""
        self._newest = since
        asked = {}
        if since:
            asked["updated_after"] = (
                (datetime.fromisoformat(since) - OVERLAP).isoformat().replace("+00:00", "Z")
            )
        async for step in self._listing(asked, {"since": since}):
            yield step
        yield Checkpoint({"since": self._newest})

    async def _listing(self, asked: Mapping[str, str], cursor: Cursor) -> AsyncIterator[Step]:
        """`cursor`: where a killed run begins again."""
        folders = self._connection.selected("folders")
        for chosen in [{"folder_id": folder} for folder in folders] or [{}]:
            async for page in _listed(self._api, self._connection, "notes", {**asked, **chosen}):
                fresh = [note for note in page if note["id"] not in self._seen]
                self._seen |= {note["id"] for note in fresh}
                self._newest = max([self._newest, *(note["updated_at"] for note in fresh)])
                wanted = await self._known.wanted([(note["id"], _version(note)) for note in fresh])
                ids = [note["id"] for note in fresh if note["id"] in wanted]
                async for id_, note in mapped(ids, self._named, _WIDTH):
                    yield Removed(id_) if note is None else _item(note)
                yield Checkpoint(cursor)

    async def _named(self, id_: str) -> tuple[str, dict[str, Any] | None]:
        return id_, await self._note(id_)

    async def _note(self, id_: str) -> dict[str, Any] | None:
        """None: it is gone, or its summary is not finished."""
        answer = await _asked(self._api, self._connection, f"notes/{id_}", {"include": "transcript"})
        if answer.status_code == 404:
            return None
        note: dict[str, Any] = checked(answer)
        return note

    def _is_chosen(self, note: Mapping[str, Any]) -> bool:
        """By the folders it is in itself: one within a chosen folder would have been listed."""
        folders = set(self._connection.selected("folders"))
        return not folders or any(folder["id"] in folders for folder in note["folder_membership"])


async def _asked(api: str, connection: Connection, path: str, params: Mapping[str, Any]) -> httpx2.Response:
    headers = {"authorization": f"Bearer {connection.secrets['apiKey']}"}
    return await connection.http.get(f"{api}/v1/{path}", params=params or None, headers=headers)


async def _listed(
    api: str, connection: Connection, name: str, asked: Mapping[str, str]
) -> AsyncIterator[list[dict[str, Any]]]:
    """The pages of a list."""
    place: dict[str, str] = {}
    while True:
        body = checked(await _asked(api, connection, name, {"page_size": _PAGE, **asked, **place}))
        yield body[name]
        if not body["hasMore"] or body["cursor"] is None:
            return
        place = {"cursor": body["cursor"]}


def _version(note: Mapping[str, Any]) -> str:
    return str(note["updated_at"])


def _item(note: Mapping[str, Any]) -> Item:
    event = note["calendar_event"] or {}
    title = note["title"] or event.get("event_title") or "Untitled note"
    folders = [folder["name"] for folder in note["folder_membership"]]
    began = event.get("scheduled_start_time") or note["created_at"]
    metadata: Metadata = {
        "type": "meeting_note",
        "author": note["owner"]["name"] or note["owner"]["email"],
        "attendees": [person["name"] or person["email"] for person in note["attendees"]],
        "createdAt": note["created_at"],
        "updatedAt": note["updated_at"],
        "folders": folders,
    }
    if folders:
        metadata["path"] = f"{folders[0]} / {title}"
    text = markdown(title, note)
    return Item(
        note["id"],
        _version(note),
        title,
        text=text,
        url=note["web_url"],
        metadata=metadata,
        date=datetime.fromisoformat(began),
    )


def markdown(title: str, note: Mapping[str, Any]) -> str:
    """The summary, then who said what; what one speaker says without a break is one paragraph."""
    parts = [f"# {title}", (note["summary_markdown"] or note["summary_text"] or "").strip()]
    if note.get("transcript"):
        parts.append("## Transcript")
        for speaker, said in groupby(
            note["transcript"], key=lambda utterance: _speaker(utterance["speaker"])
        ):
            parts.append(f"**{speaker}**: {' '.join(utterance['text'].strip() for utterance in said)}")
    return "\n\n".join(part for part in parts if part) + "\n"


def _speaker(speaker: Mapping[str, Any]) -> str:
    """A name where Granola tells speakers apart, else which side of the call it was."""
    label = speaker.get("diarization_label")
    return str(label) if label else "Me" if speaker["source"] == "microphone" else "Them"
