"""The write path: every change of a document goes to the log, and then to the tables at once.

The log is first, so nothing is acknowledged that a crash could lose; the same projection the pipeline will
apply is applied here, so the next read finds it.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from api.problems import BadRequestError, NotFoundError
from api.queries.namespaces import opened
from api.state import State
from pipeline.projection import submitted
from pipeline.rows import DocumentRow, NamespaceRow, Status
from pipeline.tombstones import bury_late
from schemas.base import Metadata
from schemas.events import Content, DocumentSubmitted, Dreaming, TaskType, Upload
from schemas.http.parts import metadata_size
from schemas.ids import content_id, document_key
from schemas.limits import METADATA_BYTES
from schemas.topics import DOCUMENTS_SUBMITTED

Operation = Literal["add", "patch", "replace"]


@dataclass(frozen=True, slots=True)
class Draft:
    """A document as its sender wants it. None: not said."""

    id: str | None = None
    content: str | None = None
    upload: Upload | None = None
    supporting_context: str | None = None
    metadata: Metadata | None = None
    group: Metadata | None = None
    date: str | None = None
    task_type: TaskType | None = None
    dreaming: Dreaming | None = None

    def says_nothing(self) -> bool:
        """Whether there is nothing to change."""
        return replace(self, id=None) == Draft()


@dataclass(frozen=True, slots=True)
class Outcome:
    """The public id of a document, and its state after the write; `problem`: why there was none.

    `taken`: content came in, to be worked on; what says nothing new is no work.
    """

    id: str
    status: Status
    problem: str | None = None
    taken: bool = False


async def add(state: State, name: str, drafts: Sequence[Draft]) -> list[Outcome]:
    """Add documents, or append to those that are there; what says nothing new is no work.

    One that can't be accepted has a problem, for people, and does not keep the others back.
    """
    namespace = await opened(state, name)
    ids = [draft.id or _own_id(name, draft) for draft in drafts]
    rows = await state.documents.find(namespace.spaces, set(ids))
    events = []
    problems: list[str | None] = []
    taken: list[bool] = []
    for public, draft in zip(ids, drafts, strict=True):
        row = rows.get(public)
        problems.append(None if row is None else _metadata_problem(row, draft))
        taken.append(False)
        if problems[-1] is not None:
            continue
        event = await _addition(state, namespace, row, public, draft)
        if event is not None:
            taken[-1] = _has_content(event)
            events.append(event)
            # Provisional, so that a second mention in the same batch is judged by the first.
            rows[public] = submitted(row, event, row.seq + 1 if row else 0) or rows[public]
    for row in await write(state, events):
        rows[row.id] = row
    return [
        Outcome(public, rows[public].status, problem, took)
        for public, problem, took in zip(ids, problems, taken, strict=True)
    ]


async def patch(state: State, name: str, public: str, draft: Draft) -> Outcome:
    """Replace the content where given, merge metadata, keep the rest. NotFoundError."""
    return await _change(state, await _found(state, name, public), "patch", draft)


async def replace_with(state: State, name: str, public: str, draft: Draft) -> Outcome:
    """Everything as given; what is not said is cleared. NotFoundError."""
    return await _change(state, await _found(state, name, public), "replace", draft)


async def require(state: State, name: str, public: str) -> None:
    """NotFoundError where there is no such document; asked before a long upload is read."""
    await _found(state, name, public)


async def delete(state: State, name: str, ids: Sequence[str]) -> tuple[int, list[str]]:
    """Delete documents with all that only they support. How many, and the ids that are unknown."""
    wanted = list(dict.fromkeys(ids))
    namespace = state.catalog.namespace(name)
    rows = await state.documents.find(namespace.spaces, wanted) if namespace else {}
    events = [
        DocumentSubmitted(
            operation="delete", space=row.space, document=row.key, id=row.id, at=state.clock.now()
        )
        for row in rows.values()
    ]
    left = {row.key for row in await write(state, events)}
    gone = {row.key for row in rows.values()} - left
    if gone:
        await asyncio.gather(state.chunks.update(gone, lambda _key, _rows: []), state.keeper.withdraw(gone))
    return len(rows), [public for public in wanted if public not in rows]


async def _found(state: State, name: str, public: str) -> DocumentRow:
    namespace = state.catalog.namespace(name)
    rows = await state.documents.find(namespace.spaces, [public]) if namespace else {}
    if public not in rows:
        raise NotFoundError("Document not found", f"There is no document {public[:100]!r} in {name}.")
    return rows[public]


async def _change(state: State, row: DocumentRow, operation: Operation, draft: Draft) -> Outcome:
    if operation == "patch":
        if problem := _metadata_problem(row, draft):
            raise BadRequestError("The metadata can't be accepted", problem)
        draft = _patch_news(row, draft)
        if draft.says_nothing():
            return Outcome(row.id, row.status)
    packed = None if draft.content is None else await state.blobs.pack(draft.content)
    event = _event(state, operation, row, draft, packed)
    after = await write(state, [event])
    if not after:
        raise NotFoundError("Document not found", f"{row.id[:100]!r} was deleted in this moment.")
    return Outcome(row.id, after[0].status, taken=_has_content(event))


def _has_content(event: DocumentSubmitted) -> bool:
    return event.content is not None or event.upload is not None


async def _addition(
    state: State, namespace: NamespaceRow, row: DocumentRow | None, public: str, draft: Draft
) -> DocumentSubmitted | None:
    """The event of an added document; None where everything is as it says already."""
    packed = None if draft.content is None else await state.blobs.pack(draft.content)
    if row is None:
        space = namespace.spaces[0]
        return _event(state, "add", _Place(space, document_key(space, public), public), draft, packed)
    if not _same_content(row, draft, packed):
        return _event(state, "add", row, draft, packed)
    rest = _news(row, draft)
    return None if rest.says_nothing() else _event(state, "add", row, rest, None)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a new document will be."""

    space: str
    key: str
    id: str


