"""Chunk and embed stages together: canonical text becomes searchable chunks."""

from dataclasses import dataclass, field, replace

import pytest

from pipeline.parsing.text_splitter import StructuredSplitter
from pipeline.rows import DocumentRow
from pipeline.stage import Record
from pipeline.stages.chunk_stage import ChunkStage
from pipeline.stages.embed_stage import EmbedStage
from pipeline.stages.index_stage import IndexStage
from schemas.events import Content, DocumentExtracted
from schemas.ids import document_key
from schemas.topics import DOCUMENTS_CHUNKED, DOCUMENTS_EXTRACTED
from tests.support.fakes import (
    EPOCH,
    FakeBlobs,
    FakeCatalog,
    FakeChunkTable,
    FakeDocumentTable,
    HashingEmbedder,
    RecordingPublisher,
    hashed_terms,
    record,
)

pytestmark = pytest.mark.anyio
INCARNATION = "alice#0"
TEXT = "# Tides\n\nHigh water is at noon.\n\n## Moon\n\n" + "The moon pulls the sea. " * 60


@dataclass
class StageHarness:
    """The chunk, index and embed stages with everything they touch."""

    documents: FakeDocumentTable = field(default_factory=FakeDocumentTable)
    chunks: FakeChunkTable = field(default_factory=FakeChunkTable)
    blobs: FakeBlobs = field(default_factory=lambda: FakeBlobs(inline=400))
    catalog: FakeCatalog = field(default_factory=FakeCatalog)
    publisher: RecordingPublisher = field(default_factory=RecordingPublisher)
    embedder: HashingEmbedder = field(default_factory=HashingEmbedder)

    def __post_init__(self) -> None:
        self.catalog.create("alice")
        self.chunk = ChunkStage(
            documents=self.documents,
            blobs=self.blobs,
            catalog=self.catalog,
            publisher=self.publisher,
            splitter=StructuredSplitter(),
        )
        self.index = IndexStage(
            documents=self.documents,
            chunks=self.chunks,
            blobs=self.blobs,
            catalog=self.catalog,
            count_terms=hashed_terms,
            dimensions=self.embedder.dimensions,
        )
        self.embed = EmbedStage(
            documents=self.documents,
            chunks=self.chunks,
            blobs=self.blobs,
            catalog=self.catalog,
            embedder=self.embedder,
            count_terms=hashed_terms,
        )

    async def add_extracted(self, name: str, text: str, seq: int, content_seq: int | None = None) -> DocumentExtracted:
        """A document as the extract stage leaves it, and its event."""
        key = document_key(INCARNATION, name)
        current = seq if content_seq is None else content_seq
        row = DocumentRow(key, INCARNATION, name, current, current, EPOCH, EPOCH, "chunking", text=text, text_seq=seq)
        self.documents.rows_by_key[key] = [row]
        packed = await self.blobs.store_text(text)
        return DocumentExtracted(
            incarnation=INCARNATION,
            document=key,
            id=name,
            seq=seq,
            at=EPOCH,
            text=packed,
            type="markdown",
            title="Tides",
        )

    async def run_stages(self, *events: DocumentExtracted) -> None:
        await self.chunk.handle(records(*events))
        await self.embed.handle(self.publisher.records(DOCUMENTS_CHUNKED))

    def row(self, name: str = "d") -> DocumentRow:
        return self.documents.rows_by_key[document_key(INCARNATION, name)][0]


def records(*events: DocumentExtracted) -> list[Record[DocumentExtracted]]:
    return [record(DOCUMENTS_EXTRACTED, f"{INCARNATION}/{event.id}", event, at) for at, event in enumerate(events)]


async def test_a_text_becomes_searchable_chunks_and_the_document_is_done() -> None:
    world = StageHarness()
    await world.run_stages(await world.add_extracted("d", TEXT, 3))
    rows = world.chunks.rows_by_key[document_key(INCARNATION, "d")]
    assert [row.position for row in rows] == list(range(len(rows)))
    assert all(TEXT[row.start : row.end] == row.text for row in rows)
    assert rows[-1].heading == "Tides > Moon"
    assert all(row.vector.shape == (64,) and len(row.terms) and row.seq == 3 for row in rows)
    assert world.row().status == "done"
    assert world.chunks.pending == world.documents.pending == 0


async def test_a_batch_is_embedded_in_one_call_and_written_in_one_update() -> None:
    world = StageHarness()
    await world.run_stages(*[await world.add_extracted(f"d{n}", f"text {n}", n) for n in range(64)])
    assert [len(call) for call in world.embedder.calls] == [64]
    assert world.chunks.updates == 1
    assert {row.status for row in world.documents.rows} == {"done"}


async def test_a_new_text_replaces_all_chunks_of_the_old_one() -> None:
    world = StageHarness()
    await world.run_stages(await world.add_extracted("d", TEXT, 0))
    await world.run_stages(await world.add_extracted("d", "Short now.", 1))
    assert [(row.text, row.seq) for row in world.chunks.rows] == [("Short now.", 1)]


