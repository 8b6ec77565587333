"""Chunks are found by their words before they have vectors."""

import pytest

from schemas.ids import document_key
from schemas.topics import DOCUMENTS_CHUNKED
from tests.pipeline.stages.test_embed_stage import INCARNATION, TEXT, StageHarness, records

pytestmark = pytest.mark.anyio


async def test_a_text_is_found_by_its_words_while_it_is_still_being_embedded() -> None:
    world = StageHarness()
    await world.chunk.handle(records(await world.add_extracted("d", TEXT, 3)))
    await world.index.handle(world.publisher.records(DOCUMENTS_CHUNKED))
    rows = world.chunks.rows_by_key[document_key(INCARNATION, "d")]
    assert all(len(row.terms) and not row.vector.any() for row in rows)
    assert world.row().status == "embedding"
    assert not world.embedder.calls
    assert world.chunks.pending == 0


@pytest.mark.parametrize("embedded_first", [True, False])
async def test_both_stages_leave_the_same_chunks_in_any_order(embedded_first: bool) -> None:
    world = StageHarness()
    await world.chunk.handle(records(await world.add_extracted("d", TEXT, 3)))
    handlers = [world.embed.handle, world.index.handle]
    for handle in handlers if embedded_first else reversed(handlers):
        await handle(world.publisher.records(DOCUMENTS_CHUNKED))
    rows = world.chunks.rows_by_key[document_key(INCARNATION, "d")]
    assert [row.position for row in rows] == list(range(len(rows)))
    assert all(len(row.terms) and row.vector.any() and row.seq == 3 for row in rows)
    assert world.row().status == "done"


async def test_a_new_text_is_found_by_its_words_in_place_of_the_old_one() -> None:
    world = StageHarness()
    await world.run_stages(await world.add_extracted("d", TEXT, 0))
    await world.chunk.handle(records(await world.add_extracted("d", "Short now.", 1)))
    await world.index.handle(world.publisher.records(DOCUMENTS_CHUNKED))
    assert [(row.text, row.seq) for row in world.chunks.rows] == [("Short now.", 1)]


async def test_a_deleted_document_gets_no_chunks() -> None:
    world = StageHarness()
    await world.chunk.handle(records(await world.add_extracted("d", TEXT, 0)))
    world.documents.rows_by_key.clear()
    await world.index.handle(world.publisher.records(DOCUMENTS_CHUNKED))
    assert not world.chunks.rows


async def test_a_document_deleted_while_it_is_indexed_leaves_nothing_behind() -> None:
    world = StageHarness()
    await world.chunk.handle(records(await world.add_extracted("d", TEXT, 0)))
    world.chunks.subscribe(lambda _: world.documents.rows_by_key.clear())
    await world.index.handle(world.publisher.records(DOCUMENTS_CHUNKED))
    assert not world.chunks.rows
