"""Projection of connector runs: events in any order, any number of times."""

from collections.abc import Sequence
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from pipeline.projection import apply_sync_report, apply_sync_trigger
from pipeline.rows import SyncRunsRow
from schemas.events import ConnectorTriggered, SyncReported
from schemas.limits import MAX_SYNCS_SHOWN
from tests.support.fakes import EPOCH

ReportedStep = ConnectorTriggered | SyncReported


def _request(number: int) -> ConnectorTriggered:
    at = EPOCH + timedelta(minutes=number)
    return ConnectorTriggered(connector="con_1", run_id=f"run_{number:02}", trigger="cron", at=at)


def _report(number: int, status: str, processed: int = 0) -> SyncReported:
    at = EPOCH + timedelta(minutes=number)
    return SyncReported.model_validate(
        {
            "connector": "con_1",
            "run_id": f"run_{number:02}",
            "trigger": "cron",
            "status": status,
            "started_at": at,
            "completed_at": None if status == "running" else at + timedelta(seconds=30),
            "processed": processed,
        }
    )


def _apply_reports(steps: Sequence[ReportedStep]) -> SyncRunsRow:
    row = SyncRunsRow("con_1")
    for step in steps:
        row = apply_sync_trigger(row, step) if isinstance(step, ConnectorTriggered) else apply_sync_report(row, step)
    return row


def test_a_requested_run_is_queued_until_it_starts() -> None:
    assert (waiting := _apply_reports([_request(1)]).active_run) is not None
    assert waiting.queued
    assert (running := _apply_reports([_request(1), _report(1, "running", 3)]).active_run) is not None
    assert (running.queued, running.processed) == (False, 3)
    assert _apply_reports([_request(1), _report(1, "completed")]).active_run is None


def test_the_oldest_unfinished_run_is_next() -> None:
    row = _apply_reports([_request(2), _request(1), _report(3, "completed")])
    assert row.active_run is not None
    assert row.active_run.run_id == "run_01"


def test_a_finished_run_keeps_its_result() -> None:
    row = _apply_reports([_report(1, "failed", 7), _report(1, "running", 9), _request(1)])
    assert [(run.status, run.processed) for run in row.runs] == [("failed", 7)]
    assert row.succeeded_at is None


@given(st.permutations(range(MAX_SYNCS_SHOWN + 5)))
def test_the_newest_runs_are_kept_in_any_order(order: list[int]) -> None:
    row = _apply_reports([_report(number, "completed") for number in order])
    assert [run.run_id for run in row.runs] == [f"run_{number:02}" for number in range(MAX_SYNCS_SHOWN + 4, 4, -1)]
    assert row.succeeded_at == EPOCH + timedelta(minutes=MAX_SYNCS_SHOWN + 4, seconds=30)


@given(st.lists(st.integers(0, 20), max_size=30))
def test_events_read_again_change_nothing(numbers: list[int]) -> None:
    steps: list[ReportedStep] = []
    for number in numbers:
        steps += [_request(number), _report(number, "running"), _report(number, "completed")]
    row = _apply_reports(steps)
    assert row.active_run is None
    assert _apply_reports([*steps, *steps]) == row
