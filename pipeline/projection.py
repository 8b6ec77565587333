"""Projection of events onto rows, as pure functions.

They are applied when an event is published, and again when it is read from the log.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TypeVar

from pipeline.rows import DocumentRow, RecentSubmissions, SyncRunsRow
from schemas.base import Metadata
from schemas.events import ConnectorTriggered, DocumentSubmitted, SyncReported, TaskType
from schemas.ids import document_key
from schemas.limits import MAX_SYNCS_SHOWN

T = TypeVar("T")
REPETITION_WINDOW = timedelta(minutes=10)
"""Time within which the same content added to the same document again is a repetition."""
IDEMPOTENCY_WINDOW = timedelta(hours=24)
"""Time within which a submission with the same idempotency key is a repetition."""
MAX_RECENT_SUBMISSIONS = 1000
"""Maximum number of submissions that a row remembers of each kind."""
_HASH_LENGTH = 16
_NO_CONTENT = {"content": None, "upload": None, "imported": None}


def apply_submission(row: DocumentRow | None, event: DocumentSubmitted, seq: int) -> DocumentRow | None:
    """Return the row after a submission at log position `seq`; None: the document is deleted.

    A submission at or before the row's own `seq` changes nothing, so applying it again is harmless. Neither
    does one that repeats another: with its idempotency key, or the same content added again within minutes.
    """
    if row is not None and seq <= row.seq:
        return row
    if event.operation == "delete":
        return None
    if row is None:
        return _remember(_new_row(event, seq), event)
    if _has_key(row, event):
        return replace(row, seq=seq, recent=_with_repeated(row, seq))
    if _repeats_content(row, event):
        # Other fields of the submission may differ, and are applied.
        patched = _patch_row(row, event.model_copy(update=_NO_CONTENT), seq)
        return _remember(replace(patched, recent=_with_repeated(row, seq)), event)
    changed = _replace_content(row, event, seq) if event.operation == "replace" else _patch_row(row, event, seq)
    return _remember(changed, event)


def has_same_key(left: str, right: str) -> bool:
    """Return whether two values of `DocumentSubmitted.idempotency_key` are of one key, whatever was asked for."""
    return left.partition(":")[0] == right.partition(":")[0]


def _has_key(row: DocumentRow, event: DocumentSubmitted) -> bool:
    key = event.idempotency_key
    return key is not None and any(
        has_same_key(known, key) and abs(event.at - at) <= IDEMPOTENCY_WINDOW for known, at in row.recent.keys
    )


def is_repetition(row: DocumentRow, seq: int) -> bool:
    """Return whether the content submitted at this position, newer than the row's text, repeats an earlier one."""
    return seq in row.recent.repeated


def _repeats_content(row: DocumentRow, event: DocumentSubmitted) -> bool:
    if event.operation != "add" or event.retries_failed or (event.task_type or row.task_type) != row.task_type:
        return False
    return _is_within(row.recent.contents, _content_hash(event), event.at, REPETITION_WINDOW)


def _content_hash(event: DocumentSubmitted) -> str | None:
    """Hash of the content that an event adds; None if it adds none."""
    if event.operation != "add":
        return None
    if event.upload is not None:
        return event.upload.blob.sha256[:_HASH_LENGTH]
    if event.content is None:
        return None
    if event.content.blob is not None:
        return event.content.blob.sha256[:_HASH_LENGTH]
    return sha256((event.content.text or "").encode(errors="surrogatepass")).hexdigest()[:_HASH_LENGTH]


def _is_within(recent: tuple[tuple[str, datetime], ...], value: str | None, at: datetime, window: timedelta) -> bool:
    return value is not None and any(known == value and abs(at - then) <= window for known, then in recent)


def _remember(row: DocumentRow, event: DocumentSubmitted) -> DocumentRow:
    """Return the row with the content and the key of a submission among its recent ones."""
    recent = replace(
        row.recent,
        contents=_with_recent(row.recent.contents, _content_hash(event), event.at, REPETITION_WINDOW),
        keys=_with_recent(row.recent.keys, event.idempotency_key, event.at, IDEMPOTENCY_WINDOW),
    )
    return row if recent == row.recent else replace(row, recent=recent)


def _with_recent(
    recent: tuple[tuple[str, datetime], ...], value: str | None, at: datetime, window: timedelta
) -> tuple[tuple[str, datetime], ...]:
    if value is None:
        return recent
    kept = [entry for entry in recent if at - entry[1] <= window and entry[0] != value]
    return (*kept, (value, at))[-MAX_RECENT_SUBMISSIONS:]


def _with_repeated(row: DocumentRow, seq: int) -> RecentSubmissions:
    pending = [position for position in row.recent.repeated if position > row.text_seq]
    return replace(row.recent, repeated=(*pending, seq)[-MAX_RECENT_SUBMISSIONS:])


def touches_content(event: DocumentSubmitted) -> bool:
    """True if the submission changes the content, so that the text must be processed."""
    return event.content is not None or event.upload is not None or event.imported is not None


