"""From canonical text to searchable chunks: the chunk and embed stages together."""

from dataclasses import dataclass, field, replace

import pytest

from pipeline.extraction.split import StructuredSplitter
from pipeline.rows import DocumentRow
from pipeline.stage import Record
from pipeline.stages import chunk, embed
from pipeline.stages.embed import in_context
from schemas.events import ChunkSpan, Content, DocumentExtracted
from schemas.ids import document_key
from schemas.topics import DOCUMENTS_CHUNKED, DOCUMENTS_EXTRACTED
from tests.fakes import (
    EPOCH,
    FakeBlobs,
    FakeCatalog,
    FakeChunks,
    FakeDocuments,
    HashingEmbedder,
    RecordingPublisher,
    hashed_terms,
    record,
)

pytestmark = pytest.mark.anyio
SPACE = "alice#0"
TEXT = "# Tides\n\nHigh water is at noon.\n\n## Moon\n\n" + "The moon pulls the sea. " * 60


@dataclass
class World:
    """Both stages with everything they touch."""

    documents: FakeDocuments = field(default_factory=FakeDocuments)
    chunks: FakeChunks = field(default_factory=FakeChunks)
    blobs: FakeBlobs = field(default_factory=lambda: FakeBlobs(inline=400))
    catalog: FakeCatalog = field(default_factory=FakeCatalog)
    publisher: RecordingPublisher = field(default_factory=RecordingPublisher)
    embedder: HashingEmbedder = field(default_factory=HashingEmbedder)

    def __post_init__(self) -> None:
        self.catalog.create("alice")
        self.chunk = chunk.build(
            documents=self.documents,
            blobs=self.blobs,
            catalog=self.catalog,
            publisher=self.publisher,
            splitter=StructuredSplitter(),
        )
        self.embed = embed.build(
            documents=self.documents,
            chunks=self.chunks,
            blobs=self.blobs,
            catalog=self.catalog,
            embedder=self.embedder,
            terms=hashed_terms,
        )

    async def extracted(
        self, name: str, text: str, seq: int, content_seq: int | None = None
    ) -> DocumentExtracted:
        """A document as the extract stage leaves it, and its event."""
        key = document_key(SPACE, name)
        current = seq if content_seq is None else content_seq
        row = DocumentRow(
            key, SPACE, name, current, current, EPOCH, EPOCH, "chunking", text=text, text_seq=seq
        )
        self.documents.groups[key] = [row]
        packed = await self.blobs.pack(text)
        return DocumentExtracted(
            space=SPACE, document=key, id=name, seq=seq, at=EPOCH, text=packed, type="markdown", title="Tides"
        )

    async def run(self, *events: DocumentExtracted) -> None:
        await self.chunk.handle(records(*events))
        await self.embed.handle(self.publisher.records(DOCUMENTS_CHUNKED))

    def row(self, name: str = "d") -> DocumentRow:
        return self.documents.groups[document_key(SPACE, name)][0]


def records(*events: DocumentExtracted) -> list[Record[DocumentExtracted]]:
    return [record(DOCUMENTS_EXTRACTED, f"{SPACE}/{event.id}", event, at) for at, event in enumerate(events)]


async def test_a_text_becomes_searchable_chunks_and_the_document_is_done() -> None:
    world = World()
    await world.run(await world.extracted("d", TEXT, 3))
    rows = world.chunks.groups[document_key(SPACE, "d")]
    assert [row.position for row in rows] == list(range(len(rows)))
    assert all(TEXT[row.start : row.end] == row.text for row in rows)
    assert rows[-1].heading == "Tides > Moon"
    assert all(row.vector.shape == (64,) and len(row.terms) and row.seq == 3 for row in rows)
    assert world.row().status == "done"
    assert world.chunks.pending == world.documents.pending == 0


async def test_a_batch_is_embedded_in_one_call_and_written_in_one_update() -> None:
    world = World()
    await world.run(*[await world.extracted(f"d{n}", f"text {n}", n) for n in range(64)])
    assert [len(call) for call in world.embedder.calls] == [64]
    assert world.chunks.updates == 1
    assert {row.status for row in world.documents.rows} == {"done"}


