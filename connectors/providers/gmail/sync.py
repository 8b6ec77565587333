"""Sync of a mailbox: a listing of threads by label, then the history of changes to messages."""

import asyncio
import sys
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from connectors.client.concurrent_map import map_concurrently
from connectors.client.http_client import HttpClient
from connectors.client.json_answers import PageTrail, Shape, conforming, json_object, json_page
from connectors.errors import CursorExpiredError, ItemError
from connectors.providers.common.file_metadata import file_refusal
from connectors.providers.common.item_fetcher import ItemFetcher, item_response
from connectors.providers.gmail import content
from connectors.sync_messages import (
    Checkpoint,
    Cursor,
    FailedItem,
    ItemFile,
    ProviderState,
    RemovedItem,
    SourceItem,
    SyncMessage,
    SyncState,
)
from pipeline.parsing.mail.mail_text import MailPart, text_parts
from schemas.base import Metadata, format_timestamp

_PAGE_SIZE = 500
_THREAD: Shape = {"id": str, "historyId": str}
_BATCH_THREADS = 100
_CONCURRENCY = 8
_MAX_THREAD_BYTES = 64 * 1024 * 1024
"""Size limit of a thread; a message has at most 25 MB, and attachments are fetched separately."""
_ATTACHMENTS_PREFIX = "attached/"
_IGNORED_LABELS = frozenset({"UNREAD", "STARRED", "IMPORTANT"})
"""Labels that change while mail is read, without changing its content."""


