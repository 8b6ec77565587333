"""Worlds for the index: one that holds its namespaces, one that maps them from files, and each in turn."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pipeline.inference.wordllama import WordLlamaEmbedder
from tests.pipeline.index.world import EVERYTHING, World, opened, with_small_segments


@pytest.fixture(scope="session")
def embedder() -> WordLlamaEmbedder:
    return WordLlamaEmbedder.packaged()


@pytest.fixture
async def world(tmp_path: Path, embedder: WordLlamaEmbedder) -> AsyncIterator[World]:
    async with opened(tmp_path, embedder, EVERYTHING) as world:
        yield world


@pytest.fixture(params=["held", "mapped"])
async def either(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    embedder: WordLlamaEmbedder,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[World]:
    """A world for what must not depend on whether a namespace fits into memory."""
    if request.param == "mapped":
        with_small_segments(monkeypatch)
    async with opened(tmp_path, embedder, EVERYTHING if request.param == "held" else 0) as world:
        yield world