async def test_an_empty_text_has_no_chunks_and_is_done() -> None:
    world = StageHarness()
    await world.run_stages(await world.add_extracted("d", "", 0))
    assert not world.chunks.rows
    assert world.row().status == "done"


async def test_an_outdated_text_is_skipped() -> None:
    world = StageHarness()
    await world.run_stages(await world.add_extracted("d", TEXT, 0, content_seq=4))
    assert not world.publisher.topics
    assert world.row().status == "chunking"


async def test_a_text_that_became_outdated_after_chunking_is_not_embedded() -> None:
    world = StageHarness()
    await world.chunk.handle(records(await world.add_extracted("d", TEXT, 0)))
    world.documents.rows_by_key[world.row().key] = [replace(world.row(), content_seq=1, status="queued")]
    await world.embed.handle(world.publisher.records(DOCUMENTS_CHUNKED))
    assert not world.chunks.rows
    assert world.row().status == "queued"


async def test_a_deleted_document_gets_no_chunks() -> None:
    world = StageHarness()
    await world.chunk.handle(records(await world.add_extracted("d", TEXT, 0)))
    world.documents.rows_by_key.clear()
    await world.embed.handle(world.publisher.records(DOCUMENTS_CHUNKED))
    assert not world.chunks.rows


async def test_a_document_deleted_while_it_is_embedded_leaves_nothing_behind() -> None:
    world = StageHarness()
    await world.chunk.handle(records(await world.add_extracted("d", TEXT, 0)))
    world.chunks.subscribe(lambda _: world.documents.rows_by_key.clear())
    await world.embed.handle(world.publisher.records(DOCUMENTS_CHUNKED))
    assert not world.chunks.rows


async def test_what_comes_again_changes_nothing() -> None:
    world = StageHarness()
    event = await world.add_extracted("d", TEXT, 0)
    await world.run_stages(event)
    before, row = dict(world.chunks.rows_by_key), world.row()
    await world.run_stages(event)
    assert world.row() == row
    assert [c.id for c in world.chunks.rows] == [c.id for rows in before.values() for c in rows]
    assert len(world.publisher.records(DOCUMENTS_CHUNKED)) == 1


async def test_a_deleted_namespace_takes_nothing_in() -> None:
    world = StageHarness()
    event = await world.add_extracted("d", TEXT, 0)
    world.catalog.namespaces_by_name.clear()
    await world.run_stages(event)
    assert not world.publisher.topics


async def test_a_missing_text_is_read_from_its_claim_check() -> None:
    world = StageHarness()
    event = await world.add_extracted("d", TEXT, 0)
    assert event.text == Content(blob=event.text.blob)
    assert event.text.blob is not None
    await world.run_stages(event)
    assert world.chunks.rows


async def test_what_a_process_wrote_for_a_document_that_is_gone_goes_when_its_record_comes_again() -> None:
    world = StageHarness()
    await world.run_stages(await world.add_extracted("d", TEXT, 0), await world.add_extracted("kept", TEXT, 1))
    del world.documents.rows_by_key[document_key(INCARNATION, "d")]
    await world.embed.handle(world.publisher.records(DOCUMENTS_CHUNKED))
    assert world.chunks.rows_by_key.keys() == {document_key(INCARNATION, "kept")}
    world.catalog.namespaces_by_name.clear()
    await world.embed.handle(world.publisher.records(DOCUMENTS_CHUNKED))
    assert not world.chunks.rows_by_key


async def test_the_newest_documents_of_a_batch_are_embedded_first() -> None:
    world = StageHarness()
    await world.run_stages(*[await world.add_extracted(f"d{n}", f"# Note {n}\n\n{TEXT}", n) for n in range(128)])
    first, *others = world.embedder.calls
    assert others
    assert any("Note 127" in text for text in first)
    assert not any("Note 0" in text for text in first)


async def test_a_text_replaced_while_it_is_embedded_leaves_no_chunk() -> None:
    world = StageHarness()
    await world.chunk.handle(records(await world.add_extracted("d", TEXT, 0)))

    def replace_document(_: object) -> None:
        world.documents.rows_by_key[world.row().key] = [replace(world.row(), content_seq=1, status="queued")]

    world.chunks.subscribe(replace_document)
    await world.embed.handle(world.publisher.records(DOCUMENTS_CHUNKED))
    assert not world.chunks.rows
    assert world.row().status == "queued"


async def test_chunks_that_have_their_vectors_are_not_written_again() -> None:
    world = StageHarness()
    await world.run_stages(await world.add_extracted("d", TEXT, 1))
    changed: list[str] = []
    world.chunks.listeners.append(changed.extend)
    await world.embed.handle(world.publisher.records(DOCUMENTS_CHUNKED))
    assert changed == []
