"""Write path of documents: a change goes to the log, and readers see it once it is read back in log order.

The log comes first, so that a crash loses nothing acknowledged. No request applies its own change: two changes
of a document that were published at once would be applied in any order, and the earlier one lost.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from api.commands.namespace_settings import get_or_create_namespace
from api.dependencies.app_state import AppState
from api.dependencies.authentication import NamespaceAccess
from api.dependencies.idempotency import is_known, require_unused_key, submission_key
from api.errors.http_errors import BadRequestError, ConflictError, NotFoundError
from pipeline.ports import Position
from pipeline.projection import apply_submission
from pipeline.rows import DocumentRow, DocumentStatus, NamespaceRow
from pipeline.store.blobs.blob_store import is_content_of
from schemas.base import Metadata
from schemas.events import DocumentSubmitted, Dreaming, TaskType, Upload
from schemas.http.field_types import metadata_chars
from schemas.http.v5.document_bodies import validate_content
from schemas.ids import content_id, document_key
from schemas.limits import MAX_METADATA_CHARS
from schemas.topics import DOCUMENTS_SUBMITTED

SubmissionOperation = Literal["add", "patch", "replace"]
_CONTENT_REFUSED, _METADATA_REFUSED = "The content can't be accepted", "The metadata can't be accepted"


@dataclass(frozen=True, slots=True)
class DocumentDraft:
    """Fields of a document from a request; None: not given."""

    id: str | None = None
    content: str | None = None
    upload: Upload | None = None
    supporting_context: str | None = None
    metadata: Metadata | None = None
    group: Metadata | None = None
    date: str | None = None
    task_type: TaskType | None = None
    dreaming: Dreaming | None = None
    store_upload: Callable[[], Awaitable[object]] | None = field(default=None, compare=False, repr=False)
    """Stores the file of `upload`, once it is to be submitted."""

    def is_empty(self) -> bool:
        """Return whether no field but the id is given."""
        return replace(self, id=None) == DocumentDraft()

    @property
    def size(self) -> int:
        """Bytes of text and file."""
        content = self.content or ""
        text = len(content) if content.isascii() else len(content.encode(errors="replace"))
        return text + (0 if self.upload is None else self.upload.blob.size)


@dataclass(frozen=True, slots=True)
class SubmissionOutcome:
    """Public id of a document, its row key, and its status; `error` and `details`: why it was rejected."""

    id: str
    key: str
    status: DocumentStatus
    error: str | None = None
    details: str | None = None


async def add_document(access: NamespaceAccess, draft: DocumentDraft) -> SubmissionOutcome:
    """Add one document as `add_documents`; BadRequestError if it is rejected."""
    (outcome,) = await add_documents(access, [draft])
    if outcome.error is not None:
        raise BadRequestError(outcome.error, outcome.details)
    return outcome


async def add_documents(access: NamespaceAccess, drafts: Sequence[DocumentDraft]) -> list[SubmissionOutcome]:
    """Add documents, or append to existing documents; unchanged content is skipped, and not counted as usage.

    A rejected document has an `error` in its outcome; the others are still accepted. QuotaExceededError is raised
    before anything is stored.
    """
    problems = [_content_error(draft) for draft in drafts]
    valid = [draft for draft, problem in zip(drafts, problems, strict=True) if problem is None]
    added = iter(await _add_valid(access, valid) if valid else ())
    return [
        next(added) if problem is None else SubmissionOutcome(draft.id or "", "", "unknown", _CONTENT_REFUSED, problem)
        for draft, problem in zip(drafts, problems, strict=True)
    ]


def _content_error(draft: DocumentDraft) -> str | None:
    return None if draft.content is None else validate_content(draft.content)


async def _add_valid(access: NamespaceAccess, drafts: Sequence[DocumentDraft]) -> list[SubmissionOutcome]:
    state, namespace_name = access.state, access.namespace
    ids = [draft.id or _content_derived_id(namespace_name, draft) for draft in drafts]
    rows = await state.find_documents(namespace_name, set(ids))
    keys = [submission_key(namespace_name, item, draft) for item, draft in enumerate(drafts)]
    now = state.clock.now()
    sent = [
        (public, draft) for public, draft, key in zip(ids, drafts, keys, strict=True)
        if not is_known(rows.get(public), key, now)
    ]  # fmt: skip
    if new := _new_content(rows, sent):
        access.require_document_quota(len(new), sum(draft.size for draft in new))
    namespace = await get_or_create_namespace(state, namespace_name)
    events = []
    problems: list[str | None] = []
    has_new_content: list[bool] = []
    for public, draft, key in zip(ids, drafts, keys, strict=True):
        row = rows.get(public)
        problems.append(None if row is None else _metadata_error(row, draft))
        has_new_content.append(False)
        if problems[-1] is not None or is_known(row, key, state.clock.now()):
            continue
        event = await _add_event(state, namespace, row, public, draft)
        if event is not None:
            has_new_content[-1] = _has_content(event)
            event = _with_key(event, key)
            events.append(event)
            # Provisional row, so that a second entry with this id is compared with the first.
            rows[public] = apply_submission(row, event, row.seq + 1 if row else 0) or rows[public]
    for row in await submit(state, events):
        rows[row.id] = row
    for public, key in zip(ids, keys, strict=True):
        # Of two requests with one key at the same time, the first in the log stands.
        require_unused_key(rows.get(public), key, state.clock.now())
    sizes = [draft.size for draft, is_new in zip(drafts, has_new_content, strict=True) if is_new]
    access.count_usage(documents=len(sizes), size=sum(sizes))
    return [
        _outcome(rows[public], problem, is_new=is_new)
        for public, problem, is_new in zip(ids, problems, has_new_content, strict=True)
    ]


def _require_quota(access: NamespaceAccess, draft: DocumentDraft) -> None:
    if draft.content is not None or draft.upload is not None:
        access.require_document_quota(1, draft.size)


def _new_content(rows: Mapping[str, DocumentRow], drafts: Sequence[tuple[str, DocumentDraft]]) -> list[DocumentDraft]:
    """Return the drafts with content that their documents lack; one that repeats an earlier draft is there once."""
    sent: dict[str, tuple[str | None, Upload | None]] = {}
    new = []
    for public, draft in drafts:
        content = draft.content, draft.upload
        row = rows.get(public)
        if sent.get(public) == content or (public not in sent and row is not None and _same_content(row, draft)):
            continue
        sent[public] = content
        new.append(draft)
    return new


async def patch_document(access: NamespaceAccess, document_id: str, draft: DocumentDraft) -> SubmissionOutcome:
    """Replace the content if given, merge metadata, keep the rest; NotFoundError, QuotaExceededError."""
    return await _change_document(access, document_id, "patch", draft)


async def replace_document(access: NamespaceAccess, document_id: str, draft: DocumentDraft) -> SubmissionOutcome:
    """Replace a document; fields that are not given are cleared. Raises NotFoundError."""
    return await _change_document(access, document_id, "replace", draft)


async def delete_documents(state: AppState, namespace_name: str, ids: Sequence[str]) -> tuple[int, list[str]]:
    """Delete documents with their chunks and the memories only they support; return count and unknown ids."""
    ids = list(dict.fromkeys(ids))
    rows = await state.find_documents(namespace_name, ids)
    events = [_deletion(state, row) for row in rows.values()]
    if events:
        positions = await _publish(state, events)
        remaining = {row.key for row in await _rows_after(state, events, positions)}
        await _delete_derived_rows(state, positions, {row.key for row in rows.values()} - remaining)
    return len(rows), [public for public in ids if public not in rows]


async def resubmit_document(state: AppState, row: DocumentRow, events: Sequence[DocumentSubmitted]) -> None:
    """Delete a document and submit it anew in one step of the log; return when its text is there, in bounded time.

    Raises:
        ConflictError: the document is not as in `row` any more.
    """
    current = (await state.documents_by_key([row.key])).get(row.key)
    if current is None or current.seq != row.seq:
        raise ConflictError("The document was changed at the same time", f"Try again: {row.id[:100]!r} is newer.")
    positions = await _publish(state, [_deletion(state, row), *events])
    await state.submissions.wait_until_shown(positions)
    await state.submissions.wait_until_handled(positions)


def _deletion(state: AppState, row: DocumentRow) -> DocumentSubmitted:
    return DocumentSubmitted(
        operation="delete", incarnation=row.incarnation, document=row.key, id=row.id, at=state.clock.now()
    )


async def _delete_derived_rows(state: AppState, positions: Sequence[Position], deleted: Collection[str]) -> None:
    """Delete chunks and memories of deleted documents, or wait until the owner of the tables has deleted them."""
    if not state.submissions.writes_tables:
        await state.submissions.wait_until_handled(positions)
    elif deleted:
        last = max(position.offset for position in positions)
        await asyncio.gather(
            # Chunks of a document that was added again meanwhile are newer.
            state.chunks.update(deleted, lambda _key, rows: [row for row in rows if row.seq > last]),
            state.memory_repository.remove_documents(deleted),
        )


async def _change_document(
    access: NamespaceAccess, document_id: str, operation: SubmissionOperation, draft: DocumentDraft
) -> SubmissionOutcome:
    state = access.state
    if (problem := _content_error(draft)) is not None:
        raise BadRequestError(_CONTENT_REFUSED, problem)
    row = await state.require_document(access.namespace, document_id)
    key = submission_key(row.incarnation, 0, (operation, draft))
    if is_known(row, key, state.clock.now()):
        return SubmissionOutcome(row.id, row.key, row.status)
    if operation == "patch":
        if problem := _metadata_error(row, draft):
            raise BadRequestError(_METADATA_REFUSED, problem)
        draft = _patch_changes(row, draft)
        if draft.is_empty():
            return SubmissionOutcome(row.id, row.key, row.status)
    _require_quota(access, draft)
    event = await _submission_event(state, operation, row, draft)
    after = await submit(state, [_with_key(event, key)])
    if not after:
        raise NotFoundError("Document not found", f"{row.id[:100]!r} was deleted at the same time.")
    require_unused_key(after[0], key, state.clock.now())
    if _has_content(event):
        access.count_usage(documents=1, size=draft.size)
    return _outcome(after[0], is_new=_has_content(event))


def _outcome(row: DocumentRow, error: str | None = None, *, is_new: bool) -> SubmissionOutcome:
    """Build the outcome of a write; new content was queued however far stages came since."""
    refusal = () if error is None else (_METADATA_REFUSED, error)
    return SubmissionOutcome(row.id, row.key, "queued" if is_new else row.status, *refusal)


def _has_content(event: DocumentSubmitted) -> bool:
    return event.content is not None or event.upload is not None


async def _add_event(
    state: AppState, namespace: NamespaceRow, row: DocumentRow | None, document_id: str, draft: DocumentDraft
) -> DocumentSubmitted | None:
    if row is None or not _same_content(row, draft):
        incarnation = namespace.incarnations[0]
        document = row or _NewDocument(incarnation, document_key(incarnation, document_id), document_id)
        return await _submission_event(state, "add", document, draft)
    changes = _changed_fields(row, draft)
    return None if changes.is_empty() else await _submission_event(state, "add", row, changes)


@dataclass(frozen=True, slots=True)
class _NewDocument:
    incarnation: str
    key: str
    id: str


async def _submission_event(
    state: AppState, operation: SubmissionOperation, document: DocumentRow | _NewDocument, draft: DocumentDraft
) -> DocumentSubmitted:
    """Build the event of a draft, whose text and file are stored before."""
    content = None if draft.content is None else await state.blobs.store_text(draft.content)
    if draft.store_upload is not None:
        await draft.store_upload()
    return DocumentSubmitted.model_construct(
        operation=operation,
        incarnation=document.incarnation,
        document=document.key,
        id=document.id,
        at=state.clock.now(),
        content=content,
        upload=draft.upload,
        metadata=draft.metadata,
        group=draft.group,
        supporting_context=draft.supporting_context,
        date=draft.date,
        task_type=draft.task_type,
        dreaming=draft.dreaming,
        retries_failed=isinstance(document, DocumentRow) and document.status == "failed",
    )


def _with_key(event: DocumentSubmitted, key: str | None) -> DocumentSubmitted:
    return event if key is None else event.model_copy(update={"idempotency_key": key})


def _content_derived_id(name: str, draft: DocumentDraft) -> str:
    content = draft.content or ""
    if draft.upload is not None:
        content = f"file:{draft.upload.blob.sha256}:{draft.upload.filename or ''}"
    return content_id(name, content, draft.metadata, draft.date)


def _same_content(row: DocumentRow, draft: DocumentDraft) -> bool:
    """Return whether the draft's content was submitted already, for the same kind of processing.

    Content that failed counts as new, so that sending it again retries it.
    """
    if row.status == "failed" or (draft.task_type or row.task_type) != row.task_type:
        return False
    if draft.upload is not None:
        return row.upload is not None and row.upload.blob.sha256 == draft.upload.blob.sha256
    if draft.content is None or (row.source is not None and is_content_of(row.source, draft.content)):
        return True
    return row.text_seq == row.content_seq and row.text == draft.content


def _changed_fields(row: DocumentRow, draft: DocumentDraft) -> DocumentDraft:
    """Return the fields beside the content in which a draft differs from the row."""
    return DocumentDraft(
        metadata=draft.metadata if _json_differs(row.metadata | (draft.metadata or {}), row.metadata) else None,
        group=draft.group if draft.group is not None and _json_differs(draft.group, row.group_metadata) else None,
        supporting_context=_if_changed(draft.supporting_context, row.supporting_context),
        date=_if_changed(draft.date, row.date),
        task_type=None if draft.task_type == row.task_type else draft.task_type,
        dreaming=None if draft.dreaming == row.extraction_mode else draft.dreaming,
    )


def _patch_changes(row: DocumentRow, draft: DocumentDraft) -> DocumentDraft:
    """Return the changes of a PATCH; its content replaces the text and is compared with the whole text."""
    is_unchanged = row.status == "done" and row.text_seq == row.content_seq and row.text == draft.content
    content = None if is_unchanged and draft.task_type in {None, row.task_type} else draft.content
    changes = _changed_fields(row, draft)
    return replace(changes, content=content, upload=draft.upload, store_upload=draft.store_upload)


def _metadata_error(row: DocumentRow, draft: DocumentDraft) -> str | None:
    """Return why the merged metadata would be too large; None if it is not, or gets smaller."""
    size = metadata_chars(row.metadata | (draft.metadata or {}))
    if size <= max(MAX_METADATA_CHARS, metadata_chars(row.metadata)):
        return None
    return (
        f"With these keys the metadata of {row.id[:100]!r} has {size:,} characters; the limit is"
        f" {MAX_METADATA_CHARS:,}. Send shorter values, or put such data into the text."
    )


def _json_differs(left: Metadata | None, right: Metadata | None) -> bool:
    """Compare as JSON, because True == 1 in Python."""
    return json.dumps(left, sort_keys=True) != json.dumps(right, sort_keys=True)


def _if_changed(value: str | None, current: str | None) -> str | None:
    return None if value == current else value


async def submit(state: AppState, events: Sequence[DocumentSubmitted]) -> list[DocumentRow]:
    """Append events to the log and wait until readers see them; return the resulting rows, without deleted rows."""
    if not events:
        return []
    return await _rows_after(state, events, await _publish(state, events))


async def _publish(state: AppState, events: Sequence[DocumentSubmitted]) -> list[Position]:
    entries = [(f"{event.incarnation}/{event.document}", event) for event in events]
    return await state.publisher.publish(DOCUMENTS_SUBMITTED, entries)


async def _rows_after(
    state: AppState, events: Sequence[DocumentSubmitted], positions: Sequence[Position]
) -> list[DocumentRow]:
    is_shown = await state.submissions.wait_until_shown(positions)
    rows = await state.documents_by_key([event.document for event in events])
    if not is_shown:
        # The events are in the log, so they are acknowledged with the rows that they will make.
        for event, position in zip(events, positions, strict=True):
            row = apply_submission(rows.pop(event.document, None), event, position.offset)
            if row is not None:
                rows[event.document] = row
    return list(rows.values())
