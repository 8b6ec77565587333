"""The default embedder in a running service: vectors come after words, and are computed once."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from pipeline.models.e5.e5_embedder import E5Embedder
from pipeline.models.e5_with_encoder_embedder import E5WithEncoderEmbedder
from pipeline.rows import Vector
from tests.support.generation_rows import read_all_rows, row_differences, run_replay
from tests.support.service_world import RunningService, running_service, wait_until

pytestmark = pytest.mark.anyio
TEXTS = ["Paul eats neither meat nor fish.", "Die Werkstatt öffnet erst am Montag.", "The lake froze in January."]


async def _vectors(service: RunningService) -> dict[str, Vector]:
    incarnations = service.pipeline.store.catalog.incarnations()
    return {row.text: row.vector for row in await service.pipeline.store.chunks.list_rows(incarnations)}


async def test_a_document_is_found_by_its_words_before_the_model_has_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released, embed = asyncio.Event(), E5Embedder.embed_documents

    async def held(self: E5Embedder, texts: Sequence[str]) -> list[Vector]:
        await released.wait()
        return await embed(self, texts)

    monkeypatch.setattr(E5Embedder, "embed_documents", held)
    async with running_service(tmp_path, embedder="e5") as service:
        await service.add_document("home", TEXTS[0], id="d", taskType="superrag")
        found = await wait_until(lambda: service.search("home", "neither meat nor fish"), "found by its words")
        assert found[0]["chunk"] == TEXTS[0]
        assert (await service.read_document("home", "d"))["system"]["status"] in {"embedding", "indexing"}
        released.set()
        await service.wait_idle()
        assert (await service.read_document("home", "d"))["system"]["status"] == "done"
        assert (await _vectors(service))[TEXTS[0]].any()


async def test_every_passage_gets_a_vector_and_a_replay_runs_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded, embed = list[str](), E5Embedder.embed_documents

    async def counted(self: E5Embedder, texts: Sequence[str]) -> list[Vector]:
        embedded.extend(texts)
        return await embed(self, texts)

    monkeypatch.setattr(E5Embedder, "embed_documents", counted)
    async with running_service(tmp_path, embedder="e5") as service:
        for text in TEXTS:
            await service.add_document("home", text)
        await service.wait_idle()
        vectors = await _vectors(service)
        assert set(vectors) == set(TEXTS)
        assert all(vector.any() for vector in vectors.values())
        assert len(embedded) == len(set(embedded))
        before = await read_all_rows(service.pipeline.store)
        embedded.clear()
        assert (await run_replay(service))["state"] == "done"
        assert row_differences(before, await read_all_rows(service.pipeline.store)) == []
        assert embedded == []


async def test_the_default_embedder_makes_new_tables(tmp_path: Path) -> None:
    async with running_service(tmp_path, embedder=None) as service:
        assert service.pipeline.embedder.name == E5WithEncoderEmbedder.name
