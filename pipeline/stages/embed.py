"""documents.chunked → the chunks table: passages get their vectors and terms and can be found."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime

from pipeline.breath import steps
from pipeline.ports import Blobs, Catalog, Chunks, Documents, Embedder
from pipeline.rows import ChunkRow, DocumentRow, Status, Terms, Vector
from pipeline.stage import Record, Stage
from pipeline.stages.chunk import SPANS
from pipeline.stages.giving_up import give_up, take_up
from pipeline.text.surroundings import counted
from schemas.events import ChunkSpan, DocumentChunked, DocumentExtracted
from schemas.ids import chunk_id
from schemas.topics import DOCUMENTS_CHUNKED

BATCH = 128
_TURN = re.compile(r"[^\s:][^:\n]{0,39}: ")
TEXTS = 4096
"""Passages per call of the embedder: one call for any usual batch, bounded memory for a huge document."""


@dataclass(frozen=True, slots=True)
class Embed:
    """The stage's work as functions of its ports."""

    documents: Documents
    chunks: Chunks
    blobs: Blobs
    catalog: Catalog
    embedder: Embedder
    terms: Callable[[str], Terms]
    context: Callable[[str | None, ChunkSpan], str]
    generation: int = 0

    async def handle(self, records: Sequence[Record[DocumentChunked]]) -> None:
        """Embed the whole batch at once, replace each document's chunks, and call it done."""
        batch = [record for record in records if record.event.generation == self.generation]
        newest = {r.event.document: r.event for r in batch if self.catalog.owner(r.event.space) is not None}
        again = [(r.event.document, r.event.seq) for r in batch if r.redriven]
        await take_up(self.documents, again, "embedding")
        rows = await self._advance(newest, "indexing")
        await self._erase({record.event.document for record in batch} - {key for key in rows if rows[key]})
        work = {key: event for key, event in newest.items() if _is_current(rows.get(key), event)}
        if not work:
            return
        chunks = await self._chunks(work)
        await self.chunks.update(list(work), lambda key, _: chunks[key])
        await self._finish(work)
        await asyncio.gather(self.documents.durable(), self.chunks.durable())

    async def give_up(self, record: Record[DocumentChunked], reason: str) -> None:
        """The document can't be found, and says why."""
        await give_up(self.documents, record.event.document, record.event.seq, reason)

    async def _chunks(self, work: Mapping[str, DocumentChunked]) -> dict[str, list[ChunkRow]]:
        cut = [(event, SPANS.validate_json(await self.blobs.text(event.chunks))) for event in work.values()]
        return await embedded(cut, self.embedder, self.terms, self.context)

    async def _finish(self, work: Mapping[str, DocumentChunked]) -> None:
        rows = await self._advance(work, "done")
        # Deleted while they were embedded: extract may have erased before these were written.
        await self._erase({key for key in work if not rows.get(key)})

    async def _erase(self, gone: AbstractSet[str]) -> None:
        """Documents that are not there have no chunks, also where a process ended before it saw that."""
        if gone:
            await self.chunks.update(gone, lambda _, found: [] if found else None)
            await self.chunks.durable()

    async def _advance(
        self, events: Mapping[str, DocumentChunked], status: Status
    ) -> dict[str, list[DocumentRow]]:
        def change(key: str, rows: list[DocumentRow]) -> Sequence[DocumentRow] | None:
            if not _is_current(rows, events[key]) or rows[0].status in {status, "failed", "done"}:
                return None
            at = _later(rows[0].updated_at, events[key].at)
            return [replace(rows[0], status=status, updated_at=at)]

        return await self.documents.update(list(events), change)


def build(
    *,
    documents: Documents,
    chunks: Chunks,
    blobs: Blobs,
    catalog: Catalog,
    embedder: Embedder,
    terms: Callable[[str], Terms],
    context: Callable[[str | None, ChunkSpan], str] | None = None,
    generation: int = 0,
) -> Stage[DocumentChunked]:
    """The stage `embed`. `terms`: what full text counts; `context`: what is embedded.

    `generation`: of the tables; what was cut for others is theirs, and a replay embeds from the texts.
    """
    work = Embed(documents, chunks, blobs, catalog, embedder, terms, context or in_context, generation)
    return Stage(
        name="embed", source=DOCUMENTS_CHUNKED, handle=work.handle, batch=BATCH, give_up=work.give_up
    )


async def embedded(
    cut: Sequence[tuple[DocumentChunked | DocumentExtracted, Sequence[ChunkSpan]]],
    embedder: Embedder,
    terms: Callable[[str], Terms],
    context: Callable[[str | None, ChunkSpan], str],
) -> dict[str, list[ChunkRow]]:
    """The rows of texts that were cut into passages, by document."""
    places = [(event, at, span) for event, spans in cut for at, span in enumerate(spans)]
    vectors = await vectors_of([context(event.title, span) for event, _, span in places], embedder)
    characters = sum(len(span.text) for _, _, span in places)
    counted_by = await steps(characters, lambda: (_counted(spans, terms) for _, spans in cut))
    counts = [own for some in counted_by for own in some]
    rows: dict[str, list[ChunkRow]] = {event.document: [] for event, _ in cut}
    for (event, position, span), vector, own in zip(places, vectors, counts, strict=True):
        rows[event.document].append(_row(event, position, span, vector, own))
    return rows


def _counted(spans: Sequence[ChunkSpan], terms: Callable[[str], Terms]) -> list[Terms]:
    texts = [span.text for span in spans]
    return counted(texts, [terms(text) for text in texts])


async def vectors_of(texts: Sequence[str], embedder: Embedder) -> list[Vector]:
    """In calls of bounded size."""
    vectors: list[Vector] = []
    for start in range(0, len(texts), TEXTS):
        vectors += await embedder.documents(texts[start : start + TEXTS])
    return vectors


def in_context(title: str | None, span: ChunkSpan) -> str:
    """The passage under its title and heading, as far as it does not say them itself.

    Without a title a document is called by its first line. Of a transcript that is a turn, which says
    nothing about the others: with it a point less of LoCoMo's evidence is found (docs/benchmarks.md).
    """
    if title and _TURN.match(title) and _TURN.match(span.text):
        title = None
    above = [part for part in (title, span.heading) if part and part not in span.text]
    return "\n".join([*above, span.text])


def _is_current(found: Sequence[DocumentRow] | None, event: DocumentChunked) -> bool:
    return bool(found) and found is not None and found[0].current_seq <= event.seq


def _row(
    event: DocumentChunked | DocumentExtracted, position: int, span: ChunkSpan, vector: Vector, terms: Terms
) -> ChunkRow:
    return ChunkRow(
        id=chunk_id(event.document, position, span.text),
        space=event.space,
        document=event.document,
        position=position,
        text=span.text,
        start=span.start,
        end=span.end,
        seq=event.seq,
        created_at=event.at,
        vector=vector,
        terms=terms,
        heading=span.heading,
    )


def _later(one: datetime, other: datetime) -> datetime:
    return max(one, other)
