"""The chunk stage on its own: what it publishes, and what it leaves alone."""

from collections.abc import Callable, Collection, Sequence

import pytest

from pipeline.rows import DocumentRow
from pipeline.runtime.cooperative_yield import MAX_INLINE_CHARS
from pipeline.stages.chunk_stage import SPANS_ADAPTER
from schemas.topics import DOCUMENTS_CHUNKED
from tests.pipeline.stages.test_embed_stage import StageHarness, records
from tests.support.fakes import FakeDocumentTable

pytestmark = pytest.mark.anyio


class DeferringDocumentTable(FakeDocumentTable):
    """Keeps changes that nobody waits for until `write_deferred`, as a table shared by processes does for seconds."""

    async def update_soon(
        self, entity_keys: Collection[str], change: Callable[[str, list[DocumentRow]], Sequence[DocumentRow] | None]
    ) -> None:
        self._deferred = (entity_keys, change)

    async def write_deferred(self) -> None:
        await self.update(*self._deferred)


async def test_the_passages_travel_as_json_with_their_offsets() -> None:
    world = StageHarness()
    event = await world.add_extracted("d", "# Tides\n\nHigh water.", 7)
    await world.chunk.handle(records(event))
    (chunked,) = world.publisher.events(DOCUMENTS_CHUNKED)
    (span,) = SPANS_ADAPTER.validate_json(await world.blobs.load_text(chunked.chunks))
    assert (span.start, span.end, span.heading) == (0, 20, "Tides")
    assert (chunked.seq, chunked.title) == (7, "Tides")
    assert world.row().status == "embedding"


async def test_only_the_newest_text_of_a_document_in_a_batch_is_split() -> None:
    world = StageHarness()
    old = await world.add_extracted("d", "Old.", 0)
    new = await world.add_extracted("d", "New.", 1)
    await world.chunk.handle(records(old, new))
    assert [event.seq for event in world.publisher.events(DOCUMENTS_CHUNKED)] == [1]


async def test_a_long_batch_is_split_beside_the_loop() -> None:
    world = StageHarness()
    event = await world.add_extracted("d", "A sentence of some words. " * (MAX_INLINE_CHARS // 4), 0)
    await world.chunk.handle(records(event))
    (chunked,) = world.publisher.events(DOCUMENTS_CHUNKED)
    assert chunked.chunks.blob is not None
    assert len(SPANS_ADAPTER.validate_json(await world.blobs.load_text(chunked.chunks))) > 100


async def test_a_status_written_after_another_process_embedded_the_text_leaves_the_document_done() -> None:
    documents = DeferringDocumentTable()
    world = StageHarness(documents)
    event = await world.add_extracted("d", "High water.", 7)
    await world.chunk.handle(records(event))
    other = StageHarness(chunks=world.chunks, blobs=world.blobs)
    other.documents.rows_by_key = documents.rows_by_key
    await other.embed.handle(world.publisher.records(DOCUMENTS_CHUNKED))
    assert world.row().status == "done"
    await documents.write_deferred()
    assert world.row().status == "done"
