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
    """A submission that can't become text, the reason for people, and what is known of it all the same."""

    record: Submission
    reason: str
    type: str | None = None
    url: str | None = None


def foreseen(row: DocumentRow | None, history: History) -> DocumentRow | None:
    """The row after these submissions, as whoever published them saw it."""
    for record in history:
        row = submitted(row, record.event, record.offset)
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
                row = _failed(row, one)
        elif row.text_seq < one.record.offset:
            row = with_text(row, one)
            if newest:
                row = replace(row, status="chunking", error=None)
    return row


def _failed(row: DocumentRow, one: Failed) -> DocumentRow:
    """What it showed before it shows on, and its memories are formed of that."""
    row = replace(row, status="failed", error=one.reason)
    if row.text is not None:
        return row
    return replace(row, dreaming=False, type=one.type or row.type, url=one.url or row.url)


def handed_on(
    row: DocumentRow, outcomes: Sequence[Resolved | Failed]
) -> list[tuple[Submission, DocumentRow]]:
    """The texts for the next stages: new ones, and the one that is still shown where what came later failed.

    The next stages may have dropped that one as outdated while nobody knew of the failure.
    """
    texts = [(one.record, with_text(row, one)) for one in outcomes if isinstance(one, Resolved)]
    if row.status == "failed" and row.text is not None and isinstance(outcomes[-1], Failed):
        known = {record.offset for record, _ in texts}
        return texts if row.text_seq in known else [*texts, (outcomes[-1].record, row)]
    return texts


def _last_delete(history: History) -> int:
    return max((record.offset for record in history if record.event.operation == "delete"), default=-1)


def is_erased(row: DocumentRow | None, history: History) -> bool:
    """Deleted, and not yet written anew: a text newer than the deletion belongs to the next life."""
    deleted = _last_delete(history)
    return deleted >= 0 and (row is None or row.text is None or row.text_seq <= deleted)


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
