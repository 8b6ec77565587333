"""Pauses double up to the longest, and whoever fails for days still gets one."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.pauses import doubling


def test_a_pause_doubles_with_each_failure_up_to_the_longest() -> None:
    assert [doubling(0.5, failures, 3.0) for failures in range(1, 6)] == [0.5, 1.0, 2.0, 3.0, 3.0]


@given(st.integers(1, 1_000_000))
@settings(max_examples=50)
def test_a_pause_is_never_shorter_than_the_one_before(failures: int) -> None:
    assert 0.2 <= doubling(0.2, failures, 30.0) <= doubling(0.2, failures + 1, 30.0) <= 30.0


def test_there_is_a_pause_after_more_failures_than_a_float_has_doublings() -> None:
    assert doubling(0.2, 5_000, 30.0) == 30.0
