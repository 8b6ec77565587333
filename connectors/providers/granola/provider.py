"""Granola provider: meeting notes with their transcripts.

The API lists no deletions and sends no events about them, and a note may leave a folder without a new time: only a
complete listing detects both. Every run makes one if it takes few requests; otherwise there is one a day. Notes are
listed only once their summary is finished.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, Final
from urllib.parse import quote

import httpx2

from connectors.client.concurrent_map import map_concurrently
from connectors.client.http_client import origin
from connectors.client.json_answers import PageTrail, json_object, json_or_raise, json_page
from connectors.client.request_throttle import RateLimit
from connectors.errors import AuthExpiredError, ItemError, PlanRequiredError
from connectors.provider_interface import (
    Connection,
    PickerEntry,
    PickerPage,
    Provider,
    SelectionKind,
    VerifiedDelivery,
    WebhookDelivery,
    WebhookSubscription,
)
from connectors.providers.common.item_fetcher import ItemFetcher, item_response
from connectors.providers.granola import webhook_endpoints
from connectors.providers.granola.webhook_endpoints import ENDPOINTS_PATH
from connectors.sync_messages import Checkpoint, Cursor, RemovedItem, SourceItem, SyncMessage, SyncState
from schemas.base import Metadata

API_URL: Final = "https://public-api.granola.ai"
OVERLAP: Final = timedelta(minutes=5)
_PAGE_SIZE: Final = 30
_MAX_NOTES_FOR_FULL_SYNC: Final = 3 * _PAGE_SIZE
_TRANSCRIPT_PAGE_SIZE: Final = 100
_CONCURRENCY: Final = 4


class Granola(Provider):
    name = "granola"
    selection_kinds = ("folders",)
    supports_webhooks = True
    rate_limit = RateLimit(requests_per_second=5.0, max_concurrent=4, burst=25)
    full_sync_interval = timedelta(days=1)

    def __init__(self, *, api_url: str = API_URL) -> None:
        self._api_url = api_url.rstrip("/")
        self.api_origins = frozenset({origin(api_url)})

    def classify_error(self, response: httpx2.Response) -> Exception | None:
        """Classify rejected keys, which can't be refreshed, only replaced."""
        if response.status_code == 401:
            return AuthExpiredError(
                "Granola does not accept the API key. Connect again with a new one from its settings."
            )
        if ENDPOINTS_PATH in response.url.path:
            return None  # keys that may read, but have no webhooks, are polled
        if response.status_code == 402 or (response.status_code == 403 and "/notes/" not in response.url.path):
            return PlanRequiredError("Granola's API needs a Business or Enterprise plan, and a key that may read.")
        return None

    async def sync(self, connection: Connection, cursor: Cursor | None, state: SyncState) -> AsyncIterator[SyncMessage]:
        """Sync all or updated notes; a killed complete listing lists again and reads the rest."""
        since = None if cursor is None else cursor.get("since")
        run = _GranolaSync(self._api_url, connection, state)
        ids = [id_ async for id_, _ in state.item_versions()]
        if since is None or len(ids) <= _MAX_NOTES_FOR_FULL_SYNC:
            steps = run.sync_all(ids, {} if since is None else {"since": str(since)})
        else:
            steps = run.sync_changed(str(since))
        async for step in steps:
            yield step

    async def resolve_names(self, connection: Connection, kind: SelectionKind, ids: Sequence[str]) -> Mapping[str, str]:
        folders = {folder["id"]: folder["name"] async for folder in self._folders(connection)}
        return {id_: folders[id_] for id_ in ids if id_ in folders}

    async def browse(
        self, connection: Connection, parent: str | None, query: str, page_token: str | None
    ) -> PickerPage:
        """List the folders within a folder, or all that match a query."""
        folders = [folder async for folder in self._folders(connection)]
        parents = {folder.get("parent_folder_id") for folder in folders}
        shown = [
            folder
            for folder in folders
            if (query.lower() in folder["name"].lower() if query else folder.get("parent_folder_id") == parent)
        ]
        return PickerPage(
            tuple(PickerEntry(f["id"], f["name"], "folders", expandable=f["id"] in parents) for f in shown)
        )

    async def read_delivery(self, delivery: WebhookDelivery) -> VerifiedDelivery:
        return webhook_endpoints.verify(delivery)

    async def subscribe(
        self, connection: Connection, callback_url: str, secret: str, current: WebhookSubscription | None
    ) -> WebhookSubscription | None:
        """Create an endpoint for the selected folders, in place of the current one; Granola makes its secret."""
        headers, folders = _authorization(connection), connection.selected_ids("folders")
        made = await webhook_endpoints.create_endpoint(connection.http, self._api_url, headers, callback_url, folders)
        if made is not None and current is not None:
            await self.unsubscribe(connection, current)
        return made

    async def unsubscribe(self, connection: Connection, current: WebhookSubscription) -> None:
        await webhook_endpoints.delete_endpoint(connection.http, self._api_url, _authorization(connection), current.id)

    async def _folders(self, connection: Connection) -> AsyncIterator[dict[str, Any]]:
        async for page in _list_pages(self._api_url, connection, "folders", {}):
            for folder in page:
                yield folder


