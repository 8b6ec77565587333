"""documents.extracted → documents.chunked: split canonical text into passages with exact offsets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import TypeAdapter

from pipeline.ports import Blobs, Catalog, DocumentTable, Publisher, TextSplitter
from pipeline.rows import DocumentRow
from pipeline.runtime.cooperative_yield import run_cooperatively
from pipeline.stage import Record, Stage
from pipeline.stages.submission_projection import mark_failed, reset_for_retry
from schemas.events import ChunkSpan, Content, DocumentChunked, DocumentExtracted
from schemas.topics import DOCUMENTS_CHUNKED, DOCUMENTS_EXTRACTED

SPANS_ADAPTER = TypeAdapter(list[ChunkSpan])
BATCH_SIZE = 128


@dataclass(frozen=True, slots=True)
class ChunkStage:
    """Splits texts. `generation`: the tables that the chunks are for."""

    documents: DocumentTable
    blobs: Blobs
    catalog: Catalog
    publisher: Publisher
    splitter: TextSplitter
    generation: int = 0

    @property
    def definition(self) -> Stage[DocumentExtracted]:
        return Stage(
            name="chunk",
            source=DOCUMENTS_EXTRACTED,
            handle=self.handle,
            batch_size=BATCH_SIZE,
            on_dead_letter=self.on_dead_letter,
        )

    async def handle(self, batch: Sequence[Record[DocumentExtracted]]) -> None:
        """Split the newest text of each document; skip outdated texts."""
        newest = {
            r.event.document: r
            for r in batch
            if r.event.error is None and self.catalog.namespace_of(r.event.incarnation) is not None
        }
        again = [(r.event.document, r.event.seq) for r in newest.values() if r.redriven]
        await reset_for_retry(self.documents, again, "chunking")
        rows = await self.documents.get(newest)
        work = [record for key, record in newest.items() if _needs_chunking(rows.get(key), record.event)]
        if not work:
            return
        texts = [await self.blobs.load_text(record.event.text) for record in work]
        spans = await split_texts(self.splitter, texts, [record.event.type for record in work])
        entries = [
            (
                record.key,
                self._to_event(record.event, await self.blobs.store_text(SPANS_ADAPTER.dump_json(found).decode())),
            )
            for record, found in zip(work, spans, strict=True)
        ]
        await self._mark_embedding({record.event.document: record.event for record in work})
        await self.publisher.publish(DOCUMENTS_CHUNKED, entries)

    async def on_dead_letter(self, record: Record[DocumentExtracted], reason: str) -> None:
        await mark_failed(self.documents, record.event.document, record.event.seq, reason)

    async def _mark_embedding(self, events: Mapping[str, DocumentExtracted]) -> None:
        def change(key: str, rows: list[DocumentRow]) -> Sequence[DocumentRow] | None:
            # Another process may have embedded it before this is written.
            if not _needs_chunking(rows, events[key]) or rows[0].status == "failed":
                return None
            return [replace(rows[0], status="embedding")]

        await self.documents.update_soon(list(events), change)

    def _to_event(self, event: DocumentExtracted, chunks: Content) -> DocumentChunked:
        return DocumentChunked(
            incarnation=event.incarnation,
            document=event.document,
            id=event.id,
            seq=event.seq,
            at=event.at,
            title=event.title,
            chunks=chunks,
            generation=self.generation,
        )


def _needs_chunking(rows: Sequence[DocumentRow] | None, event: DocumentExtracted) -> bool:
    """Return whether the text is the newest known one and not searchable yet."""
    if not rows or rows[0].searchable_seq > event.seq:
        return False
    return not (rows[0].status == "done" and rows[0].text_seq == event.seq)


async def split_texts(
    splitter: TextSplitter, texts: Sequence[str], document_types: Sequence[str]
) -> list[list[ChunkSpan]]:
    works = zip(texts, document_types, strict=True)
    return await run_cooperatively(sum(map(len, texts)), lambda: (splitter.split(text, kind) for text, kind in works))