def _needs_extraction(task_type: TaskType | None, event: DocumentSubmitted) -> bool:
    return task_type != "superrag" and not (event.imported is not None and event.imported.memories_included)


def _new_row(event: DocumentSubmitted, seq: int) -> DocumentRow:
    return DocumentRow(
        key=event.document,
        incarnation=event.incarnation,
        id=event.id,
        seq=seq,
        content_seq=seq,
        # Older than the submission, so that texts of an earlier document with this id are ignored.
        text_seq=seq - 1,
        created_at=event.at,
        updated_at=event.at,
        status="queued",
        extraction_pending=_needs_extraction(event.task_type, event),
        source=event.content,
        upload=event.upload,
        metadata=event.metadata or {},
        group_metadata=event.group,
        supporting_context=event.supporting_context,
        date=event.date,
        task_type=event.task_type or "memory",
        extraction_mode=event.dreaming or "dynamic",
        title=event.title,
        url=event.url or None,
    )


def _replace_content(row: DocumentRow, event: DocumentSubmitted, seq: int) -> DocumentRow:
    fresh = _new_row(event, seq)
    # The old text and its properties are shown until the new one is ready.
    return replace(
        fresh,
        id=_document_id(row, event),
        recent=row.recent,
        created_at=row.created_at,
        text=row.text,
        text_seq=row.text_seq,
        title=event.title or row.title,
        type=row.type,
        summary=row.summary,
        url=event.url or row.url,
    )


def _patch_row(row: DocumentRow, event: DocumentSubmitted, seq: int) -> DocumentRow:
    task_type = event.task_type or row.task_type
    patched = replace(
        row,
        id=_document_id(row, event),
        seq=seq,
        updated_at=max(row.updated_at, event.at),
        metadata=_merge_metadata(row.metadata, event.metadata),
        group_metadata=_coalesce(event.group, row.group_metadata),
        supporting_context=_coalesce(event.supporting_context, row.supporting_context),
        date=_coalesce(event.date, row.date),
        task_type=task_type,
        extraction_mode=event.dreaming or row.extraction_mode,
        title=_coalesce(event.title, row.title),
        url=_coalesce(event.url, row.url) or None,
    )
    if not touches_content(event) and task_type == row.task_type:
        return patched
    return replace(
        patched,
        content_seq=seq,
        status="queued",
        error=None,
        extraction_pending=_needs_extraction(task_type, event),
        extraction_error=None,
        source=event.content if touches_content(event) else row.source,
        upload=event.upload if touches_content(event) else row.upload,
    )


def _document_id(row: DocumentRow, event: DocumentSubmitted) -> str:
    """A move gives a document another id where its own is taken; a request with the first id keeps the new one."""
    return row.id if document_key(event.incarnation, event.id) == event.document else event.id


def _coalesce(new: T | None, old: T | None) -> T | None:
    """Return the new value if given; an empty value is given too, and clears the old one."""
    return old if new is None else new


def _merge_metadata(old: Metadata, new: Metadata | None) -> Metadata:
    return {**old, **new} if new else old


def apply_sync_trigger(row: SyncRunsRow, event: ConnectorTriggered) -> SyncRunsRow:
    """Add a requested run to a connector's runs; a run that is already there changes nothing."""
    if event.action != "sync" or any(run.run_id == event.run_id for run in row.runs):
        return row
    if len(row.runs) >= MAX_SYNCS_SHOWN and event.at <= row.runs[-1].started_at:
        return row  # read again from the log, long after
    requested = SyncReported(
        connector=event.connector,
        run_id=event.run_id,
        trigger=event.trigger,
        status="running",
        queued=True,
        started_at=event.at,
        full=event.full,
        documents=row.runs[0].documents if row.runs else 0,
    )
    return _with_run(row, requested)


def apply_sync_report(row: SyncRunsRow, event: SyncReported) -> SyncRunsRow:
    """Apply a report to a connector's runs; a run that has ended keeps its result."""
    current = next((run for run in row.runs if run.run_id == event.run_id), None)
    if current is not None and current.status != "running":
        return row
    if current is None and len(row.runs) >= MAX_SYNCS_SHOWN and event.started_at <= row.runs[-1].started_at:
        return row
    succeeded = row.succeeded_at
    if event.status == "completed" and event.completed_at is not None:
        succeeded = max(succeeded or event.completed_at, event.completed_at)
    others = tuple(run for run in row.runs if run.run_id != event.run_id)
    return _with_run(SyncRunsRow(row.connector, others, succeeded), event)


def _with_run(row: SyncRunsRow, run: SyncReported) -> SyncRunsRow:
    runs = sorted((run, *row.runs), key=lambda run: (run.started_at, run.run_id), reverse=True)
    return SyncRunsRow(row.connector, tuple(runs[:MAX_SYNCS_SHOWN]), row.succeeded_at)
