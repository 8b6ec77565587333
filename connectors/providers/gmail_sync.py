"""Runs over a mailbox: threads by label, then the history of what happened to their messages."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from connectors.concurrency import mapped
from connectors.errors import CursorExpiredError, UnavailableError
from connectors.http import Http, checked
from connectors.ports import Checkpoint, Cursor, Failure, File, Item, Known, Note, Removed, Step
from connectors.providers.files import refusal, version
from connectors.providers.mail import (
    Attachment,
    Mail,
    add_text,
    decoded,
    mail_of,
    parts_of,
    people,
    person,
    subject_of,
    thread_text,
)
from schemas.base import timestamp

_PAGE = 500
_SLICE = 100
_WIDTH = 8
_IN_A_ROW = 3
_BYTES = 64 * 1024 * 1024
"""The largest thread that is read: Gmail takes 25 MB a message, attachments come separately."""
_ATTACHED = "attached/"
_INDIFFERENT = frozenset({"UNREAD", "STARRED", "IMPORTANT"})
"""Labels that come and go while somebody reads mail, and change nothing of what it says."""
_HIDING = frozenset({"TRASH", "SPAM"})


@dataclass(slots=True)
class GmailRun:
    """One run of one connector. `labels` were selected; none means all mail but spam and the bin."""

    http: Http
    base: str
    known: Known
    labels: tuple[str, ...]
    account: str
    names: dict[str, str] | None = None
    seen: dict[str, int] = field(default_factory=dict)
    attached: dict[str, str] = field(default_factory=dict)
    """Notes of what is attached to the threads at hand: the ids, line by line."""
    broken: int = 0

    @property
    def mark(self) -> str:
        """Changes with the selection."""
        return version(*sorted(self.labels))

    async def steps(self, cursor: Cursor | None) -> AsyncIterator[Step]:
        """A complete listing without a cursor or with one that says how far it came, else what happened."""
        if cursor is not None and cursor.get("selection") != self.mark:
            raise CursorExpiredError("Other labels are selected now.")
        listing = cursor is None or "label" in cursor
        async for step in self._listing(cursor) if listing else self._history(cursor or {}):
            yield step

    async def _listing(self, cursor: Cursor | None) -> AsyncIterator[Step]:
        """Threads of each label, newest first; what happens meanwhile is in the history from here on."""
        if cursor is None:
            cursor = {"history": str((await self._get("profile"))["historyId"]), "label": 0}
        history, page = cursor["history"], cursor.get("page")
        begun = cursor["label"] if isinstance(cursor["label"], int) else 0
        labels: list[str | None] = [*self.labels] or [None]
        for number, label in enumerate(labels[begun:], begun):
            while True:
                found = await self._threads(label, page)
                if found is None:
                    yield Failure(str(label), "The selected label is gone. Choose again.", code="not_found")
                    break
                threads, following = found
                place: dict[str, int | str] = {"label": number} | ({"page": str(page)} if page else {})
                for at in range(0, len(threads), _SLICE):
                    async for step in self._taken(threads[at : at + _SLICE]):
                        yield step
                    yield self._checkpoint(history, **place)
                page = following
                if page is None:
                    break
            yield self._checkpoint(history, label=number + 1)
        yield self._checkpoint(history)

    async def _history(self, cursor: Cursor) -> AsyncIterator[Step]:
        async for step in self._again():
            yield step
        start, page = str(cursor["history"]), None
        while True:
            answer = await self._events(start, page)
            touched: dict[str, str] = {}
            for record in answer.get("history", ()):
                touched |= dict.fromkeys(self._touched(record), record["id"])
            async for step in self._taken(list(touched.items())):
                yield step
            page = answer.get("nextPageToken")
            if page is None:
                yield self._checkpoint(answer["historyId"])
                return
            yield self._checkpoint(answer["history"][-1]["id"])

    async def _again(self) -> AsyncIterator[Step]:
        """What could not be had in the last run."""
        threads = {id_.partition("/")[0] for id_ in await self.known.failed()}
        await self._remember(threads)
        async for steps in mapped(sorted(threads), self._fetched, _WIDTH):
            for step in steps:
                yield step

    async def _taken(self, threads: Sequence[tuple[str, str]]) -> AsyncIterator[Step]:
        """Fetch the threads that are new or changed among these; mention the attachments of the others."""
        fresh = [(id_, at) for id_, at in threads if self.seen.get(id_, 0) < int(at)]
        wanted = await self.known.wanted(fresh)
        await self._remember([id_ for id_, _ in fresh])
        kept = [each for id_, _ in fresh if id_ not in wanted for each in self._had(id_)]
        await self.known.wanted([(each, each.split("/")[1]) for each in kept])
        async for steps in mapped((id_ for id_, _ in fresh if id_ in wanted), self._fetched, _WIDTH):
            for step in steps:
                yield step

    async def _remember(self, threads: Collection[str]) -> None:
        self.attached = await self.known.notes([_ATTACHED + id_ for id_ in threads])

    def _had(self, thread: str) -> list[str]:
        """What was attached to a thread when it was read last."""
        return self.attached.get(_ATTACHED + thread, "").split()

    async def _fetched(self, id_: str) -> list[Step]:
        try:
            steps = await self._thread(id_)
        except UnavailableError as error:
            self.broken += 1
            if self.broken >= _IN_A_ROW:
                raise
            return [Failure(id_, str(error), code="unavailable", again=True)]
        self.broken = 0
        return steps

    async def _thread(self, id_: str) -> list[Step]:
        """A thread, its attachments, and what is gone of it."""
        response = await self.http.get(f"{self.base}/threads/{id_}", params={"format": "full"}, limit=_BYTES)
        mails: list[Mail] = []
        at = "0"
        if response.status_code != 404:
            thread = checked(response)
            at = str(thread.get("historyId", "0"))
            self.seen[id_] = int(at)
            mails = [await self._mail(each) for each in thread.get("messages", ())]
            mails = [mail for mail in mails if mail.counts]
        had = self._had(id_)
        if not mails or not self._selected(mails):
            return [*(Removed(each) for each in (id_, *had)), *self._attachments(id_, had, [])]
        steps: list[Step] = [await self._item(id_, at, mails)]
        attached = {
            f"{id_}/{mail.id}/{each.part}": (mail, each) for mail in mails for each in mail.attachments
        }
        readable = {key: found for key, found in attached.items() if _refused(found[1]) is None}
        wanted = await self.known.wanted([(key, mail.id) for key, (mail, _) in readable.items()])
        steps += [await self._attachment(key, *readable[key]) for key in readable if key in wanted]
        steps += [Removed(each) for each in had if each not in readable]
        return [*steps, *self._attachments(id_, had, list(readable))]

    def _attachments(self, thread: str, had: Sequence[str], has: Sequence[str]) -> list[Step]:
        """What to remember of them: a note rather than a search for each thread of a mailbox."""
        return [] if had == has else [Note(_ATTACHED + thread, "\n".join(has) or None)]

    async def _mail(self, message: Mapping[str, Any]) -> Mail:
        found = parts_of(message["payload"])
        for handle, part in found.elsewhere:
            add_text(found, part, str((await self._get(_attachment(message["id"], handle)))["data"]))
        return mail_of(message, found)

    async def _item(self, id_: str, at: str, mails: Sequence[Mail]) -> Item:
        unread = {
            each.filename: " (not read)" for mail in mails for each in mail.attachments if _refused(each)
        }
        return Item(
            id=id_,
            version=at,
            title=subject_of(mails),
            text=await _told(mails, unread),
            url=self._url(id_),
            metadata={
                "type": "email",
                "author": person(mails[0].sender),
                "participants": people(mails),
                "labels": await self._labels(mails),
                "messages": len(mails),
                "createdAt": timestamp(mails[0].sent),
                "updatedAt": timestamp(mails[-1].sent),
            },
            date=mails[-1].sent,
        )

    async def _attachment(self, id_: str, mail: Mail, attached: Attachment) -> Item:
        """Its handle is of the thread just fetched: Gmail makes up another each time."""
        path = _attachment(mail.id, attached.handle)
        body = checked(await self.http.get(f"{self.base}/{path}", limit=_BYTES))
        return Item(
            id=id_,
            version=mail.id,
            title=attached.filename,
            file=File(decoded(body["data"]), attached.filename, attached.media_type),
            url=self._url(id_.partition("/")[0]),
            metadata={
                "type": "email_attachment",
                "thread": id_.partition("/")[0],
                "path": f"{mail.subject}/{attached.filename}",
                "author": person(mail.sender),
                "createdAt": timestamp(mail.sent),
                "updatedAt": timestamp(mail.sent),
            },
            date=mail.sent,
        )

    async def _labels(self, mails: Sequence[Mail]) -> list[str]:
        """Names of the labels that a person made, and of the common folders."""
        if self.names is None:
            listed = (await self._get("labels")).get("labels", ())
            self.names = {
                each["id"]: each["name"]
                for each in listed
                if each["type"] == "user" or each["id"] in _FOLDERS
            }
        ids = {label for mail in mails for label in mail.labels}
        return sorted(self.names[id_] for id_ in ids & self.names.keys())

    async def _threads(
        self, label: str | None, page: object
    ) -> tuple[list[tuple[str, str]], str | None] | None:
        """A page of threads with a label; None where the label is not there any more."""
        params = {"maxResults": str(_PAGE)} | ({"labelIds": label} if label else {})
        params |= {"pageToken": str(page)} if page else {}
        response = await self.http.get(f"{self.base}/threads", params=params)
        if response.status_code == 400 and page:
            raise CursorExpiredError("Gmail does not know this page of a listing any more.")
        if label is not None and response.status_code in {400, 404}:
            return None
        answer = checked(response)
        threads = [(each["id"], str(each.get("historyId", "0"))) for each in answer.get("threads", ())]
        return threads, answer.get("nextPageToken")

    async def _events(self, start: str, page: str | None) -> Mapping[str, Any]:
        params: dict[str, Any] = {
            "startHistoryId": start,
            "historyTypes": ["messageAdded", "messageDeleted", "labelAdded", "labelRemoved"],
            "maxResults": str(_PAGE),
        } | ({"pageToken": page} if page else {})
        response = await self.http.get(f"{self.base}/history", params=params)
        if response.status_code == 404:
            raise CursorExpiredError("Gmail keeps its history for about a week: this place in it is gone.")
        answer: Mapping[str, Any] = checked(response)
        return answer

    def _touched(self, record: Mapping[str, Any]) -> set[str]:
        """The threads that a record changes anything of that matters."""
        touched = set()
        for kind in ("messagesAdded", "messagesDeleted", "labelsAdded", "labelsRemoved"):
            for event in record.get(kind, ()):
                message = event["message"]
                labels = set(event.get("labelIds", ()))
                told = not labels or labels - _INDIFFERENT or labels & {*self.labels}
                if told and (labels or "DRAFT" not in message.get("labelIds", ())):
                    touched.add(message["threadId"])
        return touched

    def _selected(self, mails: Sequence[Mail]) -> bool:
        return not self.labels or any(mail.labels & {*self.labels} for mail in mails)

    async def _get(self, path: str) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = checked(await self.http.get(f"{self.base}/{path}"))
        return answer

    def _url(self, thread: str) -> str:
        return f"https://mail.google.com/mail/?authuser={self.account}#all/{thread}"

    def _checkpoint(self, history: object, **place: int | str) -> Checkpoint:
        return Checkpoint({"selection": self.mark, "history": str(history), **place})


_FOLDERS = frozenset({"INBOX", "SENT"})
_QUICK = 50_000
"""Longer mails are read in a thread, so that the loop goes on serving."""


async def _told(mails: Sequence[Mail], unread: Mapping[str, str]) -> str:
    if sum(len(mail.plain) + len(mail.marked_up) for mail in mails) <= _QUICK:
        return thread_text(mails, unread)
    return await asyncio.to_thread(thread_text, mails, unread)


def _attachment(message: str, handle: str) -> str:
    return f"messages/{message}/attachments/{handle}"


def _refused(attached: Attachment) -> tuple[str, str] | None:
    return refusal(attached.filename, attached.media_type, attached.size)
