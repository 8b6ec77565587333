"""Provenance of a memory, chunk or document: its rows and the log events behind them."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from api.errors.http_errors import NotFoundError
from api.explain.event_locator import MAX_SCANNED_RECORDS, EventLocator, submission_log_event, to_log_event
from api.presenters import resource_presenter
from pipeline.index.namespace_index_cache import NamespaceIndexCache
from pipeline.memory.versioning.provenance import provenance_of
from pipeline.rows import ChunkRow, DocumentRow, MemoryRow, NamespaceRow, ProvenanceEntry
from pipeline.stage import Record
from pipeline.store import ShardedChunkTable, ShardedDocumentTable, ShardedMemoryTable
from schemas.base import format_timestamp, without_none
from schemas.events import DocumentSubmitted, Relation
from schemas.http.extensions import explain_bodies as bodies
from schemas.limits import MAX_RELATED_MEMORIES

OLDER_TEXT_NOTE = "The document has a newer text; where this one stood in it is not known any more."


@dataclass(frozen=True, slots=True)
class OriginTracer:
    """Traces rows back to the log; NotFoundError for a row that the namespace lacks. `embedder`: its name."""

    cache: NamespaceIndexCache
    documents: ShardedDocumentTable
    chunks: ShardedChunkTable
    memories: ShardedMemoryTable
    event_locator: EventLocator
    embedder_name: str

    async def document(self, namespace: NamespaceRow, id: str) -> bodies.ExplainedDocument:  # noqa: A002 - its own word
        """The submissions of a document and their results. Raises NotFoundError."""
        row = (await self.documents.find_by_public_id(namespace.incarnations, [id])).get(id)
        if row is None:
            raise NotFoundError("Document not found", f"There is no document {id[:100]!r} in {namespace.name}.")
        submissions = {submission.offset: submission for submission in await self.event_locator.submissions(row)}
        notes: list[str] = []
        if row.seq not in submissions:
            # It is further on than was looked: the newest is found by its place.
            newest = await self.event_locator.submission(row, row.seq)
            submissions |= {} if newest is None else {row.seq: newest}
            notes.append("Submissions between the first and the newest may be missing here.")
        events = [submission_log_event(submission) for submission in submissions.values()]
        if row.text_seq >= 0:
            of_text = submissions.get(row.text_seq) or await self.event_locator.submission(row, row.text_seq)
            events += await self._extraction_events(row, of_text, notes)
        chunks = (await self.chunks.get([row.key])).get(row.key, [])
        counts = await self.memories.count_by_document([row.key])
        return bodies.ExplainedDocument(
            document=_to_origin(row),
            status=row.status,
            characters=len(row.text or ""),
            chunks=len(chunks),
            memories=counts.get(row.key, 0),
            embedder=self.embedder_name,
            events=events,
            notes=notes,
            **resource_presenter.failure_fields(row),
        )

    async def chunk(self, namespace: NamespaceRow, id: str) -> bodies.ExplainedChunk:  # noqa: A002
        """The passage in its document, and the events that made it; NotFoundError."""
        chunk = await self.chunks.find(namespace.incarnations, id)
        row = await self._find_document(chunk.document) if chunk is not None else None
        if chunk is None or row is None:
            raise NotFoundError("Chunk not found", f"There is no chunk {id[:100]!r} in {namespace.name}.")
        notes: list[str] = []
        submission = await self.event_locator.submission(row, chunk.seq)
        if submission is None:
            notes.append(_not_found("its submission"))
        events = [] if submission is None else [submission_log_event(submission)]
        events += await self._extraction_events(row, submission, notes)
        return bodies.ExplainedChunk.of(
            chunk,
            chunk=chunk.text,
            span=_chunk_span(chunk, row),
            document=_to_origin(row),
            embedder=self.embedder_name,
            events=events,
            notes=notes,
        )

    async def memory(self, namespace: NamespaceRow, id: str) -> bodies.ExplainedMemory:  # noqa: A002
        """The statements behind a memory and its relations. Raises NotFoundError."""
        rows = (await self.memories.get([id])).get(id, [])
        if not rows or rows[0].incarnation not in namespace.incarnations:
            raise NotFoundError("Memory not found", f"There is no memory {id[:100]!r} in {namespace.name}.")
        row, notes = rows[0], list[str]()
        documents = await self.documents.get(row.sources)
        statements = []
        for provenance in provenance_of(row):
            source = next(iter(documents.get(provenance.document, [])), None)
            statements.append(await self._to_stated_by(row, provenance, source, notes))
        return bodies.ExplainedMemory.of(
            row,
            **_version_state_fields(row),
            statements=statements,
            relations=await self._explained_relations(namespace, row),
            events=await self._forgetting_events(row),
            embedder=self.embedder_name,
            notes=notes,
        )

    async def _find_document(self, key: str) -> DocumentRow | None:
        return next(iter((await self.documents.get([key])).get(key, [])), None)

    async def _extraction_events(
        self, row: DocumentRow, submission: Record[DocumentSubmitted] | None, notes: list[str]
    ) -> list[bodies.LogRecordResponse]:
        found = None if submission is None else await self.event_locator.extraction(row, submission)
        if found is None:
            notes.append(_not_found("the extraction of its text"))
            return []
        return [to_log_event("extract", found)]

    async def _to_stated_by(
        self, row: MemoryRow, statement: ProvenanceEntry, source: DocumentRow | None, notes: list[str]
    ) -> bodies.SupportingStatement:
        return bodies.SupportingStatement(
            since=format_timestamp(statement.first_stated_at),
            at=format_timestamp(statement.effective_at),
            event_dates=list(statement.event_dates),
            replaced_by=list(statement.superseded_by),
            events=[] if source is None else await self._statement_events(row, statement, source, notes),
            **without_none(
                document=None if source is None else _to_origin(source),
                span=None if source is None else _statement_span(statement, source, notes),
                date=statement.date,
                said_by=statement.said_by,
                forgotten_at=statement.forgotten_at,
                forget_reason=statement.forget_reason,
            ),
        )

    async def _statement_events(
        self, row: MemoryRow, statement: ProvenanceEntry, source: DocumentRow, notes: list[str]
    ) -> list[bodies.LogRecordResponse]:
        """The submissions whose text first and last stated it, and what was formed of them."""
        events: list[bodies.LogRecordResponse] = []
        for seq in dict.fromkeys((statement.first_stated_seq, statement.seq)):
            submission = await self.event_locator.submission(source, seq)
            if submission is None:
                notes.append(_not_found(f"submission {seq} of {source.id[:100]!r}"))
                continue
            events.append(submission_log_event(submission))
            events += await self._extraction_events(source, submission, notes)
            formed = await self.event_locator.memory_formation(source, submission)
            if formed is None:
                notes.append(_not_found(f"memories of {source.id[:100]!r}"))
                continue
            by = next((memory.extracted_by for memory in formed.event.memories if memory.id == row.id), None)
            events.append(to_log_event("memories", formed, extracted_by=by))
        return events

    async def _forgetting_events(self, row: MemoryRow) -> list[bodies.LogRecordResponse]:
        found = [
            await self.event_locator.memory_forgetting(row.incarnation, row.id, provenance)
            for provenance in provenance_of(row)
        ]
        events = {
            (record.partition, record.offset): to_log_event("forget", record) for record in found if record is not None
        }
        return list(events.values())

    async def _explained_relations(self, namespace: NamespaceRow, row: MemoryRow) -> list[bodies.ExplainedRelation]:
        index = await self.cache.open(namespace)
        near = (await index.related_memories([row.id], None, include_forgotten=True))[row.id]
        linked = {related.id for related in (*near.parents, *near.children, *near.siblings)}
        ids = linked | {relation.target for relation in row.relations}
        rows = {id_: found[0] for id_, found in (await self.memories.get(ids)).items() if found}
        others = {id_: other for id_, other in rows.items() if other.incarnation in namespace.incarnations}
        return [
            *(
                _to_explained_relation("to", relation, relation.target, others.get(relation.target))
                for relation in row.relations
            ),
            *_incoming_relations(row.id, others, linked),
        ][: 2 * MAX_RELATED_MEMORIES]


def _incoming_relations(
    memory_id: str, memories: Mapping[str, MemoryRow], linked: Collection[str]
) -> Iterable[bodies.ExplainedRelation]:
    for id_ in sorted(linked & memories.keys()):
        for relation in memories[id_].relations:
            if relation.target == memory_id:
                yield _to_explained_relation("from", relation, id_, memories[id_])


def _to_explained_relation(
    direction: str, relation: Relation, memory_id: str, other: MemoryRow | None
) -> bodies.ExplainedRelation:
    known = {} if other is None else _version_state_fields(other)
    return bodies.ExplainedRelation.of(relation, direction=direction, id=memory_id, **known)


def _version_state_fields(row: MemoryRow) -> dict[str, Any]:
    return {
        "memory": row.text,
        "version": row.version,
        "is_latest": row.is_active,
        "is_forgotten": row.forgotten_at is not None,
    }


def _to_origin(row: DocumentRow) -> bodies.SourceDocument:
    file = without_none(file=row.upload.filename if row.upload is not None else None)
    return bodies.SourceDocument.of(row, title=resource_presenter.display_title(row), **file)


def _chunk_span(chunk: ChunkRow, row: DocumentRow) -> bodies.TextSpan:
    same = row.text is not None and row.text_seq == chunk.seq
    text = row.text[chunk.start : chunk.end] if row.text is not None and same else chunk.text
    return bodies.TextSpan(start=chunk.start, end=chunk.end, text=text)


def _statement_span(statement: ProvenanceEntry, source: DocumentRow, notes: list[str]) -> bodies.TextSpan | None:
    if statement.start is None or statement.end is None or source.text is None:
        return None
    if source.text_seq != statement.seq:
        notes.append(OLDER_TEXT_NOTE)
        return None
    return bodies.TextSpan(start=statement.start, end=statement.end, text=source.text[statement.start : statement.end])


def _not_found(event: str) -> str:
    """Say that an event was not found, and why that may be."""
    return (
        f"The event of {event} is not in the log any more, or further on than the {MAX_SCANNED_RECORDS:,} records"
        " looked at."
    )
