"""What tests of the engine and its interface start from."""

import pytest

from tests.connectors.shelf import Shelf


@pytest.fixture
def shelf() -> Shelf:
    """A source with one text; a module whose source is another has a fixture of its own."""
    made = Shelf()
    made.put("one", "The kettle is blue.")
    return made
