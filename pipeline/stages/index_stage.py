"""documents.chunked → the chunks table: count the terms of passages, so that a document is found by its words.

Vectors take much longer. The embed stage adds them from the same records, in a consumer group of its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.ports import Blobs, Catalog, ChunkTable, DocumentTable
from pipeline.rows import ChunkRow, Terms
from pipeline.stage import Record, Stage
from pipeline.stages.chunk_rows import assemble_chunk_rows, delete_chunks, is_current, load_passages, newest_by_document
from schemas.events import DocumentChunked
from schemas.topics import DOCUMENTS_CHUNKED

BATCH_SIZE = 128


@dataclass(frozen=True, slots=True)
class IndexStage:
    """Writes chunks with terms and zero vectors of `dimensions`; keeps those that are there already."""

    documents: DocumentTable
    chunks: ChunkTable
    blobs: Blobs
    catalog: Catalog
    count_terms: Callable[[str], Terms]
    dimensions: int
    generation: int = 0

    @property
    def definition(self) -> Stage[DocumentChunked]:
        # A dead letter leaves the document as it is: the embed stage writes the same chunks, or marks it as failed.
        return Stage(name="index", source=DOCUMENTS_CHUNKED, handle=self.handle, batch_size=BATCH_SIZE)

    async def handle(self, records: Sequence[Record[DocumentChunked]]) -> None:
        """Replace each document's chunks by those of its newest text."""
        batch = [record for record in records if record.event.generation == self.generation]
        newest = newest_by_document(batch, self.catalog)
        rows = await self.documents.get(newest)
        await delete_chunks(
            self.chunks, {record.event.document for record in batch} - {key for key in rows if rows[key]}
        )
        work = {key: event for key, event in newest.items() if is_current(rows.get(key), event)}
        if not work:
            return
        passages = await load_passages(list(work.values()), self.blobs)
        unknown = np.zeros(self.dimensions, np.float32)
        vectors = [unknown for _, spans in passages for _ in spans]
        chunks = await assemble_chunk_rows(passages, vectors, self.count_terms)

        def change(key: str, found: list[ChunkRow]) -> Sequence[ChunkRow] | None:
            # The embed stage may have been here first.
            return None if found and found[0].seq >= work[key].seq else chunks[key]

        await self.chunks.update(list(work), change)
        # A document may have been deleted meanwhile, its chunks erased before these were written.
        rows = await self.documents.get(work)
        await delete_chunks(self.chunks, {key for key in work if not rows.get(key)})
        await self.chunks.wait_until_durable()
