"""Changes shown before their owner has written them: readers see the fold of the log, whatever is stored."""

from collections.abc import Sequence
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from pipeline.projection import apply_submission
from pipeline.rows import DocumentRow
from pipeline.store.multi_process.row_overlay import LoggedChange, RowOverlay, fold_changes
from pipeline.store.tables.document_table import codec
from schemas.events import DocumentSubmitted
from schemas.ids import document_key
from tests.support.fakes import EPOCH

INCARNATION = "alice#0"
KEY = document_key(INCARNATION, "d")
OPERATIONS = st.lists(st.sampled_from(["add", "patch", "delete"]), min_size=1, max_size=12)


def event(operation: str, number: int) -> DocumentSubmitted:
    values = {"operation": operation, "metadata": {f"k{number}": number}, "at": EPOCH}
    return DocumentSubmitted.model_validate({**values, "incarnation": INCARNATION, "document": KEY, "id": "d"})


def apply(event: DocumentSubmitted, offset: int, row: DocumentRow | None) -> DocumentRow | None:
    return apply_submission(row, event, offset)


def logged(operations: Sequence[str]) -> list[LoggedChange[DocumentRow]]:
    return [
        LoggedChange(INCARNATION, 0, offset, partial(apply, event(operation, offset), offset))
        for offset, operation in enumerate(operations)
    ]


def fold(changes: Sequence[LoggedChange[DocumentRow]]) -> list[DocumentRow]:
    return fold_changes([], changes)


@given(OPERATIONS, st.data())
def test_readers_see_every_change_in_order_while_the_owner_writes(operations: list[str], data: st.DataObject) -> None:
    """Assert that the owner has written a prefix of what is shown at every moment, and that the count agrees."""
    changes = logged(operations)
    overlay: RowOverlay[DocumentRow] = RowOverlay(codec())
    shown = written = 0
    while shown < len(changes) or written < shown:
        if written == shown or (shown < len(changes) and data.draw(st.booleans(), "show")):
            marks = overlay.append({KEY: [changes[shown]]})
            shown += 1
            overlay.set_stored({KEY: fold(changes[:written])}, marks)
        else:
            written = data.draw(st.integers(written + 1, shown), "written")
            overlay.on_stored_change({KEY: fold(changes[:written])})
            if data.draw(st.booleans(), "committed"):
                overlay.drop(overlay.keys_before({0: written}))
        stored, newest = fold(changes[:written]), fold(changes[:shown])
        assert fold_changes(stored, overlay.changes_of(KEY)) == newest
        scanned = overlay.snapshot()[KEY].rows if KEY in overlay.snapshot() else tuple(stored)
        assert list(scanned) == newest
        assert len(stored) + overlay.count_change(INCARNATION) == len(newest)


def test_a_row_read_before_a_newer_one_was_heard_of_is_not_shown() -> None:
    changes = logged(["add", "patch"])
    overlay: RowOverlay[DocumentRow] = RowOverlay(codec())
    marks = overlay.append({KEY: changes})
    overlay.on_stored_change({KEY: fold(changes[:1])})
    assert overlay.set_stored({KEY: []}, marks) == {KEY: fold(changes)}


def test_an_older_row_heard_of_late_does_not_hide_a_change_that_was_dropped() -> None:
    changes = logged(["add", "patch", "patch"])
    overlay: RowOverlay[DocumentRow] = RowOverlay(codec())
    overlay.set_stored({KEY: fold(changes[:2])}, overlay.append({KEY: changes[2:]}))
    overlay.on_stored_change({KEY: fold(changes[:1])})
    assert list(overlay.snapshot()[KEY].rows) == fold(changes)


def test_what_the_owner_has_committed_is_no_longer_held() -> None:
    changes = logged(["add", "delete"])
    overlay: RowOverlay[DocumentRow] = RowOverlay(codec())
    overlay.set_stored({}, overlay.append({KEY: changes}))
    assert overlay.keys_before({0: 1}) == []
    overlay.drop(overlay.keys_before({0: 2}))
    assert len(overlay) == 0
    assert overlay.snapshot() == {}


def test_changes_that_come_again_after_a_failed_attempt_are_kept_once() -> None:
    changes = logged(["add", "delete", "add"])
    overlay: RowOverlay[DocumentRow] = RowOverlay(codec())
    overlay.append({KEY: changes[:2]})
    overlay.append({KEY: changes[:2]})
    overlay.append({KEY: changes[1:]})
    assert overlay.changes_of(KEY) == tuple(changes)
