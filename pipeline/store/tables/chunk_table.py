"""Chunks table: the passages of documents; the entity key is the document's key."""

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.columns import chunk_columns
from pipeline.rows import ChunkColumns, ChunkRow
from pipeline.store.lancedb.row_codec import (
    TIMESTAMP,
    RowCodec,
    in_condition,
    in_incarnations,
    to_numpy,
    to_packed_vectors,
    to_string_column,
    to_terms_and_offsets,
)
from pipeline.store.lancedb.sharded_table import ShardedTable
from pipeline.store.tables.table_columns import index_columns, plain_columns
from pipeline.store.tables.table_pagination import Page, PageQuery, read_page

ChunkSort = Literal["createdAt", "updatedAt", "position"]

_SORT_COLUMNS = {"createdAt": "created_at", "updatedAt": "created_at", "position": "position"}
_MAX_DOCUMENTS_IN_FILTER = 100
"""Up to this many documents are part of the SQL condition; more are filtered afterwards."""


def codec(dimensions: int) -> RowCodec[ChunkRow]:
    return RowCodec(
        table="chunks",
        columns=[
            *plain_columns(pa.string(), "id", "incarnation", "document", "text", "type"),
            *plain_columns(pa.string(), "heading", "page", nullable=True),
            *plain_columns(pa.int64(), "position", "start", "end", "seq"),
            *plain_columns(TIMESTAMP, "created_at"),
            *index_columns(dimensions),
        ],
        build=ChunkRow,
        entity_key_column="document",
        id_column="id",
        order_column="position",
        size_bytes=lambda row: len(row.text) + row.vector.nbytes + row.terms.nbytes + 256,
        row_cache_bytes=4 * 1024 * 1024,
    )


class ShardedChunkTable(ShardedTable[ChunkRow]):
    """`ports.ChunkTable`, with the lists that the API shows."""

    async def stream(self, incarnations: Sequence[str]) -> AsyncIterator[ChunkColumns]:
        """Stream every chunk of these incarnations, newest state, in batches without duplicates."""
        hidden = {"incarnation", "seq", "type", "heading"}
        names = [name for name in self.codec.schema.names if name not in hidden]
        snapshot = self.memtable_snapshot()
        async for batch in self.stream_stored(incarnations, names, snapshot):
            yield _to_columns(batch)
        if fresh := self.unflushed_rows(snapshot, incarnations):
            yield chunk_columns(fresh)

    async def find(self, incarnations: Sequence[str], id: str) -> ChunkRow | None:  # noqa: A002 - a chunk's own word
        """Find a chunk by its id in any of these incarnations."""
        where = in_incarnations(incarnations, in_condition("id", [id]))
        rows = await self.find_rows(incarnations, where, lambda row: row.id == id)
        return rows[0] if rows else None

    async def page(
        self,
        incarnations: Sequence[str],
        *,
        documents: Collection[str] | None = None,
        sort: ChunkSort = "createdAt",
        descending: bool = True,
        offset: int = 0,
        limit: int = 10,
    ) -> Page[ChunkRow]:
        """Read a page of chunks, of these documents (keys) or of all."""
        document_keys = None if documents is None else frozenset(documents)
        in_sql = document_keys is not None and len(document_keys) <= _MAX_DOCUMENTS_IN_FILTER
        query: PageQuery[ChunkRow] = PageQuery(
            incarnations=incarnations,
            where=in_condition("document", sorted(document_keys)) if document_keys is not None and in_sql else "true",
            row_matches=lambda row: document_keys is None or row.document in document_keys,
            filter_table=lambda table: (
                table if document_keys is None or in_sql else _filter_by_documents(table, document_keys)
            ),
        )
        return await read_page(self, query, sort=_SORT_COLUMNS[sort], descending=descending, offset=offset, limit=limit)


def _filter_by_documents(table: pa.Table, documents: Collection[str]) -> pa.Table:
    return table.filter(pc.is_in(table.column("document"), value_set=pa.array(list(documents), pa.string())))


def _to_columns(table: pa.Table) -> ChunkColumns:
    terms, offsets = to_terms_and_offsets(table.column("terms"))
    return ChunkColumns(
        ids=to_string_column(table.column("id")),
        documents=to_string_column(table.column("document")),
        texts=to_string_column(table.column("text")),
        positions=to_numpy(table.column("position"), np.int32),
        starts=to_numpy(table.column("start"), np.int64),
        ends=to_numpy(table.column("end"), np.int64),
        created_at=to_numpy(table.column("created_at"), np.int64),
        vectors=to_packed_vectors(table.column("vector")),
        terms=terms,
        term_offsets=offsets,
        pages=to_string_column(table.column("page")),
    )
