"""A small world of fakes in which documents become memories, step by step."""

from dataclasses import replace
from datetime import datetime, timedelta

from pipeline.index.namespace_index_cache import NamespaceIndexCache
from pipeline.memory.formation.fact_extractor import FactExtractor, RuleBasedExtractor
from pipeline.memory.formation.memory_extractor import MemoryExtractor
from pipeline.memory.scheduling.debounce_policy import DebouncePolicy
from pipeline.memory.scheduling.deferred_extraction_worker import DeferredExtractionWorker, job_from_row
from pipeline.memory.versioning.fact_lookup import FactLookup
from pipeline.memory.versioning.memory_repository import MemoryRepository
from pipeline.rows import DocumentRow, MemoryRow
from pipeline.stage import Record
from pipeline.stages.forget_memories_stage import ForgetMemoriesStage
from pipeline.stages.form_memories_stage import FormMemoriesStage, document_enqueuer
from pipeline.stages.project_memories_stage import ProjectMemoriesStage
from pipeline.text.analyzer import hash_terms
from schemas.base import Metadata
from schemas.events import DocumentExtracted, MemoriesForgotten, MemoriesFormed
from schemas.ids import document_key
from schemas.topics import DOCUMENTS_EXTRACTED, MEMORIES_FORGOTTEN, MEMORIES_FORMED
from tests.support.fakes import (
    EPOCH,
    UNUSED_DIR,
    FakeBlobs,
    FakeCatalog,
    FakeChunkTable,
    FakeDocumentTable,
    FakeMemoryTable,
    FixedClock,
    HashingEmbedder,
    RecordingPublisher,
    record,
)

QUIET_SECONDS = 10.0
INDEX_CACHE_BYTES = 1 << 26
MAX_WAIT_SECONDS = 120.0


