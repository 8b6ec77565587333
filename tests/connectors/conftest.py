"""Fixtures for tests of the scheduler and the connector API."""

import pytest

from bench.doubles.sample_source import SampleSource


@pytest.fixture
def shelf() -> SampleSource:
    """A source with one text; a module whose source is another has a fixture of its own."""
    made = SampleSource()
    made.put("one", "The kettle is blue.")
    return made
