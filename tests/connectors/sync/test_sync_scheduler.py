"""The engine on a small source, through the interface."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bench.doubles.sample_source import SampleProvider, SampleSource
from tests.support.connectors.connected_service import ConnectedService, run_connected_service


@pytest.fixture
def shelf() -> SampleSource:
    return SampleSource()


@pytest.fixture
async def world(tmp_path: Path, shelf: SampleSource, anyio_backend: str) -> AsyncIterator[ConnectedService]:
    async with run_connected_service(tmp_path, {"github": SampleProvider()}, shelf.transport()) as opened:
        yield opened


@pytest.mark.anyio
async def test_what_is_at_the_source_becomes_documents(world: ConnectedService, shelf: SampleSource) -> None:
    shelf.put("one", "The kettle is blue.")
    shelf.put("two", "The stove is red.")
    connector = await world.create("alice", "github")
    run = await world.wait_for_run(connector)
    assert (run.status, run.processed, run.failed, run.documents) == ("completed", 2, 0, 2)
    documents = await world.documents("alice")
    assert set(documents) == {"one", "two"}
    assert documents["one"]["metadata"] == {"board": "a", "provider": "github", "connector": connector}