class MemoryHarness:
    """A pipeline of memories for the namespace `alice`. `seq` counts submissions, one second each."""

    def __init__(self, fact_extractor: FactExtractor | None = None) -> None:
        self.catalog = FakeCatalog()
        self.catalog.create("alice")
        self.documents = FakeDocumentTable()
        self.memories = FakeMemoryTable()
        self.publisher = RecordingPublisher()
        self.blobs = FakeBlobs()
        self.clock = FixedClock()
        self.fact_extractor = fact_extractor or RuleBasedExtractor()
        self.seq = 0
        self.restart()

    def restart(self) -> None:
        """Drop all state held in process memory."""
        self.memories.listeners.clear()
        self.fact_lookup = FactLookup(self.memories)
        self.repository = MemoryRepository(self.memories, self.fact_lookup, self.catalog)
        self.memory_extractor = self.another_process(self.fact_lookup)
        self.deferred_extraction = DeferredExtractionWorker(
            memory_extractor=self.memory_extractor,
            documents=self.documents,
            catalog=self.catalog,
            clock=self.clock,
            debounce_policy=DebouncePolicy.from_seconds(QUIET_SECONDS, MAX_WAIT_SECONDS),
            enqueue=document_enqueuer(self.publisher, self.blobs),
        )
        self.form = FormMemoriesStage(
            documents=self.documents,
            memories=self.memories,
            catalog=self.catalog,
            blobs=self.blobs,
            publisher=self.publisher,
            memory_extractor=self.memory_extractor,
            deferred_extraction=self.deferred_extraction,
        )
        self.relate = ProjectMemoriesStage(
            documents=self.documents,
            memories=self.memories,
            catalog=self.catalog,
            embedder=HashingEmbedder(),
            memory_repository=self.repository,
            count_terms=hash_terms,
        )
        self.forget = ForgetMemoriesStage(catalog=self.catalog, memory_repository=self.repository)

    def another_process(self, fact_lookup: FactLookup | None = None) -> MemoryExtractor:
        """Return an extractor that knows of other facts only what has reached the table."""
        return MemoryExtractor(
            documents=self.documents,
            catalog=self.catalog,
            publisher=self.publisher,
            fact_lookup=fact_lookup or FactLookup(self.memories),
            index=NamespaceIndexCache(
                self.documents,
                FakeChunkTable(),
                self.memories,
                self.catalog,
                INDEX_CACHE_BYTES,
                folder=UNUSED_DIR,
            ),
            fact_extractor=self.fact_extractor,
        )

    def key(self, name: str, incarnation: str = "alice#0") -> str:
        return document_key(incarnation, name)

    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=self.seq)

    async def write_document(
        self,
        name: str,
        text: str,
        *,
        date: str | None = None,
        incarnation: str = "alice#0",
        group: Metadata | None = None,
        metadata: Metadata | None = None,
    ) -> DocumentRow:
        """Write a document with its text, pending extraction."""
        self.seq += 1
        before = self.documents.rows_by_key.get(self.key(name, incarnation))
        row = DocumentRow(
            key=self.key(name, incarnation),
            incarnation=incarnation,
            id=name,
            seq=self.seq,
            content_seq=self.seq,
            text_seq=self.seq,
            created_at=before[0].created_at if before else self.now(),
            updated_at=self.now(),
            status="done",
            extraction_pending=True,
            text=text,
            date=date,
            group_metadata=group,
            metadata=metadata or {},
        )
        await self.documents.update([row.key], lambda _, __: [row])
        return row

    async def extract(self, *rows: DocumentRow) -> list[Record[MemoriesFormed]]:
        """Extract these documents; return the published records, not yet projected."""
        before = len(self.publisher.topics.get(MEMORIES_FORMED.name, []))
        await self.memory_extractor.extract([job_from_row(row) for row in rows])
        return self.publisher.records(MEMORIES_FORMED, since=before)

    async def write_and_extract(
        self, name: str, text: str, *, date: str | None = None, incarnation: str = "alice#0"
    ) -> None:
        """Write a document, extract its memories and project them."""
        row = await self.write_document(name, text, date=date, incarnation=incarnation)
        await self.relate.handle(await self.extract(row))

    async def delete_document(self, name: str) -> None:
        """Delete a document with the memories that only it supported."""
        await self.documents.update([self.key(name)], lambda _, __: [])
        await self.repository.remove_documents([self.key(name)])

    async def forget_texts(self, *texts: str) -> None:
        """Forget the newest memory with each of these texts."""
        ids = tuple(self.memory(text).id for text in texts)
        self.seq += 1
        event = MemoriesForgotten(incarnation="alice#0", ids=ids, at=self.now())
        await self.forget.handle([record(MEMORIES_FORGOTTEN, "alice#0", event, self.seq)])

    def memory(self, text: str) -> MemoryRow:
        """Return the newest version with this text."""
        return max((row for row in self.memories.rows if row.text == text), key=lambda row: row.version)

    def latest_texts(self) -> set[str]:
        """Return the texts of the memories that can be recalled."""
        return {row.text for row in self.memories.rows if row.is_latest}

    def versions_by_text(self) -> dict[str, int]:
        return {row.text: row.version for row in self.memories.rows}

    def comparable_state(self) -> dict[str, object]:
        """Return all state of memories that must not depend on the number of deliveries."""
        return {
            row.id: (
                row.text,
                row.sources,
                row.version,
                row.is_latest,
                row.forgotten_at,
                row.is_static,
                {(relation.kind, relation.target) for relation in row.relations},
            )
            for row in self.memories.rows
        }

    def extracted_record(self, row: DocumentRow, **changes: object) -> Record[DocumentExtracted]:
        """Return the event that the parsing of this row would have published."""
        event = DocumentExtracted.model_validate(
            {
                "incarnation": row.incarnation,
                "document": row.key,
                "id": row.id,
                "seq": row.content_seq,
                "at": row.updated_at,
                "text": {"text": row.text},
                "type": "text",
                "date": row.date,
                **changes,
            }
        )
        return record(DOCUMENTS_EXTRACTED, f"{row.incarnation}/{row.key}", event, row.content_seq)

    async def update_row(self, row: DocumentRow, **changes: object) -> DocumentRow:
        changed = replace(row, **changes)  # type: ignore[arg-type]  # whatever a test wants to be different
        await self.documents.update([row.key], lambda _, __: [changed])
        return changed
