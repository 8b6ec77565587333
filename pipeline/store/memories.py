"""The memories table: atomic facts; a group is a memory's own id."""

from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import repeat
from operator import attrgetter
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipeline.columns import memory_columns, prints, relations_json, relations_of
from pipeline.rows import MemoryColumns, MemoryRow, Terms, Vector
from pipeline.store.codec import (
    TIME,
    Codec,
    among,
    column_values,
    columns_of,
    joined_column,
    number_column,
    one_array,
    string_lists,
    strings,
    term_column,
    term_values,
    terms,
    text_column,
    vector_column,
    vector_values,
    vectors,
)
from pipeline.store.pages import Page, Question, page
from pipeline.store.readable import Readable
from pipeline.store.values import statements_json, statements_of

MemorySort = Literal["createdAt", "updatedAt"]

_SORTS = {"createdAt": "created_at", "updatedAt": "updated_at"}
_LARGE = frozenset({"vector", "terms"})
_REQUIRED_TEXT = ("id", "space", "text")
_TEXT = (*_REQUIRED_TEXT, "forget_reason", "date")
_NUMBERS = ("seq", "version", "start", "end")
_FLAGS = ("is_static", "is_inference", "is_latest")
_TIMES = ("created_at", "updated_at", "forgotten_at", "expires_at")
_PLAIN = (*_TEXT, *_NUMBERS, *_FLAGS, *_TIMES)
_OPTIONAL = frozenset({"start", "end", "forgotten_at", "expires_at"})
_RECALLABLE = "is_latest AND forgotten_at IS NULL"
_EXPIRING = "expires_at IS NOT NULL AND forgotten_at IS NULL"
_COMPARED = (
    "id", "space", "text", "date", "updated_at", "is_static", "is_inference", "is_latest", "forgotten_at",
    "sources", "relations", "statements", "keys",
)  # fmt: skip
"""Columns of what is found by keys: each one takes some 5 % of the time that finding takes."""
_FEW = 100
_NOTHING = {"seq": 0, "version": 1, "created_at": datetime.min.replace(tzinfo=UTC)}
"""Instead of a column that was not read, where None can't be."""
_NO_VECTOR: Vector = np.zeros(0, np.float32)
_NO_TERMS: Terms = np.zeros(0, np.uint32)


@cache
def schema(dimensions: int) -> pa.Schema:
    """The columns of a memory."""
    return pa.schema(
        [
            *(pa.field(name, pa.string(), nullable=name not in _REQUIRED_TEXT) for name in _TEXT),
            *(pa.field(name, pa.int64(), nullable=name in _OPTIONAL) for name in _NUMBERS),
            *(pa.field(name, pa.bool_(), nullable=False) for name in _FLAGS),
            *(pa.field(name, TIME, nullable=name in _OPTIONAL) for name in _TIMES),
            pa.field("sources", pa.list_(pa.string()), nullable=False),
            pa.field("relations", pa.string()),
            pa.field("statements", pa.string()),
            pa.field("keys", pa.list_(pa.string())),
            pa.field("vector", pa.list_(pa.float32(), dimensions), nullable=False),
            pa.field("terms", pa.list_(pa.uint32()), nullable=False),
        ]
    )


