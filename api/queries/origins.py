"""Where a memory, a passage or a document comes from: the rows, and the events of the log behind them."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from api.ports import Chunks, Documents, Memories
from api.problems import NotFoundError
from api.queries import present
from api.queries.events import LOOKED_AT, Trail, shown, submitted
from pipeline.index.cache import NamespaceCache
from pipeline.memory.statements import statements_of
from pipeline.rows import ChunkRow, DocumentRow, MemoryRow, NamespaceRow, Statement
from pipeline.stage import Record
from schemas.base import timestamp
from schemas.events import DocumentSubmitted, Relation
from schemas.http.explain import (
    ExplainedChunk,
    ExplainedDocument,
    ExplainedMemory,
    ExplainedRelation,
    LogEvent,
    Origin,
    Span,
    StatedBy,
)
from schemas.limits import RELATED_LIMIT

GONE = "The event of {what} is not in the log any more, or further on than the {most:,} records looked at."
OLDER_TEXT = "The document has a newer text; where this one stood in it is not known any more."


@dataclass(frozen=True, slots=True)
class Origins:
    """`api.ports.Origins` over the tables and the log. `embedder`: the name of what made the vectors."""

    cache: NamespaceCache
    documents: Documents
    chunks: Chunks
    memories: Memories
    trail: Trail
    embedder: str

    async def document(self, namespace: NamespaceRow, id: str) -> ExplainedDocument:  # noqa: A002 - its own word
        """What was done to a document, and what became of it; NotFoundError."""
        row = (await self.documents.find(namespace.spaces, [id])).get(id)
        if row is None:
            raise NotFoundError(
                "Document not found", f"There is no document {id[:100]!r} in {namespace.name}."
            )
        submissions = {one.offset: one for one in await self.trail.submissions(row)}
        notes: list[str] = []
        if row.seq not in submissions:
            # It is further on than was looked: the newest is found by its place.
            newest = await self.trail.submission(row, row.seq)
            submissions |= {} if newest is None else {row.seq: newest}
            notes.append("Submissions between the first and the newest may be missing here.")
        events = [submitted(one) for one in submissions.values()]
        if row.text_seq >= 0:
            of_text = submissions.get(row.text_seq) or await self.trail.submission(row, row.text_seq)
            events += await self._extracted(row, of_text, notes)
        chunks = (await self.chunks.get([row.key])).get(row.key, [])
        counts = await self.memories.counts([row.key])
        return ExplainedDocument(
            document=_origin(row),
            status=row.status,
            characters=len(row.text or ""),
            chunks=len(chunks),
            memories=counts.get(row.key, 0),
            embedder=self.embedder,
            events=events,
            notes=notes,
            **present.failure(row),
        )

    async def chunk(self, namespace: NamespaceRow, id: str) -> ExplainedChunk:  # noqa: A002
        """The passage in its document, and the events that made it; NotFoundError."""
        chunk = await self.chunks.find(namespace.spaces, id)
        row = await self._document(chunk.document) if chunk is not None else None
        if chunk is None or row is None:
            raise NotFoundError("Chunk not found", f"There is no chunk {id[:100]!r} in {namespace.name}.")
        notes: list[str] = []
        submission = await self.trail.submission(row, chunk.seq)
        if submission is None:
            notes.append(GONE.format(what="its submission", most=LOOKED_AT))
        events = [] if submission is None else [submitted(submission)]
        events += await self._extracted(row, submission, notes)
        return ExplainedChunk(
            id=chunk.id,
            chunk=chunk.text,
            position=chunk.position,
            span=_passage(chunk, row),
            document=_origin(row),
            embedder=self.embedder,
            events=events,
            notes=notes,
            **_given(heading=chunk.heading),
        )

    async def memory(self, namespace: NamespaceRow, id: str) -> ExplainedMemory:  # noqa: A002
        """Who states a memory, since when, and how it stands to others; NotFoundError."""
        rows = (await self.memories.get([id])).get(id, [])
        if not rows or rows[0].space not in namespace.spaces:
            raise NotFoundError("Memory not found", f"There is no memory {id[:100]!r} in {namespace.name}.")
        row, notes = rows[0], list[str]()
        documents = await self.documents.get(row.sources)
        statements = []
        for one in statements_of(row):
            source = next(iter(documents.get(one.document, [])), None)
            statements.append(await self._stated(row, one, source, notes))
        return ExplainedMemory(
            id=row.id,
            memory=row.text,
            version=row.version,
            is_static=row.is_static,
            is_inference=row.is_inference,
            is_latest=row.recallable,
            is_forgotten=row.forgotten_at is not None,
            statements=statements,
            relations=await self._relations(namespace, row),
            events=await self._forgotten(row),
            embedder=self.embedder,
            notes=notes,
            **_given(
                forgotten_at=_time(row.forgotten_at),
                forget_reason=row.forget_reason,
                expires_at=_time(row.expires_at),
            ),
        )

    async def _document(self, key: str) -> DocumentRow | None:
        return next(iter((await self.documents.get([key])).get(key, [])), None)

    async def _extracted(
        self, row: DocumentRow, submission: Record[DocumentSubmitted] | None, notes: list[str]
    ) -> list[LogEvent]:
        """The event that brought the text of this submission."""
        found = None if submission is None else await self.trail.extraction(row, submission)
        if found is None:
            notes.append(GONE.format(what="the extraction of its text", most=LOOKED_AT))
            return []
        return [shown("extract", found)]

    async def _stated(
        self, row: MemoryRow, one: Statement, source: DocumentRow | None, notes: list[str]
    ) -> StatedBy:
        return StatedBy(
            since=timestamp(one.since),
            at=timestamp(one.at),
            event_dates=list(one.event_dates),
            replaced_by=list(one.replaced_by),
            events=[] if source is None else await self._said(row, one, source, notes),
            **_given(
                document=None if source is None else _origin(source),
                span=None if source is None else _sentence(one, source, notes),
                date=one.date,
                forgotten_at=_time(one.forgotten_at),
                forget_reason=one.forget_reason,
            ),
        )

    async def _said(
        self, row: MemoryRow, one: Statement, source: DocumentRow, notes: list[str]
    ) -> list[LogEvent]:
        """The submissions whose text first and last stated it, and what was formed of them."""
        events: list[LogEvent] = []
        for seq in dict.fromkeys((one.since_seq, one.seq)):
            submission = await self.trail.submission(source, seq)
            if submission is None:
                notes.append(GONE.format(what=f"submission {seq} of {source.id[:100]!r}", most=LOOKED_AT))
                continue
            events.append(submitted(submission))
            events += await self._extracted(source, submission, notes)
            formed = await self.trail.forming(source, submission)
            if formed is None:
                notes.append(GONE.format(what=f"memories of {source.id[:100]!r}", most=LOOKED_AT))
                continue
            by = next((memory.by for memory in formed.event.memories if memory.id == row.id), None)
            events.append(shown("memories", formed, by=by))
        return events

    async def _forgotten(self, row: MemoryRow) -> list[LogEvent]:
        found = [await self.trail.forgetting(row.space, row.id, one) for one in statements_of(row)]
        events = {(one.partition, one.offset): shown("forget", one) for one in found if one is not None}
        return list(events.values())

    async def _relations(self, namespace: NamespaceRow, row: MemoryRow) -> list[ExplainedRelation]:
        index = await self.cache.open(namespace)
        near = (await index.relatives([row.id], None, forgotten=True))[row.id]
        linked = {one.id for one in (*near.parents, *near.children, *near.siblings)}
        ids = linked | {one.target for one in row.relations}
        rows = {one: found[0] for one, found in (await self.memories.get(ids)).items() if found}
        others = {one: other for one, other in rows.items() if other.space in namespace.spaces}
        return [
            *(_related("to", one, one.target, others.get(one.target)) for one in row.relations),
            *_incoming(row.id, others, linked),
        ][: 2 * RELATED_LIMIT]


def _incoming(
    id_: str, others: Mapping[str, MemoryRow], linked: Collection[str]
) -> Iterable[ExplainedRelation]:
    for one in sorted(linked & others.keys()):
        for relation in others[one].relations:
            if relation.target == id_:
                yield _related("from", relation, one, others[one])


def _related(direction: str, relation: Relation, id_: str, other: MemoryRow | None) -> ExplainedRelation:
    known = {} if other is None else _standing(other)
    return ExplainedRelation(
        kind=relation.kind,
        direction=direction,
        id=id_,
        why=relation.why,
        **known,
        **_given(slot=relation.slot, evidence=relation.evidence, score=relation.score),
    )


def _standing(row: MemoryRow) -> dict[str, Any]:
    return {
        "memory": row.text,
        "version": row.version,
        "is_latest": row.recallable,
        "is_forgotten": row.forgotten_at is not None,
    }


def _origin(row: DocumentRow) -> Origin:
    return Origin(
        id=row.id,
        title=present.title(row),
        type=row.type,
        created_at=timestamp(row.created_at),
        updated_at=timestamp(row.updated_at),
        **_given(url=row.url, file=row.upload.filename if row.upload is not None else None),
    )


def _passage(chunk: ChunkRow, row: DocumentRow) -> Span:
    same = row.text is not None and row.text_seq == chunk.seq
    text = row.text[chunk.start : chunk.end] if row.text is not None and same else chunk.text
    return Span(start=chunk.start, end=chunk.end, text=text)


def _sentence(one: Statement, source: DocumentRow, notes: list[str]) -> Span | None:
    if one.start is None or one.end is None or source.text is None:
        return None
    if source.text_seq != one.seq:
        notes.append(OLDER_TEXT)
        return None
    return Span(start=one.start, end=one.end, text=source.text[one.start : one.end])


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else timestamp(moment)


def _given(**values: Any) -> dict[str, Any]:
    """Only what is there: an optional key is absent, not null."""
    return {name: value for name, value in values.items() if value is not None}
