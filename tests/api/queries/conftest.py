"""Real tables and a real index for the queries."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pipeline.inference.wordllama import WordLlamaEmbedder
from tests.pipeline.index.world import EVERYTHING, World, opened


@pytest.fixture(scope="session")
def embedder() -> WordLlamaEmbedder:
    return WordLlamaEmbedder.packaged()


@pytest.fixture
async def world(tmp_path: Path, embedder: WordLlamaEmbedder) -> AsyncIterator[World]:
    async with opened(tmp_path, embedder, EVERYTHING) as world:
        yield world
