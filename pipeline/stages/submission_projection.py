"""Pure projection of a document's submissions onto its row, for the stage `extract`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pipeline.ports import DocumentTable
from pipeline.projection import apply_submission, is_repetition, touches_content
from pipeline.rows import DocumentRow, DocumentStatus
from pipeline.stage import Record
from schemas.events import DocumentSubmitted

Submission = Record[DocumentSubmitted]
SubmissionHistory = list[Submission]
"""The submissions of one document in a batch, in order."""


@dataclass(frozen=True, slots=True)
class ResolvedSubmission:
    """The canonical text of a document after one submission."""

    record: Submission
    text: str
    type: str
    title: str | None
    summary: str | None
    url: str | None


@dataclass(frozen=True, slots=True)
class FailedSubmission:
    """A submission without usable text: the reason to show, and its type and URL if known."""

    record: Submission
    reason: str
    type: str | None = None
    url: str | None = None


def apply_submissions(row: DocumentRow | None, history: SubmissionHistory) -> DocumentRow | None:
    """The row after these submissions, as their publisher saw it."""
    for record in history:
        row = apply_submission(row, record.event, record.offset)
    return row


def begin_processing(row: DocumentRow | None, history: SubmissionHistory) -> DocumentRow | None:
    """The row after these submissions, with status `extracting` if the newest one is among them."""
    row = apply_submissions(row, history)
    if row is None:
        return None
    if row.status == "queued" and any(record.offset == row.content_seq for record in history):
        row = replace(row, status="extracting")
    return row


def with_text(row: DocumentRow, resolved: ResolvedSubmission) -> DocumentRow:
    return replace(
        row,
        text=resolved.text,
        text_seq=resolved.record.offset,
        type=resolved.type,
        title=resolved.title,
        summary=resolved.summary,
        url=resolved.url,
    )


def apply_outcomes(row: DocumentRow, outcomes: Sequence[ResolvedSubmission | FailedSubmission]) -> DocumentRow:
    """The row after these outcomes; its status follows only the newest submission of content."""
    for outcome in outcomes:
        newest = row.content_seq == outcome.record.offset
        if isinstance(outcome, FailedSubmission):
            if newest:
                row = _apply_failure(row, outcome)
        elif row.text_seq < outcome.record.offset:
            row = with_text(row, outcome)
            if newest:
                row = replace(row, status="chunking", error=None)
    return row


def _apply_failure(row: DocumentRow, failure: FailedSubmission) -> DocumentRow:
    """Keep the previous text, if any, and its pending memories."""
    row = replace(row, status="failed", error=failure.reason)
    if row.text is not None:
        return row
    return replace(row, extraction_pending=False, type=failure.type or row.type, url=failure.url or row.url)


def texts_to_publish(
    row: DocumentRow, outcomes: Sequence[ResolvedSubmission | FailedSubmission]
) -> list[tuple[Submission, DocumentRow]]:
    """Texts for the next stages: new ones, and the text kept when a later submission failed.

    The next stages may have dropped that one as outdated before the failure was known.
    """
    texts = [
        (outcome.record, with_text(row, outcome)) for outcome in outcomes if isinstance(outcome, ResolvedSubmission)
    ]
    if row.status == "failed" and row.text is not None and isinstance(outcomes[-1], FailedSubmission):
        known = {record.offset for record, _ in texts}
        return texts if row.text_seq in known else [*texts, (outcomes[-1].record, row)]
    return texts


def is_erased(row: DocumentRow | None, history: SubmissionHistory) -> bool:
    """Return whether the document was deleted and not written again; newer text begins a new document."""
    deleted = max((record.offset for record in history if record.event.operation == "delete"), default=-1)
    return deleted >= 0 and (row is None or row.text is None or row.text_seq <= deleted)


def pending_submissions(
    histories: Mapping[str, SubmissionHistory], rows: Mapping[str, DocumentRow]
) -> dict[str, SubmissionHistory]:
    pending = {key: [record for record in histories[key] if _is_pending(row, record)] for key, row in rows.items()}
    return {key: history for key, history in pending.items() if history}


def _is_pending(row: DocumentRow, record: Submission) -> bool:
    """Return whether this submission's text is not stored yet.

    The projection found that a submission newer than `content_seq` changes nothing.
    """
    if not row.text_seq < record.offset <= row.content_seq or record.event.operation == "delete":
        return False
    if is_repetition(row, record.offset):
        return False
    return touches_content(record.event) or record.offset == row.content_seq


async def mark_failed(
    documents: DocumentTable, key: str, seq: int, reason: str, *, extraction_pending: bool | None = None
) -> None:
    """Mark the document as failed, on disk on return; a document with newer content stays unchanged.

    `extraction_pending` None: leave that flag as it is.
    """

    def change(_: str, rows: list[DocumentRow]) -> Sequence[DocumentRow] | None:
        if not rows or rows[0].searchable_seq > seq:
            return None
        row = replace(rows[0], status="failed", error=reason)
        return [
            row
            if extraction_pending is None
            else replace(row, extraction_pending=extraction_pending, extraction_error=None)
        ]

    await documents.update([key], change)
    await documents.wait_until_durable()


async def reset_for_retry(
    documents: DocumentTable,
    seq_by_document: Iterable[tuple[str, int]],
    status: DocumentStatus,
    *,
    extraction_pending: bool = False,
) -> None:
    """Put failed documents (by key and `seq`) back to `status`; `extraction_pending` also their memories."""
    seqs = dict(seq_by_document)
    if not seqs:
        return

    def change(key: str, rows: list[DocumentRow]) -> Sequence[DocumentRow] | None:
        if not rows or rows[0].status != "failed" or rows[0].content_seq > seqs[key]:
            return None
        pending = rows[0].extraction_pending or (extraction_pending and rows[0].task_type != "superrag")
        return [replace(rows[0], status=status, error=None, extraction_pending=pending)]

    await documents.update(list(seqs), change)
