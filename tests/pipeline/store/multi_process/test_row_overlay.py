"""Changes shown before their owner has written them: readers see the fold of the log, whatever is stored."""

from collections.abc import Sequence
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from pipeline.projection import apply_submission
from pipeline.rows import DocumentRow
from pipeline.store.multi_process.row_overlay import LoggedChange, RowOverlay
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
    row: DocumentRow | None = None
    for change in changes:
        row = change.apply(row)
    return [] if row is None else [row]


def deletions(operations: Sequence[str]) -> dict[str, int]:
    """What the owner of the partition has told of deletions when it has written these."""
    return (
        {KEY: max(offset for offset, name in enumerate(operations) if name == "delete")}
        if "delete" in operations
        else {}
    )


def seen(overlay: RowOverlay[DocumentRow], stored: Sequence[DocumentRow]) -> list[DocumentRow]:
    """What a scan shows while these rows are stored."""
    return list(overlay.snapshot()[KEY].rows if KEY in overlay.snapshot() else stored)


@given(OPERATIONS, st.data())
def test_readers_see_every_change_in_order_while_the_owner_writes(operations: list[str], data: st.DataObject) -> None:
    """Assert that readers see a state that the log has, with every change shown, whoever of the two is ahead."""
    changes = logged(operations)
    overlay: RowOverlay[DocumentRow] = RowOverlay(codec())
    states = [fold(changes[:count]) for count in range(len(changes) + 1)]
    shown = written = data.draw(st.integers(0, len(changes)), "written before this process began")
    while shown < len(changes) or written < len(changes):
        if written == len(changes) or (shown < len(changes) and data.draw(st.booleans(), "show")):
            marks = overlay.append({KEY: [changes[shown]]})
            shown += 1
            overlay.set_stored({KEY: states[written]}, marks, deletions(operations[:written]))
        else:
            written = data.draw(st.integers(written + 1, len(changes)), "written")
            overlay.on_stored_change({KEY: states[written]})
            if data.draw(st.booleans(), "committed"):
                overlay.drop(overlay.keys_before({0: written}))
        newest, scanned = states[shown:], seen(overlay, states[written])
        assert scanned in newest
        shown_entity = overlay.shown([KEY]).get(KEY)
        assert (states[written] if shown_entity is None else shown_entity.rows_over(states[written])) in newest
        assert len(states[written]) + overlay.count_change(INCARNATION) == len(scanned)


def test_a_deletion_that_is_written_before_it_is_shown_does_not_begin_a_document_anew() -> None:
    changes = logged(["add", "patch", "delete"])
    overlay: RowOverlay[DocumentRow] = RowOverlay(codec())
    overlay.set_stored({KEY: fold(changes[:1])}, overlay.append({KEY: changes[1:2]}), {})
    overlay.on_stored_change({KEY: []})
    assert seen(overlay, []) == overlay.shown([KEY])[KEY].rows_over([]) == fold(changes[:2])
    overlay.set_stored({}, overlay.append({KEY: changes[2:]}), {KEY: 2})
    assert seen(overlay, []) == []


def test_a_change_first_shown_when_its_document_is_deleted_already_shows_nothing() -> None:
    changes = logged(["add", "patch", "delete", "add"])
    overlay: RowOverlay[DocumentRow] = RowOverlay(codec())
    assert overlay.set_stored({}, overlay.append({KEY: changes[1:2]}), {KEY: 2}) == {KEY: []}
    overlay.set_stored({}, overlay.append({KEY: changes[2:]}), {KEY: 2})
    assert seen(overlay, []) == fold(changes)


def test_a_deletion_that_was_heard_of_before_its_position_is_known_counts_from_there() -> None:
    changes = logged(["add", "add", "delete"])
    overlay: RowOverlay[DocumentRow] = RowOverlay(codec())
    marks = overlay.append({KEY: changes[1:2]})
    overlay.on_stored_change({KEY: []})
    assert overlay.set_stored({}, marks, {KEY: 2}) == {KEY: []}


def test_a_row_heard_of_late_does_not_bring_back_what_was_deleted_since() -> None:
    changes = logged(["add", "delete", "add"])
    overlay: RowOverlay[DocumentRow] = RowOverlay(codec())
    overlay.set_stored({}, overlay.append({KEY: changes[2:]}), {KEY: 1})
    overlay.on_stored_change({KEY: fold(changes[:1])})
    assert seen(overlay, []) == fold(changes)


def test_a_row_read_before_a_newer_one_was_heard_of_is_not_shown() -> None:
    changes = logged(["add", "patch"])
    overlay: RowOverlay[DocumentRow] = RowOverlay(codec())
    marks = overlay.append({KEY: changes})
    overlay.on_stored_change({KEY: fold(changes[:1])})
    assert overlay.set_stored({KEY: []}, marks, {}) == {KEY: fold(changes)}


def test_a_row_read_before_every_change_was_written_is_not_told_of() -> None:
    changes = logged(["add", "patch"])
    overlay: RowOverlay[DocumentRow] = RowOverlay(codec())
    marks = overlay.append({KEY: changes})
    overlay.on_stored_change({KEY: fold(changes)})
    assert overlay.set_stored({KEY: []}, marks, {}) == {}


def test_an_older_row_heard_of_late_does_not_hide_a_change_that_was_dropped() -> None:
    changes = logged(["add", "patch", "patch"])
    overlay: RowOverlay[DocumentRow] = RowOverlay(codec())
    overlay.set_stored({KEY: fold(changes[:2])}, overlay.append({KEY: changes[2:]}), {})
    overlay.on_stored_change({KEY: fold(changes[:1])})
    assert seen(overlay, []) == fold(changes)


def test_what_the_owner_has_committed_is_no_longer_held() -> None:
    changes = logged(["add", "delete"])
    overlay: RowOverlay[DocumentRow] = RowOverlay(codec())
    overlay.set_stored({}, overlay.append({KEY: changes}), {})
    assert overlay.keys_before({0: 1}) == []
    overlay.drop(overlay.keys_before({0: 2}))
    assert overlay.incarnations() == set()
    assert overlay.snapshot() == {}


def test_changes_that_come_again_after_a_failed_attempt_are_kept_once() -> None:
    changes = logged(["add", "delete", "add"])
    overlay: RowOverlay[DocumentRow] = RowOverlay(codec())
    overlay.append({KEY: changes[:2]})
    overlay.append({KEY: changes[:2]})
    overlay.set_stored({}, overlay.append({KEY: changes[1:]}), {})
    assert overlay.shown([KEY])[KEY].changes == tuple(changes)