def _event(
    state: State,
    operation: Operation,
    place: DocumentRow | _Place,
    draft: Draft,
    content: Content | None,
) -> DocumentSubmitted:
    return DocumentSubmitted.model_construct(
        operation=operation,
        space=place.space,
        document=place.key,
        id=place.id,
        at=state.clock.now(),
        content=content,
        upload=draft.upload,
        metadata=draft.metadata,
        group=draft.group,
        supporting_context=draft.supporting_context,
        date=draft.date,
        task_type=draft.task_type,
        dreaming=draft.dreaming,
    )


def _own_id(name: str, draft: Draft) -> str:
    """The id of a document that came without one, from what it says."""
    said = draft.content or ""
    if draft.upload is not None:
        said = f"file:{draft.upload.blob.sha256}:{draft.upload.filename or ''}"
    return content_id(name, said, draft.metadata, draft.date)


def _same_content(row: DocumentRow, draft: Draft, packed: Content | None) -> bool:
    """Whether the newest submission, or the text it became, is this content, to be worked on in the same way.

    One that failed is tried again.
    """
    if row.status == "failed" or (draft.task_type or row.task_type) != row.task_type:
        return False
    if draft.upload is not None:
        return row.upload is not None and row.upload.blob.sha256 == draft.upload.blob.sha256
    if packed is None or row.source == packed:
        return True
    return row.text_seq == row.content_seq and row.text == draft.content


def _news(row: DocumentRow, draft: Draft) -> Draft:
    """What a draft says beside its content that the row does not say yet."""
    return Draft(
        metadata=draft.metadata if _differs(row.metadata | (draft.metadata or {}), row.metadata) else None,
        group=draft.group if draft.group is not None and _differs(draft.group, row.group) else None,
        supporting_context=_new(draft.supporting_context, row.supporting_context),
        date=_new(draft.date, row.date),
        task_type=None if draft.task_type == row.task_type else draft.task_type,
        dreaming=None if draft.dreaming == row.dreaming_mode else draft.dreaming,
    )


def _patch_news(row: DocumentRow, draft: Draft) -> Draft:
    """What a PATCH changes. Its content replaces the text, so it is compared with all of that."""
    same = row.status == "done" and row.text_seq == row.content_seq and row.text == draft.content
    content = None if same and draft.task_type in {None, row.task_type} else draft.content
    rest = _news(row, draft)
    return replace(rest, content=content, upload=draft.upload)


def _metadata_problem(row: DocumentRow, draft: Draft) -> str | None:
    """Why these keys can't be merged with those that are there; what makes metadata smaller always can."""
    size = metadata_size(row.metadata | (draft.metadata or {}))
    if size <= max(METADATA_BYTES, metadata_size(row.metadata)):
        return None
    return (
        f"With these keys the metadata of {row.id[:100]!r} has {size:,} characters; a document may have"
        f" {METADATA_BYTES:,}. Send shorter values, or put such data into the text."
    )


def _differs(one: Metadata | None, other: Metadata | None) -> bool:
    """As JSON, where true is not 1."""
    return json.dumps(one, sort_keys=True) != json.dumps(other, sort_keys=True)


def _new(said: str | None, known: str | None) -> str | None:
    return None if said == known else said


async def write(state: State, events: Sequence[DocumentSubmitted]) -> list[DocumentRow]:
    """One append to the log, then one update; the rows afterwards, without those that are gone."""
    if not events:
        return []
    entries = [(f"{event.space}/{event.document}", event) for event in events]
    positions = await state.publisher.publish(DOCUMENTS_SUBMITTED, entries)
    placed: dict[str, list[tuple[DocumentSubmitted, int]]] = {}
    for event, position in zip(events, positions, strict=True):
        placed.setdefault(event.document, []).append((event, position.offset))
    deleted = ((event, seq) for written in placed.values() for event, seq in written)
    await state.tombstones.note(
        {event.document: seq for event, seq in deleted if event.operation == "delete"}
    )
    buried = await state.tombstones.newest(placed)

    def change(key: str, rows: list[DocumentRow]) -> list[DocumentRow]:
        row = rows[0] if rows else None
        for event, seq in placed[key]:
            if seq >= buried.get(key, -1):
                row = submitted(row, event, seq)
        return [] if row is None else [row]

    after = await state.documents.update(list(placed), change)
    after |= await bury_late(state.documents, state.tombstones, placed, buried)
    return [rows[0] for rows in after.values() if rows]
