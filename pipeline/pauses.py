"""Pauses between attempts."""

_DOUBLINGS = 60
"""From there on every pause is the longest; a float ends at 2 ** 1024, which hours of failures come to."""


def doubling(first: float, failures: int, longest: float) -> float:
    """Seconds to wait after so many failures in a row, from 1 on."""
    return min(longest, first * 2.0 ** min(failures - 1, _DOUBLINGS))
