"""Submissions folded into a document's row: repetitions change nothing."""

from datetime import datetime, timedelta
from typing import Any

from pipeline.projection import apply_submission, is_repetition
from pipeline.rows import DocumentRow
from schemas.events import Content, DocumentSubmitted, ImportedDocument
from schemas.ids import document_key
from tests.support.fakes import EPOCH

INCARNATION = "alice#0"


def submitted(operation: str, text: str | None = None, *, minutes: float = 0, **fields: Any) -> DocumentSubmitted:
    values = {
        "operation": operation,
        "incarnation": INCARNATION,
        "document": document_key(INCARNATION, "d"),
        "id": "d",
        "at": EPOCH + timedelta(minutes=minutes),
        "content": None if text is None else Content(text=text),
        **fields,
    }
    return DocumentSubmitted.model_validate(values)


def fold(*events: DocumentSubmitted) -> DocumentRow | None:
    row: DocumentRow | None = None
    for seq, event in enumerate(events):
        row = apply_submission(row, event, seq)
    return row


def content_positions(*events: DocumentSubmitted) -> list[int]:
    """The positions at which the content changed."""
    row: DocumentRow | None = None
    changed = []
    for seq, event in enumerate(events):
        row = apply_submission(row, event, seq)
        if row is not None and row.content_seq == seq:
            changed.append(seq)
    return changed


def test_the_same_content_within_ten_minutes_is_a_repetition_whatever_came_between() -> None:
    events = [submitted("add", "A"), submitted("add", "B", minutes=1), submitted("add", "A", minutes=9)]
    assert content_positions(*events) == [0, 1]
    row = fold(*events)
    assert row is not None
    assert is_repetition(row, 2)
    assert row.seq == 2


def test_the_same_content_after_ten_minutes_is_an_addition() -> None:
    assert content_positions(submitted("add", "A"), submitted("add", "A", minutes=10.1)) == [0, 1]


def test_what_comes_with_a_repetition_is_applied() -> None:
    row = fold(submitted("add", "A", metadata={"a": 1}), submitted("add", "A", metadata={"b": 2}))
    assert row is not None
    assert row.metadata == {"a": 1, "b": 2}
    assert row.content_seq == 0


def test_a_statement_that_is_sent_again_is_a_repetition() -> None:
    stated = submitted("add", "A", imported=ImportedDocument(text=Content(text="A"), memories_included=True))
    assert content_positions(stated, stated) == [0]


def test_content_of_a_deleted_document_is_new_again() -> None:
    assert content_positions(submitted("add", "A"), submitted("delete"), submitted("add", "A")) == [0, 2]


def test_a_retry_of_failed_content_is_processed_again() -> None:
    assert content_positions(submitted("add", "A"), submitted("add", "A", retries_failed=True)) == [0, 1]


def test_a_patch_with_the_same_content_replaces_it() -> None:
    assert content_positions(submitted("add", "A"), submitted("patch", "B"), submitted("patch", "A")) == [0, 1, 2]


def test_a_submission_with_a_known_key_changes_nothing_for_a_day() -> None:
    first = submitted("patch", "B", metadata={"n": 1}, idempotency_key="k")
    again = submitted("patch", "B", metadata={"n": 1}, idempotency_key="k", minutes=23 * 60)
    between = submitted("patch", "C", metadata={"n": 2}, minutes=5)
    row = fold(submitted("add", "A"), first, between, again)
    assert row is not None
    assert (row.metadata, row.content_seq, row.seq) == ({"n": 2}, 2, 3)
    late = submitted("patch", "B", metadata={"n": 1}, idempotency_key="k", minutes=25 * 60)
    assert content_positions(submitted("add", "A"), first, between, late) == [0, 1, 2, 3]


def test_a_repetition_is_forgotten_once_the_text_is_newer() -> None:
    row = fold(submitted("add", "A"), submitted("add", "A"), submitted("add", "A"))
    assert row is not None
    assert row.recent.repeated == (1, 2)


def test_times_are_those_of_the_events() -> None:
    row = fold(submitted("add", "A"), submitted("add", "B", minutes=30))
    assert row is not None
    (entry,) = row.recent.contents
    assert isinstance(entry[1], datetime)


def test_a_request_with_the_first_id_keeps_the_id_that_a_move_gave() -> None:
    row = fold(submitted("add", "A"), submitted("patch", id="d~bob"), submitted("patch", metadata={"n": 1}))
    assert row is not None
    assert row.id == "d~bob"
