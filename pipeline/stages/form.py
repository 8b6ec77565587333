"""documents.extracted → memories.formed: at once for `instant`, in a quiet moment for `dynamic`."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.memory.dreamer import Dreamer
from pipeline.memory.former import Former, Work
from pipeline.ports import Blobs, Catalog, Documents, Memories, Publisher
from pipeline.stage import Record, Stage
from schemas.events import DocumentExtracted, MemoriesFormed
from schemas.topics import DOCUMENTS_EXTRACTED, MEMORIES_FORMED

BATCH = 64


@dataclass(frozen=True, slots=True)
class Form:
    """The stage's work as functions of its ports."""

    documents: Documents
    memories: Memories
    catalog: Catalog
    blobs: Blobs
    publisher: Publisher
    former: Former
    dreamer: Dreamer

    async def handle(self, batch: Sequence[Record[DocumentExtracted]]) -> None:
        """Instant documents are formed, dynamic ones noted; those without memories lose what they had."""
        newest = {record.event.document: record.event for record in batch}
        events = await self._current(list(newest.values()))
        await self._clear([event for event in events if event.task_type == "superrag"])
        wanted = [event for event in events if event.task_type != "superrag"]
        for event in wanted:
            if event.dreaming == "dynamic":
                self.dreamer.note(event.space, event.document, event.seq)
        await self.former.form([await self._work(event) for event in wanted if event.dreaming == "instant"])

    async def _current(self, events: Sequence[DocumentExtracted]) -> list[DocumentExtracted]:
        rows = await self.documents.get([event.document for event in events])
        return [
            event
            for event in events
            if self.catalog.owner(event.space) is not None
            and (found := rows.get(event.document))
            and found[0].content_seq <= event.seq
        ]

    async def _work(self, event: DocumentExtracted) -> Work:
        return Work(
            space=event.space,
            document=event.document,
            seq=event.seq,
            at=event.at,
            text=await self.blobs.text(event.text),
            date=event.date,
            group=event.group,
        )

    async def _clear(self, events: Sequence[DocumentExtracted]) -> None:
        """A document that became `superrag` had memories of its own once."""
        if not events:
            return
        rows = await self.memories.of_documents([event.document for event in events])
        remembered = {source for row in rows for source in row.sources}
        cleared = [event for event in events if event.document in remembered]
        await self.publisher.publish(
            MEMORIES_FORMED,
            [
                (
                    event.space,
                    MemoriesFormed(
                        **event.model_dump(include={"space", "document", "seq", "at"}), memories=()
                    ),
                )
                for event in cleared
            ],
        )


def build(
    *,
    documents: Documents,
    memories: Memories,
    catalog: Catalog,
    blobs: Blobs,
    publisher: Publisher,
    former: Former,
    dreamer: Dreamer,
) -> Stage[DocumentExtracted]:
    """The stage `form`. Somebody has to `await dreamer.run()` beside it."""
    work = Form(documents, memories, catalog, blobs, publisher, former, dreamer)
    return Stage(name="form", source=DOCUMENTS_EXTRACTED, handle=work.handle, batch=BATCH)
