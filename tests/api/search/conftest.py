"""Real tables and a real index for the queries."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pipeline.models.wordllama_embedder import WordLlamaEmbedder
from tests.support.index_harness import UNLIMITED_BYTES, IndexHarness, open_harness


@pytest.fixture(scope="session")
def embedder() -> WordLlamaEmbedder:
    return WordLlamaEmbedder.from_package()


@pytest.fixture
async def world(tmp_path: Path, embedder: WordLlamaEmbedder) -> AsyncIterator[IndexHarness]:
    async with open_harness(tmp_path, embedder, UNLIMITED_BYTES) as world:
        yield world