def codec(dimensions: int) -> Codec[MemoryRow]:
    """How memories are kept. Those that are recallable count."""

    def encode(rows: Sequence[MemoryRow]) -> pa.Table:
        arrays = [
            *columns_of(pa.string(), (map(attrgetter(name), rows) for name in _TEXT)),
            *columns_of(pa.int64(), (map(attrgetter(name), rows) for name in _NUMBERS)),
            *columns_of(pa.bool_(), (map(attrgetter(name), rows) for name in _FLAGS)),
            *columns_of(TIME, (map(attrgetter(name), rows) for name in _TIMES)),
            string_lists(row.sources for row in rows),
            strings(relations_json(row.relations) for row in rows),
            strings(statements_json(row.statements) for row in rows),
            string_lists(row.keys for row in rows),
            vectors([row.vector for row in rows], dimensions),
            terms([row.terms for row in rows]),
        ]
        return pa.table(arrays, schema=schema(dimensions))

    return Codec(
        table="memories",
        schema=schema(dimensions),
        group="id",
        id="id",
        group_of=attrgetter("id"),
        id_of=attrgetter("id"),
        space_of=attrgetter("space"),
        encode=encode,
        decode=decode,
        weight=lambda row: len(row.text) + row.vector.nbytes + row.terms.nbytes + 512,
        order=attrgetter("id"),
        recent_bytes=2 * 1024 * 1024,
        counted=attrgetter("recallable"),
        counted_where=_RECALLABLE,
        keys=_keys,
        large=_LARGE,
    )


def _keys(row: MemoryRow) -> list[str]:
    return [*map(_of_source, row.sources), *(_in_space(row.space, key) for key in row.keys)]


def _of_source(document: str) -> str:
    return f"source {document}"


def _in_space(space: str, key: str) -> str:
    return f"{space} {key}"


def decode(table: pa.Table) -> list[MemoryRow]:
    """Arrow to rows; of columns that were not read they say nothing."""
    read = frozenset(table.column_names)
    columns = zip(*(column_values(table, name, _NOTHING.get(name)) for name in _PLAIN), strict=True)
    nested = zip(
        column_values(table, "sources"),
        column_values(table, "relations"),
        column_values(table, "statements"),
        column_values(table, "keys"),
        vector_values(table) if "vector" in read else repeat(_NO_VECTOR, table.num_rows),
        term_values(table) if "terms" in read else repeat(_NO_TERMS, table.num_rows),
        strict=True,
    )
    return [
        MemoryRow(
            **dict(zip(_PLAIN, values, strict=True)),
            sources=tuple(sources),
            relations=relations_of(relations),
            statements=statements_of(statements),
            keys=tuple(keys or ()),
            vector=vector,
            terms=term,
        )
        for values, (sources, relations, statements, keys, vector, term) in zip(columns, nested, strict=True)
    ]


class Memories(Readable[MemoryRow]):
    """`ports.Memories`, and what lists ask."""

    async def of_documents(self, documents: Collection[str]) -> list[MemoryRow]:
        """As `ports.Memories.of_documents`."""
        if not documents:
            return []
        wanted = frozenset(documents)
        rows = await self.linked_rows(None, [*map(_of_source, wanted)], self.codec.light)
        return [row for row in rows if not wanted.isdisjoint(row.sources)]

    async def keyed(self, spaces: Sequence[str], keys: Collection[str]) -> list[MemoryRow]:
        """As `ports.Memories.keyed`."""
        if not keys:
            return []
        wanted, within = frozenset(keys), frozenset(spaces)
        places = [_in_space(one, key) for one in spaces for key in wanted]
        rows = await self.linked_rows(spaces, places, _COMPARED)
        return [row for row in rows if row.space in within and not wanted.isdisjoint(row.keys)]

    async def expiring(self) -> list[MemoryRow]:
        """Memories that say their own end and are not forgotten yet, of every space."""
        overlay, base = await self.scan(None, _EXPIRING, None)
        fresh = [
            row
            for row in self.unflushed(overlay, None)
            if row.expires_at is not None and row.forgotten_at is None
        ]
        return self.codec.decode(base) + fresh

    async def counts(self, documents: Collection[str]) -> dict[str, int]:
        """How many recallable memories each of these document keys supports; 0 where none."""
        wanted = frozenset(documents)
        if not wanted:
            return {}
        overlay, base = await self.linked(None, [*map(_of_source, wanted)], ["id", "sources"], _RECALLABLE)
        fresh = (row.sources for row in self.unflushed(overlay, None) if row.recallable)
        tally = Counter(_each([*base.column("sources").to_pylist(), *fresh]))
        return {document: tally[document] for document in wanted}

    async def stream(self, spaces: Sequence[str]) -> AsyncIterator[MemoryColumns]:
        """As `Chunks.stream`."""
        hidden = {"seq", "end", "expires_at", "forget_reason", "statements"}
        names = [name for name in self.codec.schema.names if name not in hidden]
        overlay = self.snapshot()
        async for batch in self.stream_base(spaces, names, overlay):
            yield _columns(batch)
        if fresh := self.unflushed(overlay, spaces):
            yield memory_columns(fresh)

    async def page(
        self,
        spaces: Sequence[str],
        *,
        documents: Collection[str] | None = None,
        forgotten: bool = False,
        sort: MemorySort = "createdAt",
        descending: bool = True,
        offset: int = 0,
        limit: int = 10,
    ) -> Page[MemoryRow]:
        """A page of recallable memories, with `forgotten` of the whole history.

        `documents` (keys) selects memories that have any of these as a source.
        """
        wanted = None if documents is None else frozenset(documents)
        few = wanted is not None and len(wanted) <= _FEW
        of_few = [among("id", [row.id for row in await self.of_documents(wanted)])] if wanted and few else []
        question: Question[MemoryRow] = Question(
            spaces=spaces,
            where=" AND ".join([*([] if forgotten else [_RECALLABLE]), *of_few]) or "true",
            keep=lambda row: (
                (forgotten or row.recallable) and (wanted is None or not wanted.isdisjoint(row.sources))
            ),
            narrow=lambda table: table if wanted is None else _any_among(table, wanted),
            needs=[] if wanted is None else ["sources"],
        )
        return await page(
            self, question, sort=_SORTS[sort], descending=descending, offset=offset, limit=limit
        )


