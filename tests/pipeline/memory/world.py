"""A small world of fakes in which documents become memories, step by step."""

from dataclasses import replace
from datetime import datetime, timedelta

from pipeline.index.cache import NamespaceCache
from pipeline.memory.dreamer import Dreamer, work
from pipeline.memory.extraction import ByRules, Extraction
from pipeline.memory.former import Former
from pipeline.memory.keeper import Keeper
from pipeline.memory.ledger import Ledger
from pipeline.memory.schedule import Schedule
from pipeline.rows import DocumentRow, MemoryRow
from pipeline.stage import Record
from pipeline.stages import forget, form, relate
from pipeline.text.terms import hashed
from schemas.base import Metadata
from schemas.events import DocumentExtracted, MemoriesForgotten, MemoriesFormed
from schemas.ids import document_key
from schemas.topics import DOCUMENTS_EXTRACTED, MEMORIES_FORGOTTEN, MEMORIES_FORMED
from tests.fakes import (
    EPOCH,
    HELD,
    FakeBlobs,
    FakeCatalog,
    FakeChunks,
    FakeDocuments,
    FakeMemories,
    FixedClock,
    HashingEmbedder,
    RecordingPublisher,
    record,
)

QUIET = 10.0
CACHE_BYTES = 1 << 26
LONGEST = 120.0


class World:
    """Documents of the namespace `alice`. `seq` counts submissions, one second each."""

    def __init__(self) -> None:
        self.catalog = FakeCatalog()
        self.catalog.create("alice")
        self.documents = FakeDocuments()
        self.memories = FakeMemories()
        self.publisher = RecordingPublisher()
        self.blobs = FakeBlobs()
        self.clock = FixedClock()
        self.extraction: Extraction = ByRules()
        self.seq = 0
        self.restart()

    def restart(self) -> None:
        """What a process holds in memory is gone."""
        self.memories.listeners.clear()
        self.ledger = Ledger(self.memories)
        self.keeper = Keeper(self.memories, self.ledger, self.catalog)
        self.former = Former(
            documents=self.documents,
            catalog=self.catalog,
            publisher=self.publisher,
            ledger=self.ledger,
            index=NamespaceCache(
                self.documents, FakeChunks(), self.memories, self.catalog, CACHE_BYTES, folder=HELD
            ),
            extraction=self.extraction,
        )
        self.dreamer = Dreamer(
            former=self.former,
            documents=self.documents,
            catalog=self.catalog,
            clock=self.clock,
            schedule=Schedule.of(QUIET, LONGEST),
            hand_over=form.handing_over(self.publisher, self.blobs),
        )
        self.form = form.build(
            documents=self.documents,
            memories=self.memories,
            catalog=self.catalog,
            blobs=self.blobs,
            publisher=self.publisher,
            former=self.former,
            dreamer=self.dreamer,
        )
        self.relate = relate.build(
            documents=self.documents,
            memories=self.memories,
            catalog=self.catalog,
            embedder=HashingEmbedder(),
            keeper=self.keeper,
            terms=hashed,
        )
        self.forget = forget.build(catalog=self.catalog, keeper=self.keeper)

    def key(self, name: str, space: str = "alice#0") -> str:
        return document_key(space, name)

    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=self.seq)

    async def write(
        self,
        name: str,
        text: str,
        *,
        date: str | None = None,
        space: str = "alice#0",
        group: Metadata | None = None,
        metadata: Metadata | None = None,
    ) -> DocumentRow:
        """A submission whose text is there already; its memories are still to be formed."""
        self.seq += 1
        before = self.documents.groups.get(self.key(name, space))
        row = DocumentRow(
            key=self.key(name, space),
            space=space,
            id=name,
            seq=self.seq,
            content_seq=self.seq,
            text_seq=self.seq,
            created_at=before[0].created_at if before else self.now(),
            updated_at=self.now(),
            status="done",
            dreaming=True,
            text=text,
            date=date,
            group=group,
            metadata=metadata or {},
        )
        await self.documents.update([row.key], lambda _, __: [row])
        return row

    async def formed(self, *rows: DocumentRow) -> list[Record[MemoriesFormed]]:
        """Form these documents; the records that came of it, not yet projected."""
        before = len(self.publisher.topics.get(MEMORIES_FORMED.name, []))
        await self.former.form([work(row) for row in rows])
        return self.publisher.records(MEMORIES_FORMED, since=before)

    async def say(self, name: str, text: str, *, date: str | None = None, space: str = "alice#0") -> None:
        """Write a document, form its memories and project them."""
        row = await self.write(name, text, date=date, space=space)
        await self.relate.handle(await self.formed(row))

    async def delete(self, name: str) -> None:
        """Delete a document with what only it supported."""
        await self.documents.update([self.key(name)], lambda _, __: [])
        await self.keeper.withdraw([self.key(name)])

    async def forgotten(self, *texts: str) -> None:
        """Forget the newest memory with each of these texts."""
        ids = tuple(self.memory(text).id for text in texts)
        self.seq += 1
        event = MemoriesForgotten(space="alice#0", ids=ids, at=self.now())
        await self.forget.handle([record(MEMORIES_FORGOTTEN, "alice#0", event, self.seq)])

    def memory(self, text: str) -> MemoryRow:
        """The newest version with this text."""
        return max((row for row in self.memories.rows if row.text == text), key=lambda row: row.version)

    def latest(self) -> set[str]:
        """Texts of the memories that can be recalled."""
        return {row.text for row in self.memories.rows if row.is_latest}

    def versions(self) -> dict[str, int]:
        return {row.text: row.version for row in self.memories.rows}

    def state(self) -> dict[str, object]:
        """Everything about the memories that must not depend on how often events were delivered."""
        return {
            row.id: (
                row.text,
                row.sources,
                row.version,
                row.is_latest,
                row.forgotten_at,
                row.is_static,
                {(one.kind, one.target) for one in row.relations},
            )
            for row in self.memories.rows
        }

    def extracted(self, row: DocumentRow, **changes: object) -> Record[DocumentExtracted]:
        """The event that an extraction of this row would have published."""
        event = DocumentExtracted.model_validate(
            {
                "space": row.space,
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
        return record(DOCUMENTS_EXTRACTED, f"{row.space}/{row.key}", event, row.content_seq)

    async def patch(self, row: DocumentRow, **changes: object) -> DocumentRow:
        changed = replace(row, **changes)  # type: ignore[arg-type]  # whatever a test wants to be different
        await self.documents.update([row.key], lambda _, __: [changed])
        return changed
