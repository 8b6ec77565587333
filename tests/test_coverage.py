"""Coverage measures only what it is told to."""

import sys

import pytest


@pytest.mark.no_cover
def test_nothing_is_traced_while_coverage_pauses() -> None:
    """Two collectors that take turns share tracers between threads, and crash the process."""
    assert sys.gettrace() is None
