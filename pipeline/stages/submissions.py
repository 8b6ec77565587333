"""What the submissions of one document do to its row: pure rules of the stage `extract`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pipeline.projection import submitted, touches_content
from pipeline.rows import DocumentRow
from pipeline.stage import Record
from schemas.events import DocumentSubmitted

Submission = Record[DocumentSubmitted]
History = list[Submission]
"""The submissions of one document in a batch, in order."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """The canonical text of a document as of one submission."""

    record: Submission
    text: str
    type: str
    title: str | None
    summary: str | None
    url: str | None


@dataclass(frozen=True, slots=True)
class Failed:
    """A submission that can't become text, and the reason for people."""

    record: Submission
    reason: str


def foreseen(row: DocumentRow | None, history: History) -> DocumentRow | None:
    """The row after these submissions, as whoever published them saw it."""
    for record in history:
        row = submitted(row, record.event, record.offset)
    deleted = _last_delete(history)
    if row is not None and row.text_seq < deleted:
        row = replace(row, text=None, title=None, summary=None, url=None, text_seq=deleted)
    return row


def projected(row: DocumentRow | None, history: History) -> DocumentRow | None:
    """The same when the work on it begins."""
    row = foreseen(row, history)
    if row is None:
        return None
    if row.status == "queued" and any(record.offset == row.content_seq for record in history):
        row = replace(row, status="extracting")
    return row


def with_text(row: DocumentRow, one: Resolved) -> DocumentRow:
    """The row with a text that was found for it."""
    return replace(
        row,
        text=one.text,
        text_seq=one.record.offset,
        type=one.type,
        title=one.title,
        summary=one.summary,
        url=one.url,
    )


def settled(row: DocumentRow, outcomes: Sequence[Resolved | Failed]) -> DocumentRow:
    """The row after these outcomes; its status follows only the newest submission of content."""
    for one in outcomes:
        newest = row.content_seq == one.record.offset
        if isinstance(one, Failed):
            if newest:
                row = replace(row, status="failed", error=one.reason, dreaming=False)
        elif row.text_seq < one.record.offset:
            row = with_text(row, one)
            if newest:
                row = replace(row, status="chunking", error=None)
    return row


def _last_delete(history: History) -> int:
    return max((record.offset for record in history if record.event.operation == "delete"), default=-1)


def is_erased(row: DocumentRow | None, history: History) -> bool:
    """Deleted, and not yet written anew: a text newer than the deletion belongs to the next life."""
    deleted = _last_delete(history)
    return deleted >= 0 and (row is None or row.text_seq <= deleted)


def pending_of(histories: Mapping[str, History], rows: Mapping[str, DocumentRow]) -> dict[str, History]:
    """What is still to be worked on, by document."""
    left = {
        key: [record for record in histories[key] if _is_pending(row, record)] for key, row in rows.items()
    }
    return {key: history for key, history in left.items() if history}


def _is_pending(row: DocumentRow, record: Submission) -> bool:
    """Whether this submission's text is still to be made.

    A submission that is newer than `content_seq` was found to change nothing when it was projected.
    """
    if not row.text_seq < record.offset <= row.content_seq or record.event.operation == "delete":
        return False
    return touches_content(record.event) or record.offset == row.content_seq
