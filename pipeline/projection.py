"""What events do to rows: pure rules, used by whoever publishes at once and by the log's reader later."""

from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from pipeline.rows import DocumentRow, SyncsRow
from schemas.base import Metadata
from schemas.events import ConnectorTriggered, DocumentSubmitted, SyncReported, TaskType
from schemas.limits import SYNCS

T = TypeVar("T")


def submitted(row: DocumentRow | None, event: DocumentSubmitted, seq: int) -> DocumentRow | None:
    """The row after a submission at log position `seq`; None: the document is gone.

    A submission at or before the row's own `seq` changes nothing, so it may be applied any number of times.
    """
    if row is not None and seq <= row.seq:
        return row
    if event.operation == "delete":
        return None
    if row is None:
        return _created(event, seq)
    if event.operation == "replace":
        return _replaced(row, event, seq)
    return _merged(row, event, seq)


def touches_content(event: DocumentSubmitted) -> bool:
    """Whether the text has to be worked on."""
    return event.content is not None or event.upload is not None or event.known is not None


def _dreams(task_type: TaskType | None, event: DocumentSubmitted) -> bool:
    """Whether memories are to be formed of what is submitted."""
    return task_type != "superrag" and not (event.known is not None and event.known.formed)


def _created(event: DocumentSubmitted, seq: int) -> DocumentRow:
    return DocumentRow(
        key=event.document,
        space=event.space,
        id=event.id,
        seq=seq,
        content_seq=seq,
        # Texts of an earlier life of the document are none of this one.
        text_seq=seq - 1,
        created_at=event.at,
        updated_at=event.at,
        status="queued",
        dreaming=_dreams(event.task_type, event),
        source=event.content,
        upload=event.upload,
        metadata=event.metadata or {},
        group=event.group,
        supporting_context=event.supporting_context,
        date=event.date,
        task_type=event.task_type or "memory",
        dreaming_mode=event.dreaming or "dynamic",
        title=event.title,
        url=event.url or None,
    )


def _replaced(row: DocumentRow, event: DocumentSubmitted, seq: int) -> DocumentRow:
    fresh = _created(event, seq)
    # The old text is shown until the new one is there, with all that was found out about it.
    return replace(
        fresh,
        created_at=row.created_at,
        text=row.text,
        text_seq=row.text_seq,
        title=event.title or row.title,
        type=row.type,
        summary=row.summary,
        url=event.url or row.url,
    )


def _merged(row: DocumentRow, event: DocumentSubmitted, seq: int) -> DocumentRow:
    task_type = event.task_type or row.task_type
    kept = replace(
        row,
        # A document that moved to where its id is taken gets another one.
        id=event.id,
        seq=seq,
        updated_at=_later(row.updated_at, event.at),
        metadata=_merge(row.metadata, event.metadata),
        group=_given(event.group, row.group),
        supporting_context=_given(event.supporting_context, row.supporting_context),
        date=_given(event.date, row.date),
        task_type=task_type,
        dreaming_mode=event.dreaming or row.dreaming_mode,
        title=_given(event.title, row.title),
        url=_given(event.url, row.url) or None,
    )
    if not touches_content(event) and task_type == row.task_type:
        return kept
    return replace(
        kept,
        content_seq=seq,
        status="queued",
        error=None,
        dreaming=_dreams(task_type, event),
        dreaming_error=None,
        source=event.content if touches_content(event) else row.source,
        upload=event.upload if touches_content(event) else row.upload,
    )


def _given(said: T | None, known: T | None) -> T | None:
    """What was said; an empty value was said too, so it clears."""
    return known if said is None else said


def _merge(old: Metadata, new: Metadata | None) -> Metadata:
    return {**old, **new} if new else old


def _later(one: datetime, other: datetime) -> datetime:
    return max(one, other)


def triggered(row: SyncsRow, event: ConnectorTriggered) -> SyncsRow:
    """The runs of a connector after one was asked for; one that is known already changes nothing."""
    if event.work != "sync" or any(run.run == event.run for run in row.runs):
        return row
    if len(row.runs) >= SYNCS and event.at <= row.runs[-1].started_at:
        return row  # read again, long after
    asked = SyncReported(
        connector=event.connector,
        run=event.run,
        trigger=event.trigger,
        status="running",
        queued=True,
        started_at=event.at,
        full=event.full,
        documents=row.runs[0].documents if row.runs else 0,
    )
    return _newest(row, asked)


def reported(row: SyncsRow, event: SyncReported) -> SyncsRow:
    """The runs of a connector after a report; a run that has ended stays as it ended."""
    known = next((run for run in row.runs if run.run == event.run), None)
    if known is not None and known.status != "running":
        return row
    if known is None and len(row.runs) >= SYNCS and event.started_at <= row.runs[-1].started_at:
        return row
    succeeded = row.succeeded_at
    if event.status == "completed" and event.completed_at is not None:
        succeeded = _later(succeeded or event.completed_at, event.completed_at)
    others = tuple(run for run in row.runs if run.run != event.run)
    return _newest(SyncsRow(row.connector, others, succeeded), event)


def _newest(row: SyncsRow, run: SyncReported) -> SyncsRow:
    runs = sorted((run, *row.runs), key=lambda one: (one.started_at, one.run), reverse=True)
    return SyncsRow(row.connector, tuple(runs[:SYNCS]), row.succeeded_at)
