"""Rows of the chunks table: passages with their vectors and term counts."""

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from itertools import islice
from types import MappingProxyType

import numpy as np

from pipeline.ports import Blobs, Catalog, ChunkTable, Embedder
from pipeline.rows import ChunkRow, DocumentRow, Terms, Vector
from pipeline.runtime.cooperative_yield import run_cooperatively
from pipeline.stage import Record
from pipeline.stages.chunk_stage import SPANS_ADAPTER
from pipeline.text.context_terms import context_expanded_terms
from schemas.events import ChunkSpan, DocumentChunked, DocumentExtracted
from schemas.ids import chunk_id

_SPEAKER_TURN = re.compile(r"[^\s:][^:\n]{0,39}: ")
MAX_TEXTS_PER_CALL = 4096
"""Passages per call of the embedder: one call for any usual batch, bounded memory for a huge document."""

SplitDocument = tuple[DocumentChunked | DocumentExtracted, Sequence[ChunkSpan]]
"""A document's event, and the passages of its text."""
ChunkedDocument = tuple[DocumentChunked, Sequence[ChunkSpan]]


async def load_passages(events: Sequence[DocumentChunked], blobs: Blobs) -> list[ChunkedDocument]:
    return [(event, SPANS_ADAPTER.validate_json(await blobs.load_text(event.chunks))) for event in events]


def is_current(rows: Sequence[DocumentRow] | None, event: DocumentChunked) -> bool:
    """Return whether the document exists and has no newer content than the event's."""
    return bool(rows) and rows is not None and rows[0].searchable_seq <= event.seq


def newest_by_document(batch: Sequence[Record[DocumentChunked]], catalog: Catalog) -> dict[str, DocumentChunked]:
    """The newest event of each document whose namespace exists."""
    return {r.event.document: r.event for r in batch if catalog.namespace_of(r.event.incarnation) is not None}


async def delete_chunks(chunks: ChunkTable, documents: AbstractSet[str]) -> None:
    """Delete chunks of missing documents, including those that a crashed run left behind."""
    if documents:
        await chunks.update(documents, lambda _, found: [] if found else None)
        await chunks.wait_until_durable()


def with_title_and_heading(title: str | None, span: ChunkSpan) -> str:
    """Prefix the passage with its title and heading, unless it contains them.

    A transcript's default title is its first turn, which describes no other turn: prefixing it costs one point
    of LoCoMo's evidence recall (decision record 0014).
    """
    if title and _SPEAKER_TURN.match(title) and _SPEAKER_TURN.match(span.text):
        title = None
    prefix = [part for part in (title, span.heading) if part and part not in span.text]
    return "\n".join([*prefix, span.text])


async def build_chunk_rows(
    split_documents: Sequence[SplitDocument],
    embedder: Embedder,
    count_terms: Callable[[str], Terms],
    *,
    indexed: Mapping[str, Sequence[ChunkRow]] = MappingProxyType({}),
) -> dict[str, list[ChunkRow]]:
    """Embed passages and build their rows, by document; the terms of `indexed` rows are not counted again."""
    texts = [with_title_and_heading(event.title, span) for event, spans in split_documents for span in spans]
    vectors = iter(await embed_in_batches(texts, embedder))
    rows: dict[str, list[ChunkRow]] = {}
    uncounted: list[SplitDocument] = []
    uncounted_vectors: list[Vector] = []
    for event, spans in split_documents:
        own = list(islice(vectors, len(spans)))
        stored = indexed.get(event.document, ())
        if row_origins(stored) == [
            (event.seq, event.at, chunk_id(event.document, at, span.text)) for at, span in enumerate(spans)
        ]:
            rows[event.document] = [replace(row, vector=vector) for row, vector in zip(stored, own, strict=True)]
        else:
            uncounted.append((event, spans))
            uncounted_vectors += own
    return rows | await assemble_chunk_rows(uncounted, uncounted_vectors, count_terms)


def row_origins(rows: Sequence[ChunkRow]) -> list[tuple[int, datetime, str]]:
    """Return what tells which event wrote the rows: a text that is published again has its offset, but another time."""
    return [(row.seq, row.created_at, row.id) for row in rows]


async def assemble_chunk_rows(
    split_documents: Sequence[SplitDocument], vectors: Sequence[Vector], count_terms: Callable[[str], Terms]
) -> dict[str, list[ChunkRow]]:
    """Count the terms of passages and build their rows, by document; a vector for each passage, in order."""
    places = [(event, at, span) for event, spans in split_documents for at, span in enumerate(spans)]
    characters = sum(len(span.text) for _, _, span in places)
    counted_by = await run_cooperatively(
        characters, lambda: (_context_term_counts(spans, count_terms) for _, spans in split_documents)
    )
    counts = [terms for document_terms in counted_by for terms in document_terms]
    rows: dict[str, list[ChunkRow]] = {event.document: [] for event, _ in split_documents}
    for (event, position, span), vector, own in zip(places, vectors, counts, strict=True):
        rows[event.document].append(_chunk_row(event, position, span, vector, own))
    return rows


def _context_term_counts(spans: Sequence[ChunkSpan], count_terms: Callable[[str], Terms]) -> list[Terms]:
    texts = [span.text for span in spans]
    return context_expanded_terms(texts, [count_terms(text) for text in texts])


async def embed_in_batches(texts: Sequence[str], embedder: Embedder) -> list[Vector]:
    vectors: list[Vector] = []
    for start in range(0, len(texts), MAX_TEXTS_PER_CALL):
        vectors += await embedder.embed_documents(texts[start : start + MAX_TEXTS_PER_CALL])
    return vectors


def _chunk_row(
    event: DocumentChunked | DocumentExtracted, position: int, span: ChunkSpan, vector: Vector, terms: Terms
) -> ChunkRow:
    return ChunkRow(
        id=chunk_id(event.document, position, span.text),
        incarnation=event.incarnation,
        document=event.document,
        position=position,
        text=span.text,
        start=span.start,
        end=span.end,
        seq=event.seq,
        created_at=event.at,
        vector=vector,
        terms=np.sort(terms),  # as they are stored
        heading=span.heading,
        page=span.page,
    )
