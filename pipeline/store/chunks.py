"""The chunks table: the passages of documents; a group is a document's key."""

from collections.abc import AsyncIterator, Collection, Sequence
from functools import cache
from operator import attrgetter
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.columns import chunk_columns
from pipeline.rows import ChunkColumns, ChunkRow
from pipeline.store.codec import (
    TIME,
    Codec,
    among,
    column_values,
    columns_of,
    number_column,
    term_column,
    term_values,
    terms,
    text_column,
    times,
    vector_column,
    vector_values,
    vectors,
)
from pipeline.store.pages import Page, Question, page
from pipeline.store.readable import Readable

ChunkSort = Literal["createdAt", "updatedAt", "position"]

_SORTS = {"createdAt": "created_at", "updatedAt": "created_at", "position": "position"}
_REQUIRED_TEXT = ("id", "space", "document", "text", "type")
_NUMBERS = ("position", "start", "end", "seq")
_PLAIN = (*_REQUIRED_TEXT, "heading", *_NUMBERS, "created_at")
_FEW = 100
"""Up to here a set of documents is part of the question; more are picked out of the answer."""


@cache
def schema(dimensions: int) -> pa.Schema:
    """The columns of a chunk."""
    return pa.schema(
        [
            *(pa.field(name, pa.string(), nullable=False) for name in _REQUIRED_TEXT),
            pa.field("heading", pa.string()),
            *(pa.field(name, pa.int64(), nullable=False) for name in _NUMBERS),
            pa.field("created_at", TIME, nullable=False),
            pa.field("vector", pa.list_(pa.float32(), dimensions), nullable=False),
            pa.field("terms", pa.list_(pa.uint32()), nullable=False),
        ]
    )


def codec(dimensions: int) -> Codec[ChunkRow]:
    """How chunks are kept."""

    def encode(rows: Sequence[ChunkRow]) -> pa.Table:
        arrays = [
            *columns_of(pa.string(), (map(attrgetter(name), rows) for name in (*_REQUIRED_TEXT, "heading"))),
            *columns_of(pa.int64(), (map(attrgetter(name), rows) for name in _NUMBERS)),
            times(row.created_at for row in rows),
            vectors([row.vector for row in rows], dimensions),
            terms([row.terms for row in rows]),
        ]
        return pa.table(arrays, schema=schema(dimensions))

    return Codec(
        table="chunks",
        schema=schema(dimensions),
        group="document",
        id="id",
        group_of=attrgetter("document"),
        id_of=attrgetter("id"),
        space_of=attrgetter("space"),
        encode=encode,
        decode=decode,
        weight=lambda row: len(row.text) + row.vector.nbytes + row.terms.nbytes + 256,
        order=attrgetter("position"),
        recent_bytes=4 * 1024 * 1024,
    )


def decode(table: pa.Table) -> list[ChunkRow]:
    """Arrow to rows."""
    columns = zip(*(column_values(table, name) for name in _PLAIN), strict=True)
    return [
        ChunkRow(**dict(zip(_PLAIN, values, strict=True)), vector=vector, terms=term)
        for values, vector, term in zip(columns, vector_values(table), term_values(table), strict=True)
    ]


class Chunks(Readable[ChunkRow]):
    """`ports.Chunks`, and what lists ask."""

    async def stream(self, spaces: Sequence[str]) -> AsyncIterator[ChunkColumns]:
        """Every chunk of these spaces, newest state, in batches; each row once."""
        hidden = {"space", "seq", "type", "heading"}
        names = [name for name in self.codec.schema.names if name not in hidden]
        overlay = self.snapshot()
        async for batch in self.stream_base(spaces, names, overlay):
            yield _columns(batch)
        if fresh := self.unflushed(overlay, spaces):
            yield chunk_columns(fresh)

    async def find(self, spaces: Sequence[str], id: str) -> ChunkRow | None:  # noqa: A002 - a chunk's own word
        """A chunk by its id, looked for in all of these spaces."""
        overlay, base = await self.scan(spaces, f"{among('space', spaces)} AND {among('id', [id])}", None)
        rows = [*self.codec.decode(base), *(row for row in self.unflushed(overlay, spaces) if row.id == id)]
        return rows[0] if rows else None

    async def page(
        self,
        spaces: Sequence[str],
        *,
        documents: Collection[str] | None = None,
        sort: ChunkSort = "createdAt",
        descending: bool = True,
        offset: int = 0,
        limit: int = 10,
    ) -> Page[ChunkRow]:
        """A page of chunks, of these documents (keys) or of all."""
        wanted = None if documents is None else frozenset(documents)
        few = wanted is not None and len(wanted) <= _FEW
        question: Question[ChunkRow] = Question(
            spaces=spaces,
            where=among("document", sorted(wanted)) if wanted is not None and few else "true",
            keep=lambda row: wanted is None or row.document in wanted,
            narrow=lambda table: table if wanted is None or few else _of_documents(table, wanted),
        )
        return await page(
            self, question, sort=_SORTS[sort], descending=descending, offset=offset, limit=limit
        )


def _of_documents(table: pa.Table, documents: Collection[str]) -> pa.Table:
    return table.filter(pc.is_in(table.column("document"), value_set=pa.array(list(documents), pa.string())))


def _columns(table: pa.Table) -> ChunkColumns:
    flat, offsets = term_column(table.column("terms"))
    return ChunkColumns(
        ids=text_column(table.column("id")),
        documents=text_column(table.column("document")),
        texts=text_column(table.column("text")),
        positions=number_column(table.column("position"), np.int32),
        starts=number_column(table.column("start"), np.int64),
        ends=number_column(table.column("end"), np.int64),
        created_at=number_column(table.column("created_at"), np.int64),
        vectors=vector_column(table.column("vector")),
        terms=flat,
        term_offsets=offsets,
    )
