"""The runs of connectors as the log tells of them: in any order, any number of times."""

from collections.abc import Sequence
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from pipeline.projection import reported, triggered
from pipeline.rows import SyncsRow
from schemas.events import ConnectorTriggered, SyncReported
from schemas.limits import SYNCS
from tests.fakes import EPOCH

Told = ConnectorTriggered | SyncReported


def _asked(number: int) -> ConnectorTriggered:
    at = EPOCH + timedelta(minutes=number)
    return ConnectorTriggered(connector="con_1", run=f"run_{number:02}", trigger="cron", at=at)


def _told(number: int, status: str, processed: int = 0) -> SyncReported:
    at = EPOCH + timedelta(minutes=number)
    return SyncReported.model_validate(
        {
            "connector": "con_1",
            "run": f"run_{number:02}",
            "trigger": "cron",
            "status": status,
            "started_at": at,
            "completed_at": None if status == "running" else at + timedelta(seconds=30),
            "processed": processed,
        }
    )


def _after(told: Sequence[Told]) -> SyncsRow:
    row = SyncsRow("con_1")
    for one in told:
        row = triggered(row, one) if isinstance(one, ConnectorTriggered) else reported(row, one)
    return row


def test_what_was_asked_for_waits_until_it_is_told_to_run() -> None:
    assert (waiting := _after([_asked(1)]).running) is not None
    assert waiting.queued
    assert (running := _after([_asked(1), _told(1, "running", 3)]).running) is not None
    assert (running.queued, running.processed) == (False, 3)
    assert _after([_asked(1), _told(1, "completed")]).running is None


def test_the_oldest_that_is_not_over_is_next() -> None:
    row = _after([_asked(2), _asked(1), _told(3, "completed")])
    assert row.running is not None
    assert row.running.run == "run_01"


def test_a_run_that_is_over_stays_as_it_ended() -> None:
    row = _after([_told(1, "failed", 7), _told(1, "running", 9), _asked(1)])
    assert [(run.status, run.processed) for run in row.runs] == [("failed", 7)]
    assert row.succeeded_at is None


@given(st.permutations(range(SYNCS + 5)))
def test_the_newest_are_kept_whatever_the_order(order: list[int]) -> None:
    row = _after([_told(number, "completed") for number in order])
    assert [run.run for run in row.runs] == [f"run_{number:02}" for number in range(SYNCS + 4, 4, -1)]
    assert row.succeeded_at == EPOCH + timedelta(minutes=SYNCS + 4, seconds=30)


@given(st.lists(st.integers(0, 20), max_size=30))
def test_what_is_read_again_changes_nothing(numbers: list[int]) -> None:
    told: list[Told] = []
    for number in numbers:
        told += [_asked(number), _told(number, "running"), _told(number, "completed")]
    row = _after(told)
    assert row.running is None
    assert _after([*told, *told]) == row