def _each(lists: Iterable[Iterable[str]]) -> Iterable[str]:
    return (one for sources in lists for one in set(sources))


def _any_among(table: pa.Table, documents: Collection[str]) -> pa.Table:
    sources = table.column("sources").combine_chunks()
    among = pc.is_in(pc.list_flatten(sources), value_set=pa.array(list(documents), pa.string()))
    return table.take(pc.unique(pc.list_parent_indices(sources).filter(among)))


def _columns(table: pa.Table) -> MemoryColumns:
    flat, offsets = term_column(table.column("terms"))
    keys = table.column("keys")
    return MemoryColumns(
        ids=text_column(table.column("id")),
        sources=joined_column(table.column("sources")),
        texts=text_column(table.column("text")),
        relations=text_column(table.column("relations")),
        dates=text_column(table.column("date")),
        starts=number_column(pc.fill_null(table.column("start"), -1), np.int64),
        versions=number_column(table.column("version"), np.int32),
        is_static=number_column(table.column("is_static"), np.bool_),
        is_inference=number_column(table.column("is_inference"), np.bool_),
        is_latest=number_column(table.column("is_latest"), np.bool_),
        forgotten=number_column(pc.is_valid(table.column("forgotten_at")), np.bool_),
        created_at=number_column(table.column("created_at"), np.int64),
        updated_at=number_column(table.column("updated_at"), np.int64),
        vectors=vector_column(table.column("vector")),
        terms=flat,
        term_offsets=offsets,
        spaces=_hashes(table.column("space")),
        keys=prints(text_column(pc.list_flatten(keys))),
        key_offsets=_ends(pc.fill_null(pc.list_value_length(keys), 0)),
    )


def _hashes(column: pa.ChunkedArray) -> NDArray[np.int64]:
    coded = one_array(column).dictionary_encode()
    hashes = np.array([hash(one) for one in coded.dictionary.to_pylist()], np.int64)
    found: NDArray[np.int64] = hashes[coded.indices.to_numpy()]
    return found


def _ends(lengths: pa.ChunkedArray) -> NDArray[np.int64]:
    """Where the lists of each row begin in all of them, and where the last one ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths.to_numpy(), dtype=np.int64)])
