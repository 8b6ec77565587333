"""documents.chunked → the chunks table: embed passages, so that a document is found by its meaning too."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pipeline.ports import Blobs, Catalog, ChunkTable, DocumentTable, Embedder
from pipeline.rows import ChunkRow, DocumentRow, DocumentStatus, Terms
from pipeline.runtime.batches import batches_within
from pipeline.stage import Record, Stage
from pipeline.stages import chunk_rows
from pipeline.stages.submission_projection import mark_failed, reset_for_retry
from schemas.events import DocumentChunked
from schemas.topics import DOCUMENTS_CHUNKED

BATCH_SIZE = 128
PASSAGES_PER_WRITE = 64
"""Passages whose vectors are written together, so that the newest documents of a batch need not wait for the others."""


@dataclass(frozen=True, slots=True)
class EmbedStage:
    """Embeds chunks that were split for its `generation`; a replay embeds from the texts instead.

    It writes whole rows, and the index stage leaves them alone: both read the same records, in any order.
    """

    documents: DocumentTable
    chunks: ChunkTable
    blobs: Blobs
    catalog: Catalog
    embedder: Embedder
    count_terms: Callable[[str], Terms]
    generation: int = 0

    @property
    def definition(self) -> Stage[DocumentChunked]:
        return Stage(
            name="embed",
            source=DOCUMENTS_CHUNKED,
            handle=self.handle,
            batch_size=BATCH_SIZE,
            on_dead_letter=self.on_dead_letter,
        )

    async def handle(self, records: Sequence[Record[DocumentChunked]]) -> None:
        """Embed the newest text of each document, newest document first, and mark the documents as done."""
        batch = [record for record in records if record.event.generation == self.generation]
        newest = chunk_rows.newest_by_document(batch, self.catalog)
        await reset_for_retry(
            self.documents, [(r.event.document, r.event.seq) for r in batch if r.redriven], "embedding"
        )
        rows = await self.documents.get(newest)
        await self.documents.update_soon(list(newest), _change_status(newest, "indexing"))
        await chunk_rows.delete_chunks(self.chunks, {record.event.document for record in batch} - rows.keys())
        work = [event for key, event in newest.items() if chunk_rows.is_current(rows.get(key), event)]
        storing: list[asyncio.Task[None]] = []
        try:
            # A part is stored while the next one is embedded; where that is quick, one commit takes several.
            loaded = await chunk_rows.load_passages(work[::-1], self.blobs)
            for part in batches_within(loaded, lambda passages: len(passages[1]), PASSAGES_PER_WRITE):
                chunks = await self._embed(part)
                storing.append(asyncio.create_task(self._store(part, chunks)))
            await asyncio.gather(*storing)
        finally:
            for task in storing:
                task.cancel()
        if work:
            await asyncio.gather(self.documents.wait_until_durable(), self.chunks.wait_until_durable())

    async def on_dead_letter(self, record: Record[DocumentChunked], reason: str) -> None:
        await mark_failed(self.documents, record.event.document, record.event.seq, reason)

    async def _embed(self, passages: Sequence[chunk_rows.ChunkedDocument]) -> dict[str, list[ChunkRow]]:
        indexed = await self.chunks.get([event.document for event, _ in passages])
        return await chunk_rows.build_chunk_rows(passages, self.embedder, self.count_terms, indexed=indexed)

    async def _store(
        self, passages: Sequence[chunk_rows.ChunkedDocument], chunks: Mapping[str, Sequence[ChunkRow]]
    ) -> None:
        work = {event.document: event for event, _ in passages}

        def change(key: str, found: list[ChunkRow]) -> Sequence[ChunkRow] | None:
            if found and (found[0].seq > work[key].seq or _are_stored(found, chunks[key])):
                return None
            return chunks[key]

        await self.chunks.update(list(work), change)
        rows = await self.documents.update(list(work), _change_status(work, "done"))
        # A document may have been deleted or replaced meanwhile, its chunks erased before these were written.
        await chunk_rows.delete_chunks(self.chunks, {key for key in work if not rows.get(key)})
        await self._delete_replaced_chunks(
            {k: e for k, e in work.items() if rows.get(k) and not chunk_rows.is_current(rows[k], e)}
        )

    async def _delete_replaced_chunks(self, replaced: Mapping[str, DocumentChunked]) -> None:
        def change(key: str, found: list[ChunkRow]) -> Sequence[ChunkRow] | None:
            return [] if found and found[0].seq == replaced[key].seq else None

        if replaced:
            await self.chunks.update(list(replaced), change)


def _change_status(
    events: Mapping[str, DocumentChunked], status: DocumentStatus
) -> Callable[[str, list[DocumentRow]], Sequence[DocumentRow] | None]:
    def change(key: str, rows: list[DocumentRow]) -> Sequence[DocumentRow] | None:
        if not chunk_rows.is_current(rows, events[key]) or rows[0].status in {status, "failed", "done"}:
            return None
        at = max(rows[0].updated_at, events[key].at)
        return [replace(rows[0], status=status, updated_at=at)]

    return change


def _are_stored(found: Sequence[ChunkRow], chunks: Sequence[ChunkRow]) -> bool:
    """Return whether the index stage wrote these chunks with the same vectors, as it does without an embedder."""
    return chunk_rows.row_origins(found) == chunk_rows.row_origins(chunks) and all(
        np.array_equal(row.vector, chunk.vector) for row, chunk in zip(found, chunks, strict=True)
    )
