"""Exponential backoff grows up to its maximum and never overflows."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.runtime.backoff import exponential_backoff


def test_the_delay_doubles_with_each_failure_up_to_the_maximum() -> None:
    assert [exponential_backoff(0.5, failures, 3.0) for failures in range(1, 6)] == [0.5, 1.0, 2.0, 3.0, 3.0]


@given(st.integers(1, 1_000_000))
@settings(max_examples=50)
def test_the_delay_never_decreases(failures: int) -> None:
    assert 0.2 <= exponential_backoff(0.2, failures, 30.0) <= exponential_backoff(0.2, failures + 1, 30.0) <= 30.0


def test_the_delay_does_not_overflow_after_thousands_of_failures() -> None:
    assert exponential_backoff(0.2, 5_000, 30.0) == 30.0