class _GranolaSync:
    def __init__(self, api_url: str, connection: Connection, state: SyncState) -> None:
        self._api_url = api_url
        self._connection = connection
        self._state = state
        self._newest = ""
        self._seen: set[str] = set()
        self._fetcher = ItemFetcher("Granola", lambda: _list_first(api_url, connection))

    async def sync_all(self, known_ids: Sequence[str], cursor: Cursor) -> AsyncIterator[SyncMessage]:
        """Sync every note; unlisted known notes are fetched, as their summary may be in progress."""
        async for step in self._sync_listing({}, cursor):
            yield step
        missing = [id_ for id_ in known_ids if id_ not in self._seen]
        gone_if_missing = partial(self._fetch, gone_if_missing=True)
        async for step in map_concurrently(missing, gone_if_missing, _CONCURRENCY):
            if not isinstance(step, SourceItem) or await self._state.select_changed([(step.id, step.version)]):
                yield step
        yield Checkpoint({"since": self._newest})

    async def sync_changed(self, since: str) -> AsyncIterator[SyncMessage]:
        self._newest = since
        asked = {}
        if since:
            asked["updated_after"] = (datetime.fromisoformat(since) - OVERLAP).isoformat().replace("+00:00", "Z")
        async for step in self._sync_listing(asked, {"since": since}):
            yield step
        async for step in self._retry_failed():
            yield step
        yield Checkpoint({"since": self._newest})

    async def _sync_listing(self, filters: Mapping[str, str], cursor: Cursor) -> AsyncIterator[SyncMessage]:
        """Sync the listed notes; a killed run restarts from `cursor`."""
        folders = self._connection.selected_ids("folders")
        for chosen in [{"folder_id": folder} for folder in folders] or [{}]:
            async for page in _list_pages(self._api_url, self._connection, "notes", {**filters, **chosen}):
                fresh = [note for note in page if note.get("id") and note["id"] not in self._seen]
                self._seen |= {note["id"] for note in fresh}
                self._newest = max([self._newest, *(_note_version(note) for note in fresh)])
                changed_ids = await self._state.select_changed([(note["id"], _note_version(note)) for note in fresh])
                changed = [note for note in fresh if note["id"] in changed_ids]
                async for step in map_concurrently(changed, self._fetch_listed, _CONCURRENCY):
                    yield step
                yield Checkpoint(cursor)

    async def _retry_failed(self) -> AsyncIterator[SyncMessage]:
        """Fetch the notes that failed and are due again, which an incremental listing may not contain."""
        failed = [id_ for id_ in await self._state.retryable_failures() if id_ not in self._seen]
        async for step in map_concurrently(failed, self._fetch, _CONCURRENCY):
            yield step

    async def _fetch_listed(self, note: Mapping[str, Any]) -> SyncMessage:
        return await self._fetch(note["id"], note)

    async def _fetch(
        self, id_: str, listed: Mapping[str, Any] | None = None, *, gone_if_missing: bool = False
    ) -> SyncMessage:
        """Fetch a note as an item, a removal or a failure; one that is not `listed` may have left the selection.

        A note that is not found is there as long as a list names it: only a complete listing without it removes it.
        """

        async def read() -> SourceItem | RemovedItem:
            note = await self._get_note(id_)
            if note is None and not gone_if_missing:
                raise ItemError("Granola does not find this note, which it lists.", code="http_404", retryable=True)
            if note is None or (listed is None and not self._is_selected(note)):
                return RemovedItem(id_)
            return _note_item(id_, note)

        return await self._fetcher.fetch(id_, (listed or {}).get("title"), read)

    async def _get_note(self, id_: str) -> dict[str, Any] | None:
        """Fetch a note; None if it is gone or its summary is not finished."""
        path = f"notes/{quote(id_, safe='')}"
        answer = await _request(self._api_url, self._connection, path, {"include": "transcript"})
        too_large = answer.status_code == 413
        if too_large:
            answer = await _request(self._api_url, self._connection, path, {})
        if answer.status_code == 404:
            return None
        note = json_object(item_response(answer, "Granola"))
        if note.get("id") != id_:
            raise ItemError("Granola sent something other than this note.", code="malformed", retryable=True)
        if not too_large:
            return note
        pages = _list_pages(self._api_url, self._connection, f"{path}/transcript", {"page_size": _TRANSCRIPT_PAGE_SIZE})
        return note | {"transcript": [utterance async for page in pages for utterance in page]}

    def _is_selected(self, note: Mapping[str, Any]) -> bool:
        """Return whether a note is directly in a selected folder; notes in subfolders are listed with them."""
        folders = set(self._connection.selected_ids("folders"))
        return not folders or any(folder.get("id") in folders for folder in note.get("folder_membership") or ())