@dataclass(slots=True)
class GmailSync:
    """Run of one connector; without selected labels it covers all mail but spam and trash."""

    http: HttpClient
    base_url: str
    state: SyncState
    label_ids: tuple[str, ...]
    account_name: str
    label_names: dict[str, str] | None = None
    fetched_history_ids: dict[str, int] = field(default_factory=dict)
    stored_attachments: dict[str, str] = field(default_factory=dict)
    """Stored attachment ids of the current threads, one per line."""
    fetcher: ItemFetcher = field(init=False)

    def __post_init__(self) -> None:
        self.fetcher = ItemFetcher("Gmail", lambda: self._get_json("profile"))

    async def run(self, cursor: Cursor | None) -> AsyncIterator[SyncMessage]:
        """Run or resume a complete listing, or sync the changes since the cursor."""
        listing = cursor is None or "label" in cursor
        async for step in self._full_sync(cursor) if listing else self._incremental_sync(cursor or {}):
            yield step

    async def _full_sync(self, cursor: Cursor | None) -> AsyncIterator[SyncMessage]:
        """List the threads of each label, newest first; the history from the start covers later changes."""
        if cursor is None:
            cursor = {"history": str((await self._get_json("profile", "historyId"))["historyId"]), "label": 0}
        history, page = cursor["history"], cursor.get("page")
        begun = cursor["label"] if isinstance(cursor["label"], int) else 0
        labels: list[str | None] = [*self.label_ids] or [None]
        for number, label in enumerate(labels[begun:], begun):
            trail = PageTrail("Gmail", CursorExpiredError)
            while True:
                found = await self._list_threads(label, page)
                if found is None:
                    yield FailedItem(str(label), "The selected label is gone. Choose again.", code="not_found")
                    break
                threads, following = found
                place: dict[str, int | str] = {"label": number} | ({"page": str(page)} if page else {})
                for at in range(0, len(threads), _BATCH_THREADS):
                    async for step in self._sync_threads(threads[at : at + _BATCH_THREADS]):
                        yield step
                    yield self._checkpoint(history, **place)
                page = trail.follow(following)
                if page is None:
                    break
            yield self._checkpoint(history, label=number + 1)
        yield self._checkpoint(history)

    async def _incremental_sync(self, cursor: Cursor) -> AsyncIterator[SyncMessage]:
        async for step in self._retry_failed():
            yield step
        start, page = str(cursor["history"]), None
        reached = start
        trail = PageTrail("Gmail", CursorExpiredError)
        while True:
            records, answer = await self._list_history(start, page)
            touched: dict[str, str] = {}
            for record in records:
                reached = str(record.get("id") or reached)
                touched |= dict.fromkeys(self._affected_threads(record), reached)
            async for step in self._sync_threads(list(touched.items())):
                yield step
            page = trail.follow(answer.get("nextPageToken"))
            if page is None:
                yield self._checkpoint(answer["historyId"])
                return
            yield self._checkpoint(reached)

    async def _retry_failed(self) -> AsyncIterator[SyncMessage]:
        """Retry the failures of the last run."""
        threads = {id_.partition("/")[0] for id_ in await self.state.retryable_failures()}
        await self._load_attachments(threads)
        async for steps in map_concurrently(sorted(threads), self._fetch_or_fail, _CONCURRENCY):
            for step in steps:
                yield step

    async def _sync_threads(self, threads: Sequence[tuple[str, str]]) -> AsyncIterator[SyncMessage]:
        """Fetch new and changed threads, and list the attachments of unchanged ones."""
        fresh = [(id_, at) for id_, at in threads if self.fetched_history_ids.get(id_, 0) < _number(at)]
        changed_ids = await self.state.select_changed(fresh)
        await self._load_attachments([id_ for id_, _ in fresh])
        kept = [each for id_, _ in fresh if id_ not in changed_ids for each in self._stored_attachment_ids(id_)]
        await self.state.select_changed([(each, each.split("/")[1]) for each in kept])
        async for steps in map_concurrently(
            (id_ for id_, _ in fresh if id_ in changed_ids), self._fetch_or_fail, _CONCURRENCY
        ):
            for step in steps:
                yield step

    async def _load_attachments(self, threads: Collection[str]) -> None:
        self.stored_attachments = await self.state.provider_state([_ATTACHMENTS_PREFIX + id_ for id_ in threads])

    def _stored_attachment_ids(self, thread: str) -> list[str]:
        return self.stored_attachments.get(_ATTACHMENTS_PREFIX + thread, "").split()

    async def _fetch_or_fail(self, id_: str) -> list[SyncMessage]:
        """Fetch a thread; one that can't be read keeps its document and its attachments."""
        found = await self.fetcher.fetch(id_, None, lambda: self._sync_thread(id_))
        if not isinstance(found, FailedItem):
            return found
        stored = self._stored_attachment_ids(id_)
        await self.state.select_changed([(each, each.split("/")[1]) for each in stored])
        return [found]

    async def _sync_thread(self, id_: str) -> list[SyncMessage]:
        """Fetch a thread with its attachments, and remove attachments that are gone."""
        response = await self.http.get(
            f"{self.base_url}/threads/{id_}", params={"format": "full"}, max_bytes=_MAX_THREAD_BYTES
        )
        mails: list[content.MailMessage] = []
        at = "0"
        if response.status_code != 404:
            thread = json_object(item_response(response, "Gmail"))
            at = str(thread.get("historyId") or "0")
            self.fetched_history_ids[id_] = _number(at)
            if not isinstance(thread.get("messages"), list) or not thread["messages"]:
                raise ItemError("Gmail sent a thread without its messages.", code="malformed", retryable=True)
            mails = [await self._parse_message(each) for each in thread["messages"]]
            mails = [mail for mail in mails if mail.is_regular]
        had = self._stored_attachment_ids(id_)
        if not mails or not self._is_selected(mails):
            return [*(RemovedItem(each) for each in (id_, *had)), *self._attachments_state(id_, had, [])]
        steps: list[SyncMessage] = [await self._thread_item(id_, at, mails)]
        attached = {f"{id_}/{mail.id}/{each.id}": (mail, each) for mail in mails for each in mail.attachments}
        readable = {key: found for key, found in attached.items() if _refusal_of(found[1]) is None}
        changed_ids = await self.state.select_changed([(key, mail.id) for key, (mail, _) in readable.items()])
        steps += [await self._fetch_attachment(key, *readable[key]) for key in readable if key in changed_ids]
        steps += [RemovedItem(each) for each in had if each not in readable]
        return [*steps, *self._attachments_state(id_, had, list(readable))]

    def _attachments_state(self, thread: str, before: Sequence[str], after: Sequence[str]) -> list[SyncMessage]:
        """Store a thread's attachment ids, which saves a scan of all items per thread."""
        return [] if before == after else [ProviderState(_ATTACHMENTS_PREFIX + thread, "\n".join(after) or None)]

    async def _parse_message(self, message: Mapping[str, Any]) -> content.MailMessage:
        """Parse a message, with its long texts, which are fetched like attachments."""
        mail = content.parse_message(message)
        texts = {part.handle: await self._fetch_part(mail, part) for part in content.unfetched_texts(mail)}
        return content.with_texts(mail, texts) if texts else mail

    async def _thread_item(self, id_: str, at: str, mails: Sequence[content.MailMessage]) -> SourceItem:
        unread = {each.name: " (not read)" for mail in mails for each in mail.attachments if _refusal_of(each)}
        times = [mail.sent_at for mail in mails if mail.sent_at]
        metadata: Metadata = {
            "type": "email",
            "author": content.sender_name(mails[0].sender),
            "participants": content.participants(mails),
            "labels": await self._label_names_of(mails),
            "messages": len(mails),
        }
        if times:
            metadata |= {"createdAt": format_timestamp(times[0]), "updatedAt": format_timestamp(times[-1])}
        return SourceItem(
            id=id_,
            version=at,
            title=content.thread_subject(mails),
            text=await _thread_markdown(mails, unread),
            url=self._thread_url(id_),
            metadata=metadata,
            date=times[-1] if times else None,
        )

    async def _fetch_attachment(self, id_: str, mail: content.MailMessage, attached: MailPart) -> SyncMessage:
        return await self.fetcher.fetch(id_, attached.name, lambda: self._attachment_item(id_, mail, attached))

    async def _attachment_item(self, id_: str, mail: content.MailMessage, attached: MailPart) -> SourceItem:
        """Build the item of an attachment, from the thread itself if Gmail included its content."""
        metadata: Metadata = {
            "type": "email_attachment",
            "thread": id_.partition("/")[0],
            "path": f"{mail.subject}/{attached.name}",
            "author": content.sender_name(mail.sender),
        }
        if mail.sent_at:
            metadata |= {"createdAt": format_timestamp(mail.sent_at), "updatedAt": format_timestamp(mail.sent_at)}
        return SourceItem(
            id=id_,
            version=mail.id,
            title=attached.name,
            file=ItemFile(attached.data or await self._part_data(mail, attached), attached.name, attached.media_type),
            url=self._thread_url(id_.partition("/")[0]),
            metadata=metadata,
            date=mail.sent_at,
        )

    async def _part_data(self, mail: content.MailMessage, part: MailPart) -> bytes:
        data = await self._fetch_part(mail, part) if part.handle else None
        if not data:
            raise ItemError("Gmail returned no content for this attachment.", code="no_content", retryable=True)
        return data

    async def _fetch_part(self, mail: content.MailMessage, part: MailPart) -> bytes | None:
        """Fetch a part by its handle, valid only for the thread as just fetched; None if it can't be decoded."""
        path = f"messages/{mail.id}/attachments/{part.handle}"
        response = await self.http.get(f"{self.base_url}/{path}", max_bytes=_MAX_THREAD_BYTES)
        encoded = json_object(item_response(response, "Gmail")).get("data")
        return content.decode_base64url(encoded) if encoded else None

    async def _label_names_of(self, mails: Sequence[content.MailMessage]) -> list[str]:
        """Return the names of user labels and common folders."""
        if self.label_names is None:
            listed = (await self._get_json("labels")).get("labels") or ()
            self.label_names = {
                each["id"]: each.get("name") or each["id"]
                for each in listed
                if each.get("type") == "user" or each["id"] in _SHOWN_SYSTEM_LABELS
            }
        ids = {label for mail in mails for label in mail.labels}
        return sorted(self.label_names[id_] for id_ in ids & self.label_names.keys())

    async def _list_threads(self, label: str | None, page: object) -> tuple[list[tuple[str, str]], str | None] | None:
        """List a page of threads with a label; None if the label no longer exists."""
        params = {"maxResults": str(_PAGE_SIZE)} | ({"labelIds": label} if label else {})
        params |= {"pageToken": str(page)} if page else {}
        response = await self.http.get(f"{self.base_url}/threads", params=params)
        if response.status_code == 400 and page:
            raise CursorExpiredError("Gmail does not know this page of a listing any more.")
        if label is not None and response.status_code in {400, 404}:
            return None
        # Gmail leaves an empty list out; an answer that does not even estimate its size is something else.
        answer = json_object(response, "resultSizeEstimate")
        listed = json_page(response, "threads")[0] if "threads" in answer else []
        threads = [
            (each["id"], each.get("historyId") or "0") for each in conforming(listed, [_THREAD]) if each.get("id")
        ]
        return threads, answer.get("nextPageToken")

    async def _list_history(self, start: str, page: str | None) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """List a page of records, oldest first; the page says which place in the history it belongs to."""
        params: dict[str, Any] = {
            "startHistoryId": start,
            "historyTypes": ["messageAdded", "messageDeleted", "labelAdded", "labelRemoved"],
            "maxResults": str(_PAGE_SIZE),
        } | ({"pageToken": page} if page else {})
        response = await self.http.get(f"{self.base_url}/history", params=params)
        if response.status_code == 404:
            raise CursorExpiredError("Gmail keeps its history for about a week: this place in it is gone.")
        answer = json_object(response, "historyId")
        return (json_page(response, "history")[0] if "history" in answer else []), answer

    def _affected_threads(self, record: Mapping[str, Any]) -> set[str]:
        """Return the threads that a history record changes in a relevant way."""
        touched = set()
        for kind in ("messagesAdded", "messagesDeleted", "labelsAdded", "labelsRemoved"):
            for event in record.get(kind) or ():
                message = event.get("message") or {}
                if not message.get("threadId"):
                    raise CursorExpiredError("Gmail does not say which thread a record of its history is about.")
                labels = set(event.get("labelIds") or ())
                is_relevant = not labels or labels - _IGNORED_LABELS or labels & {*self.label_ids}
                # A mail without labels, as a filter archives it, has no field for them.
                if is_relevant and (labels or "DRAFT" not in (message.get("labelIds") or ())):
                    touched.add(message["threadId"])
        return touched

    def _is_selected(self, mails: Sequence[content.MailMessage]) -> bool:
        return not self.label_ids or any(mail.labels & {*self.label_ids} for mail in mails)

    async def _get_json(self, path: str, *required: str) -> Mapping[str, Any]:
        return json_object(await self.http.get(f"{self.base_url}/{path}"), *required)

    def _thread_url(self, thread: str) -> str:
        return f"https://mail.google.com/mail/?authuser={self.account_name}#all/{thread}"

    def _checkpoint(self, history: object, **place: int | str) -> Checkpoint:
        return Checkpoint({"history": str(history), **place})


def _number(history_id: str) -> int:
    """Return a place in the history as a number; one that is none comes after all others, so that it is read."""
    return int(history_id) if history_id.isdecimal() else sys.maxsize


_SHOWN_SYSTEM_LABELS = frozenset({"INBOX", "SENT"})
_MAX_INLINE_BYTES = 50_000
"""Size from which mails are converted in a thread, to keep the event loop responsive."""


async def _thread_markdown(mails: Sequence[content.MailMessage], unread: Mapping[str, str]) -> str:
    if sum(len(part.data or b"") for mail in mails for part in text_parts(mail.root)) <= _MAX_INLINE_BYTES:
        return content.thread_markdown(mails, unread)
    return await asyncio.to_thread(content.thread_markdown, mails, unread)


def _refusal_of(attached: MailPart) -> ItemError | None:
    size = attached.size or len(attached.data or b"") or None
    return file_refusal(attached.name, attached.media_type, size)