async def test_a_new_text_replaces_all_chunks_of_the_old_one() -> None:
    world = World()
    await world.run(await world.extracted("d", TEXT, 0))
    await world.run(await world.extracted("d", "Short now.", 1))
    assert [(row.text, row.seq) for row in world.chunks.rows] == [("Short now.", 1)]


async def test_an_empty_text_has_no_chunks_and_is_done() -> None:
    world = World()
    await world.run(await world.extracted("d", "", 0))
    assert not world.chunks.rows
    assert world.row().status == "done"


async def test_an_outdated_text_is_skipped() -> None:
    world = World()
    await world.run(await world.extracted("d", TEXT, 0, content_seq=4))
    assert not world.publisher.topics
    assert world.row().status == "chunking"


async def test_a_text_that_became_outdated_after_chunking_is_not_embedded() -> None:
    world = World()
    await world.chunk.handle(records(await world.extracted("d", TEXT, 0)))
    world.documents.groups[world.row().key] = [replace(world.row(), content_seq=1, status="queued")]
    await world.embed.handle(world.publisher.records(DOCUMENTS_CHUNKED))
    assert not world.chunks.rows
    assert world.row().status == "queued"


async def test_a_deleted_document_gets_no_chunks() -> None:
    world = World()
    await world.chunk.handle(records(await world.extracted("d", TEXT, 0)))
    world.documents.groups.clear()
    await world.embed.handle(world.publisher.records(DOCUMENTS_CHUNKED))
    assert not world.chunks.rows


async def test_a_document_deleted_while_it_is_embedded_leaves_nothing_behind() -> None:
    world = World()
    await world.chunk.handle(records(await world.extracted("d", TEXT, 0)))
    world.chunks.subscribe(lambda _: world.documents.groups.clear())
    await world.embed.handle(world.publisher.records(DOCUMENTS_CHUNKED))
    assert not world.chunks.rows


async def test_what_comes_again_changes_nothing() -> None:
    world = World()
    event = await world.extracted("d", TEXT, 0)
    await world.run(event)
    before, row = dict(world.chunks.groups), world.row()
    await world.run(event)
    assert world.row() == row
    assert [c.id for c in world.chunks.rows] == [c.id for rows in before.values() for c in rows]
    assert len(world.publisher.records(DOCUMENTS_CHUNKED)) == 1


async def test_a_deleted_namespace_takes_nothing_in() -> None:
    world = World()
    event = await world.extracted("d", TEXT, 0)
    world.catalog.names.clear()
    await world.run(event)
    assert not world.publisher.topics


def test_title_and_heading_are_embedded_where_the_passage_does_not_say_them() -> None:
    span = ChunkSpan(start=0, end=4, text="noon Tides", heading="Moon")
    assert in_context("Tides", span) == "Moon\nnoon Tides"
    assert in_context(None, span) == "Moon\nnoon Tides"


def test_the_first_turn_of_a_transcript_is_no_title_of_the_others() -> None:
    turn = ChunkSpan(start=40, end=80, text="Mel: I painted the lake at sunrise.")
    assert in_context("Caro: Hey Mel! How have you been?", turn) == turn.text
    assert in_context("Talks of Caro and Mel", turn) == f"Talks of Caro and Mel\n{turn.text}"
    prose = ChunkSpan(start=0, end=9, text="We measure recall.")
    assert in_context("Recall: a study", prose) == f"Recall: a study\n{prose.text}"


async def test_a_missing_text_is_read_from_its_claim_check() -> None:
    world = World()
    event = await world.extracted("d", TEXT, 0)
    assert event.text == Content(blob=event.text.blob)
    assert event.text.blob is not None
    await world.run(event)
    assert world.chunks.rows


async def test_what_a_process_wrote_for_a_document_that_is_gone_goes_when_its_record_comes_again() -> None:
    world = World()
    await world.run(await world.extracted("d", TEXT, 0), await world.extracted("kept", TEXT, 1))
    del world.documents.groups[document_key(SPACE, "d")]
    await world.embed.handle(world.publisher.records(DOCUMENTS_CHUNKED))
    assert world.chunks.groups.keys() == {document_key(SPACE, "kept")}
    world.catalog.names.clear()
    await world.embed.handle(world.publisher.records(DOCUMENTS_CHUNKED))
    assert not world.chunks.groups
