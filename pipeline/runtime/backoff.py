"""Exponential backoff between attempts."""

_MAX_DOUBLINGS = 60
"""Cap of the exponent: 2.0 ** 1024 overflows a float, and hours of failures would reach it."""


def exponential_backoff(initial: float, failures: int, maximum: float) -> float:
    """Return the seconds to wait after `failures` (from 1) in a row."""
    return min(maximum, initial * 2.0 ** min(failures - 1, _MAX_DOUBLINGS))
