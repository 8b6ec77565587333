"""documents.extracted → memories.formed: extract `instant` documents at once and defer `dynamic` ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline.memory.formation.document_memory_builder import ExtractionJob
from pipeline.memory.formation.memory_extractor import MemoryExtractor
from pipeline.memory.scheduling.deferred_extraction_worker import DeferredExtraction, EnqueueDocument
from pipeline.ports import Blobs, Catalog, DocumentTable, MemoryTable, Publisher
from pipeline.rows import DocumentRow
from pipeline.stage import Record, Stage
from pipeline.stages.submission_projection import mark_failed, reset_for_retry
from schemas.events import DocumentExtracted, MemoriesFormed
from schemas.topics import DOCUMENTS_EXTRACTED, MEMORIES_FORMED

BATCH_SIZE = 64


@dataclass(frozen=True, slots=True)
class FormMemoriesStage:
    """Extracts memories; `deferred_extraction.run()` has to run beside the stage."""

    documents: DocumentTable
    memories: MemoryTable
    catalog: Catalog
    blobs: Blobs
    publisher: Publisher
    memory_extractor: MemoryExtractor
    deferred_extraction: DeferredExtraction

    @property
    def definition(self) -> Stage[DocumentExtracted]:
        return Stage(
            name="form_memories",
            source=DOCUMENTS_EXTRACTED,
            handle=self.handle,
            batch_size=BATCH_SIZE,
            on_dead_letter=self.on_dead_letter,
        )

    async def handle(self, batch: Sequence[Record[DocumentExtracted]]) -> None:
        """Extract instant documents, schedule dynamic ones, publish memories that came with their text, and clear
        those of `superrag` documents.
        """
        newest = {record.event.document: record.event for record in batch if record.event.error is None}
        again = [(record.event.document, record.event.seq) for record in batch if record.redriven]
        await reset_for_retry(self.documents, again, "done", extraction_pending=True)
        rows = await self.documents.get(newest)
        current = [event for event in newest.values() if self._is_current(event, rows)]
        await self._publish_formed([event for event in current if event.memories])
        events = [event for event in current if not event.memories_included]
        await self._clear_memories(
            [
                event
                for event in events
                # What was submitted once had no memories before: that saves most lookups.
                if event.task_type == "superrag" and _was_changed(rows[event.document][0])
            ]
        )
        with_memories = [event for event in events if event.task_type != "superrag"]
        for event in with_memories:
            if event.dreaming == "dynamic":
                self.deferred_extraction.schedule(event.incarnation, event.document, event.seq)
        jobs = [await self._to_job(event) for event in with_memories if event.dreaming == "instant"]
        for failure in await self.memory_extractor.extract(jobs):
            # The row holds the reason. The stage continues, so that no other document waits.
            self.deferred_extraction.retry_later(
                failure.job.incarnation, failure.job.document, failure.job.seq, failure.retry_after_seconds
            )

    async def on_dead_letter(self, record: Record[DocumentExtracted], reason: str) -> None:
        """Mark the document as failed, without memories, with the reason."""
        await mark_failed(self.documents, record.event.document, record.event.seq, reason, extraction_pending=False)

    def _is_current(self, event: DocumentExtracted, rows: Mapping[str, Sequence[DocumentRow]]) -> bool:
        if self.catalog.namespace_of(event.incarnation) is None:
            return False
        return any(row.searchable_seq <= event.seq for row in rows.get(event.document, ()))

    async def _to_job(self, event: DocumentExtracted) -> ExtractionJob:
        return ExtractionJob(
            incarnation=event.incarnation,
            document=event.document,
            seq=event.seq,
            at=event.at,
            text=await self.blobs.load_text(event.text),
            date=event.date,
            group=event.group,
            supporting_context=event.supporting_context,
            type=event.type,
        )

    async def _clear_memories(self, events: Sequence[DocumentExtracted]) -> None:
        """Clear memories of documents that became `superrag` after having some."""
        if not events:
            return
        rows = await self.memories.find_by_documents([event.document for event in events])
        documents_with_memories = {source for row in rows for source in row.sources}
        cleared = [event for event in events if event.document in documents_with_memories]
        await self._publish_formed(cleared)

    async def _publish_formed(self, events: Sequence[DocumentExtracted]) -> None:
        formed = [
            MemoriesFormed(
                incarnation=event.incarnation,
                document=event.document,
                seq=event.seq,
                at=event.at,
                memories=event.memories if event.task_type != "superrag" else (),
            )
            for event in events
        ]
        if formed:
            await self.publisher.publish(MEMORIES_FORMED, [(event.incarnation, event) for event in formed])


def _was_changed(row: DocumentRow) -> bool:
    return row.updated_at > row.created_at


def document_enqueuer(publisher: Publisher, blobs: Blobs) -> EnqueueDocument:
    """Build the hook of deferred extraction: it publishes a document as extracted just now and `instant`."""

    async def enqueue(row: DocumentRow) -> None:
        event = DocumentExtracted(
            incarnation=row.incarnation,
            document=row.key,
            id=row.id,
            seq=row.searchable_seq,
            at=row.updated_at,
            text=await blobs.store_text(row.text or ""),
            type=row.type,
            title=row.title,
            date=row.date,
            group=row.group_metadata,
            supporting_context=row.supporting_context,
            task_type=row.task_type,
            dreaming="instant",
            is_repeated=True,
        )
        await publisher.publish(DOCUMENTS_EXTRACTED, [(f"{row.incarnation}/{row.key}", event)])

    return enqueue
