"""The engine on a small source, through the interface."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.connectors.shelf import Shelf, ShelfProvider
from tests.connectors.world import Connected, connected


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
async def world(tmp_path: Path, shelf: Shelf, anyio_backend: str) -> AsyncIterator[Connected]:
    async with connected(tmp_path, {"github": ShelfProvider()}, shelf.transport()) as opened:
        yield opened


@pytest.mark.anyio
async def test_what_is_at_the_source_becomes_documents(world: Connected, shelf: Shelf) -> None:
    shelf.put("one", "The kettle is blue.")
    shelf.put("two", "The stove is red.")
    connector = await world.create("alice", "github")
    run = await world.ended(connector)
    assert (run.status, run.processed, run.failed, run.documents) == ("completed", 2, 0, 2)
    documents = await world.documents("alice")
    assert set(documents) == {"one", "two"}
    assert documents["one"]["metadata"] == {"board": "a", "provider": "github", "connector": connector}
