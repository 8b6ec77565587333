"""documents.extracted → documents.chunked: canonical text becomes passages with exact offsets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import TypeAdapter

from pipeline.breath import steps
from pipeline.ports import Blobs, Catalog, Documents, Publisher, Splitter
from pipeline.rows import DocumentRow
from pipeline.stage import Record, Stage
from pipeline.stages.giving_up import give_up, take_up
from schemas.events import ChunkSpan, Content, DocumentChunked, DocumentExtracted
from schemas.topics import DOCUMENTS_CHUNKED, DOCUMENTS_EXTRACTED

SPANS = TypeAdapter(list[ChunkSpan])
BATCH = 128


@dataclass(frozen=True, slots=True)
class Chunk:
    """The stage's work as functions of its ports."""

    documents: Documents
    blobs: Blobs
    catalog: Catalog
    publisher: Publisher
    splitter: Splitter
    generation: int = 0

    async def handle(self, batch: Sequence[Record[DocumentExtracted]]) -> None:
        """Split the newest text of each document; texts that are already outdated are skipped."""
        newest = {
            r.event.document: r
            for r in batch
            if r.event.error is None and self.catalog.owner(r.event.space) is not None
        }
        again = [(r.event.document, r.event.seq) for r in newest.values() if r.redriven]
        await take_up(self.documents, again, "chunking")
        rows = await self.documents.get(newest)
        work = [record for key, record in newest.items() if _is_current(rows.get(key), record.event)]
        if not work:
            return
        texts = [await self.blobs.text(record.event.text) for record in work]
        spans = await split(self.splitter, texts, [record.event.type for record in work])
        entries = [
            (record.key, self._event(record.event, await self.blobs.pack(SPANS.dump_json(found).decode())))
            for record, found in zip(work, spans, strict=True)
        ]
        await self._advance({record.event.document: record.event for record in work})
        await self.publisher.publish(DOCUMENTS_CHUNKED, entries)

    async def give_up(self, record: Record[DocumentExtracted], reason: str) -> None:
        """The document can't be found, and says why."""
        await give_up(self.documents, record.event.document, record.event.seq, reason)

    async def _advance(self, events: Mapping[str, DocumentExtracted]) -> None:
        def change(key: str, rows: list[DocumentRow]) -> Sequence[DocumentRow] | None:
            if not rows or rows[0].content_seq > events[key].seq or rows[0].status == "failed":
                return None
            return [replace(rows[0], status="embedding")]

        await self.documents.update(list(events), change)

    def _event(self, event: DocumentExtracted, chunks: Content) -> DocumentChunked:
        return DocumentChunked(
            space=event.space,
            document=event.document,
            id=event.id,
            seq=event.seq,
            at=event.at,
            title=event.title,
            chunks=chunks,
            generation=self.generation,
        )


def build(
    *,
    documents: Documents,
    blobs: Blobs,
    catalog: Catalog,
    publisher: Publisher,
    splitter: Splitter,
    generation: int = 0,
) -> Stage[DocumentExtracted]:
    """The stage `chunk`. `generation`: of the tables that the chunks are for."""
    work = Chunk(documents, blobs, catalog, publisher, splitter, generation)
    return Stage(
        name="chunk", source=DOCUMENTS_EXTRACTED, handle=work.handle, batch=BATCH, give_up=work.give_up
    )


def _is_current(found: Sequence[DocumentRow] | None, event: DocumentExtracted) -> bool:
    """Whether the text is the newest known one, and not searchable yet."""
    if not found or found[0].current_seq > event.seq:
        return False
    return not (found[0].status == "done" and found[0].text_seq == event.seq)


async def split(splitter: Splitter, texts: Sequence[str], kinds: Sequence[str]) -> list[list[ChunkSpan]]:
    """The passages of each text; `kinds` are the types of the documents."""
    works = zip(texts, kinds, strict=True)
    return await steps(sum(map(len, texts)), lambda: (splitter.split(text, kind) for text, kind in works))
