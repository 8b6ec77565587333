"""Worlds for the index: one that holds its namespaces, one that maps them from files, and each in turn."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pipeline.models.wordllama_embedder import WordLlamaEmbedder
from tests.support.index_harness import UNLIMITED_BYTES, IndexHarness, force_spilled_segments, open_harness


@pytest.fixture(scope="session")
def embedder() -> WordLlamaEmbedder:
    return WordLlamaEmbedder.from_package()


@pytest.fixture
async def world(tmp_path: Path, embedder: WordLlamaEmbedder) -> AsyncIterator[IndexHarness]:
    async with open_harness(tmp_path, embedder, UNLIMITED_BYTES) as world:
        yield world


@pytest.fixture(params=["held", "mapped"])
async def either(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    embedder: WordLlamaEmbedder,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[IndexHarness]:
    """A world for what must not depend on whether a namespace fits into memory."""
    if request.param == "mapped":
        force_spilled_segments(monkeypatch)
    async with open_harness(tmp_path, embedder, UNLIMITED_BYTES if request.param == "held" else 0) as world:
        yield world