async def _list_first(api: str, connection: Connection) -> None:
    """Ask for one note, which works whenever Granola does."""
    json_or_raise(await _request(api, connection, "notes", {"page_size": 1}))


async def _request(api: str, connection: Connection, path: str, params: Mapping[str, Any]) -> httpx2.Response:
    return await connection.http.get(f"{api}/v1/{path}", params=params or None, headers=_authorization(connection))


def _authorization(connection: Connection) -> dict[str, str]:
    return {"authorization": f"Bearer {connection.secrets['apiKey']}"}


async def _list_pages(
    api: str, connection: Connection, path: str, filters: Mapping[str, str | int]
) -> AsyncIterator[list[dict[str, Any]]]:
    """Iterate the pages of a list, which answers name as the last part of its path."""
    asked = {"page_size": _PAGE_SIZE, **filters}
    trail = PageTrail("Granola")
    while True:
        listed, page = json_page(await _request(api, connection, path, asked), path.rpartition("/")[2])
        yield listed
        cursor = trail.follow(page.get("cursor") or None) if page.get("hasMore") else None
        if cursor is None:
            return
        asked["cursor"] = cursor


def _note_version(note: Mapping[str, Any]) -> str:
    return str(note.get("updated_at") or note.get("created_at") or "")


def _note_item(id_: str, note: Mapping[str, Any]) -> SourceItem:
    """Build the item of a note; every key but its id may be missing or null."""
    event = note.get("calendar_event") or {}
    title = note.get("title") or event.get("event_title") or "Untitled note"
    folders = [name for folder in note.get("folder_membership") or () if (name := folder.get("name"))]
    attendees = [name for person in note.get("attendees") or () if (name := _person_name(person))]
    began = event.get("scheduled_start_time") or note.get("created_at")
    values: dict[str, Any] = {
        "author": _person_name(note.get("owner") or {}),
        "createdAt": note.get("created_at"),
        "updatedAt": note.get("updated_at"),
        "path": f"{folders[0]} / {title}" if folders else None,
    }
    metadata: Metadata = {"type": "meeting_note", "attendees": attendees, "folders": folders}
    return SourceItem(
        id_,
        _note_version(note),
        title,
        text=note_markdown(title, note),
        url=note.get("web_url"),
        metadata=metadata | {name: value for name, value in values.items() if value},
        date=datetime.fromisoformat(began) if began else None,
    )


def note_markdown(title: str, note: Mapping[str, Any]) -> str:
    """Render the summary and the transcript, one paragraph per uninterrupted speaker."""
    parts = [f"# {title}", (note.get("summary_markdown") or note.get("summary_text") or "").strip()]
    if note.get("transcript"):
        parts.append("## Transcript")
        said = [(_speaker_name(each), (each.get("text") or "").strip()) for each in note["transcript"]]
        for speaker, entries in groupby(((who, text) for who, text in said if text), key=itemgetter(0)):
            parts.append(f"**{speaker}**: {' '.join(text for _, text in entries)}")
    return "\n\n".join(part for part in parts if part) + "\n"


def _person_name(person: Mapping[str, Any]) -> str:
    return str(person.get("name") or person.get("email") or "")


def _speaker_name(utterance: Mapping[str, Any]) -> str:
    """Return the speaker's name or label, else the side of the call."""
    speaker = utterance.get("speaker") or {}
    named = speaker.get("name") or speaker.get("diarization_label")
    side = speaker.get("attribution") or {"microphone": "me"}.get(speaker.get("source") or "")
    return str(named) if named else "Me" if side == "me" else "Them"
