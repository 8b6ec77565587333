"""The judge of histories: it finds what is lost, doubled, stuck or goes back, and nothing else."""

from typing import Any

from bench.history_checker.history import FinalState, History, Operation, OperationKind, Sight
from bench.history_checker.judge import LoggedSubmission, judge
from schemas.events import Content, DocumentSubmitted
from schemas.ids import document_key
from tests.support.fakes import EPOCH

INCARNATION = "alice#0"


def logged(
    offset: int, operation: str, token: str | None = None, *, incarnation: str = INCARNATION
) -> LoggedSubmission:
    values = {
        "operation": operation,
        "incarnation": incarnation,
        "document": document_key(incarnation, "d0"),
        "id": "d0",
        "at": EPOCH,
        "content": Content(text=f"Line {token}.") if token else None,
        "metadata": {token: 1} if token else None,
    }
    return LoggedSubmission(offset, DocumentSubmitted.model_validate(values))


def operation(kind: OperationKind, token: str, started: float, **fields: Any) -> Operation:
    return Operation(0, kind, "d0", token, started, started + 0.5, 200, **fields)


def read(started: float, metadata: dict[str, object] | None) -> Operation:
    return operation("read", "", started, sights=[Sight("d0", metadata)])


def final(content: str, *tokens: str, status: str | None = "done") -> FinalState:
    return FinalState("d0", status, dict.fromkeys(tokens, 1), content)


LOG = [logged(3, "add", "a"), logged(7, "add", "b")]


def history(*operations: Operation, end: FinalState | None = None) -> History:
    return History("alice", list(operations), [end or final("Line a.\n\nLine b.", "a", "b")])


def test_a_history_that_agrees_with_the_log_has_no_problems() -> None:
    steps = [operation("add", "a", 0), read(1, {"a": 1}), operation("add", "b", 2), read(3, {"a": 1, "b": 1})]
    assert judge(history(*steps), LOG).problems == []


def test_a_write_that_is_not_in_the_log_is_lost() -> None:
    assert len(judge(history(operation("add", "c", 0)), LOG).lost) == 1


def test_a_refused_write_may_be_missing() -> None:
    refused = operation("add", "c", 0)
    refused.status = 503
    assert judge(history(refused), LOG).problems == []


def test_a_read_older_than_an_acknowledged_write_goes_back() -> None:
    assert len(judge(history(operation("add", "b", 0), read(1, {"a": 1})), LOG).went_back) == 1


def test_a_read_older_than_another_read_goes_back() -> None:
    assert len(judge(history(read(0, {"a": 1, "b": 1}), read(1, {"a": 1})), LOG).went_back) == 1


def test_a_read_that_says_it_is_stale_may_go_back_but_not_to_what_never_was() -> None:
    def stale(started: float, metadata: dict[str, object]) -> Operation:
        return operation("read", "", started, sights=[Sight("d0", metadata, is_stale=True)])

    current = read(0, {"a": 1, "b": 1})
    assert judge(history(current, stale(1, {"a": 1}), read(2, {"a": 1, "b": 1})), LOG).problems == []
    assert len(judge(history(current, stale(1, {"b": 1})), LOG).went_back) == 1


def test_a_read_during_a_write_may_see_it_or_not() -> None:
    during = [operation("add", "b", 0), read(0.2, {"a": 1}), read(0.3, {"a": 1, "b": 1})]
    assert judge(history(*during), LOG).problems == []


def test_a_read_of_a_state_that_never_was_goes_back() -> None:
    assert len(judge(history(read(0, {"b": 1})), LOG).went_back) == 1


def test_text_that_is_missing_or_there_twice_is_found() -> None:
    assert len(judge(history(end=final("Line a.", "a", "b")), LOG).lost) == 1
    assert len(judge(history(end=final("Line a.\n\nLine b.\n\nLine b.", "a", "b")), LOG).doubled) == 1


def test_metadata_that_is_missing_is_lost() -> None:
    assert len(judge(history(end=final("Line a.\n\nLine b.", "a")), LOG).lost) == 1


def test_a_document_that_is_never_done_is_stuck() -> None:
    assert len(judge(history(end=final("", "a", "b", status="queued")), LOG).stuck) == 1


def test_a_deleted_document_that_is_still_there_or_found_is_reported() -> None:
    deleted = [*LOG, logged(9, "delete")]
    assert len(judge(history(), deleted).lost) == 1
    gone = history(end=final("", status=None))
    gone.found = ["d0"]
    assert len(judge(gone, deleted).went_back) == 1


def test_a_repetition_in_the_log_stands_once() -> None:
    assert judge(history(), [*LOG, logged(9, "add", "a")]).problems == []


def test_after_a_move_the_documents_stand_in_the_target_and_new_ones_begin_anew() -> None:
    log = [*LOG, logged(9, "add", "c", incarnation="alice#1")]
    reads = [read(0, {"a": 1, "b": 1}), read(1, None), read(2, {"c": 1})]
    moved = History("alice", reads, [final("Line c.", "c")], is_moved=True)
    moved.final.append(FinalState("d0", "done", {"a": 1, "b": 1}, "Line a.\n\nLine b.", is_moved=True))
    assert judge(moved, log).problems == []
    moved.operations.append(read(3, {"a": 1, "b": 1}))
    assert len(judge(moved, log).went_back) == 1


def test_what_a_move_leaves_behind_or_loses_is_reported() -> None:
    moved = History("alice", [], [final("Line a.\n\nLine b.", "a", "b")], is_moved=True)
    moved.final.append(FinalState("d0", None, {}, "", is_moved=True))
    assert len(judge(moved, LOG).lost) == 2


def test_a_memory_that_is_still_recalled_after_it_was_forgotten_goes_back() -> None:
    forgotten = history()
    forgotten.remembered = ["memory m is still listed by process 1"]
    assert len(judge(forgotten, LOG).went_back) == 1
