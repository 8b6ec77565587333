"""documents.extracted → memories.formed: at once for `instant`, in a quiet moment for `dynamic`."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.memory.dreamer import Dreaming, HandOver
from pipeline.memory.former import Former
from pipeline.memory.writing import Work
from pipeline.ports import Blobs, Catalog, Documents, Memories, Publisher
from pipeline.rows import DocumentRow
from pipeline.stage import Record, Stage
from pipeline.stages.giving_up import give_up, take_up
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
    dreamer: Dreaming

    async def handle(self, batch: Sequence[Record[DocumentExtracted]]) -> None:
        """Instant documents are formed, dynamic ones noted; those without memories lose what they had."""
        newest = {record.event.document: record.event for record in batch if record.event.error is None}
        again = [(record.event.document, record.event.seq) for record in batch if record.redriven]
        await take_up(self.documents, again, "done", dreaming=True)
        events = await self._current(list(newest.values()))
        await self._clear([event for event in events if event.task_type == "superrag"])
        wanted = [event for event in events if event.task_type != "superrag"]
        for event in wanted:
            if event.dreaming == "dynamic":
                self.dreamer.note(event.space, event.document, event.seq)
        works = [await self._work(event) for event in wanted if event.dreaming == "instant"]
        for one in await self.former.form(works):
            # Its row says why. The stage goes on: nothing else has to wait for it.
            self.dreamer.delay(one.work.space, one.work.document, one.work.seq, one.seconds)

    async def give_up(self, record: Record[DocumentExtracted], reason: str) -> None:
        """The document has no memories, and says why."""
        await give_up(self.documents, record.event.document, record.event.seq, reason, dreaming=False)

    async def _current(self, events: Sequence[DocumentExtracted]) -> list[DocumentExtracted]:
        rows = await self.documents.get([event.document for event in events])
        return [
            event
            for event in events
            if self.catalog.owner(event.space) is not None
            and not event.formed
            and (found := rows.get(event.document))
            and found[0].current_seq <= event.seq
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
            supporting_context=event.supporting_context,
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


def handing_over(publisher: Publisher, blobs: Blobs) -> HandOver:
    """For the dreamer: a document as if it had just been extracted, to be formed at once."""

    async def hand_over(row: DocumentRow) -> None:
        event = DocumentExtracted(
            space=row.space,
            document=row.key,
            id=row.id,
            seq=row.current_seq,
            at=row.updated_at,
            text=await blobs.pack(row.text or ""),
            type=row.type,
            title=row.title,
            date=row.date,
            group=row.group,
            supporting_context=row.supporting_context,
            task_type=row.task_type,
            dreaming="instant",
        )
        await publisher.publish(DOCUMENTS_EXTRACTED, [(f"{row.space}/{row.key}", event)])

    return hand_over


def build(
    *,
    documents: Documents,
    memories: Memories,
    catalog: Catalog,
    blobs: Blobs,
    publisher: Publisher,
    former: Former,
    dreamer: Dreaming,
) -> Stage[DocumentExtracted]:
    """The stage `form`. Somebody has to `await dreamer.run()` beside it."""
    work = Form(documents, memories, catalog, blobs, publisher, former, dreamer)
    return Stage(
        name="form", source=DOCUMENTS_EXTRACTED, handle=work.handle, batch=BATCH, give_up=work.give_up
    )
