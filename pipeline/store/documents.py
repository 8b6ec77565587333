"""The documents table: one row per document, its group is its own key."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from pipeline.columns import metadata_json
from pipeline.rows import DocumentColumns, DocumentRow
from pipeline.store.codec import (
    TIME,
    Codec,
    among,
    column_values,
    columns_of,
    number_column,
    objects,
    quoted,
    string_lists,
    text_column,
)
from pipeline.store.filters import condition
from pipeline.store.metadata import facts, tokens
from pipeline.store.pages import Page, Question, page
from pipeline.store.readable import Readable
from pipeline.store.values import metadata_of, model_json, model_of
from schemas.events import Content, Upload
from schemas.filters import FilterExpression, matches
from schemas.ids import document_key

DocumentSort = Literal["createdAt", "updatedAt"]

_SORTS = {"createdAt": "created_at", "updatedAt": "updated_at"}
_PLAIN = (
    "key", "space", "id", "status", "error", "dreaming_error", "title", "type", "summary", "url", "text",
    "supporting_context", "date", "task_type", "dreaming_mode",
)  # fmt: skip
_NUMBERS = ("seq", "content_seq", "text_seq")
_TIMES = ("created_at", "updated_at")
_REQUIRED = frozenset({"key", "space", "id", "status", "type", "task_type", "dreaming_mode"})
_JSON: dict[str, Callable[[DocumentRow], str | None]] = {
    "source": lambda row: model_json(row.source),
    "upload": lambda row: model_json(row.upload),
    "metadata": lambda row: metadata_json(row.metadata),
    "group_metadata": lambda row: None if row.group is None else json.dumps(row.group),
}
_SEARCH_ONLY = frozenset({"tokens", "facts"})
_COLUMNS = ["key", "id", "title", "type", "summary", "metadata", "date", *_TIMES]


@cache
def schema() -> pa.Schema:
    """The columns of a document."""
    return pa.schema(
        [
            *(pa.field(name, pa.string(), nullable=name not in _REQUIRED) for name in _PLAIN),
            *(pa.field(name, pa.int64(), nullable=False) for name in _NUMBERS),
            *(pa.field(name, TIME, nullable=False) for name in _TIMES),
            pa.field("dreaming", pa.bool_(), nullable=False),
            *(pa.field(name, pa.string()) for name in _JSON),
            pa.field("tokens", pa.list_(pa.string())),
            pa.field("facts", pa.json_()),
        ]
    )


def encode(rows: Sequence[DocumentRow]) -> pa.Table:
    """Rows to Arrow."""
    ways: list[Callable[[DocumentRow], str | None]] = [*map(attrgetter, _PLAIN), *_JSON.values()]
    texts = columns_of(pa.string(), (map(way, rows) for way in ways))
    arrays = [
        *texts[: len(_PLAIN)],
        *columns_of(pa.int64(), (map(attrgetter(name), rows) for name in _NUMBERS)),
        *columns_of(TIME, (map(attrgetter(name), rows) for name in _TIMES)),
        pa.array([row.dreaming for row in rows], pa.bool_()),
        *texts[len(_PLAIN) :],
        string_lists(tokens(row.metadata) for row in rows),
        objects(facts(row.metadata) for row in rows),
    ]
    return pa.table(arrays, schema=schema())


def decode(table: pa.Table) -> list[DocumentRow]:
    """Arrow to rows; the text and its source may be left out."""
    plain = (*_PLAIN, *_NUMBERS, *_TIMES, "dreaming")
    columns = zip(*(column_values(table, name) for name in plain), strict=True)
    nested = zip(*(column_values(table, name) for name in _JSON), strict=True)
    return [
        _row(dict(zip(plain, values, strict=True)), dict(zip(_JSON, texts, strict=True)))
        for values, texts in zip(columns, nested, strict=True)
    ]


def _row(values: dict[str, Any], texts: dict[str, str | None]) -> DocumentRow:
    group = texts["group_metadata"]
    return DocumentRow(
        **values,
        source=model_of(Content, texts["source"]),
        upload=model_of(Upload, texts["upload"]),
        metadata=metadata_of(texts["metadata"]),
        group=None if group is None else metadata_of(group),
    )


def codec() -> Codec[DocumentRow]:
    """How documents are kept."""
    return Codec(
        table="documents",
        schema=schema(),
        group="key",
        id="key",
        group_of=attrgetter("key"),
        id_of=attrgetter("key"),
        space_of=attrgetter("space"),
        encode=encode,
        decode=decode,
        weight=lambda row: len(row.text or "") + len((row.source and row.source.text) or "") + 512,
        order=attrgetter("key"),
        recent_bytes=8 * 1024 * 1024,
    )


class Documents(Readable[DocumentRow]):
    """`ports.Documents`, and what lists ask."""

    async def find(self, spaces: Sequence[str], ids: Collection[str]) -> dict[str, DocumentRow]:
        """By public id; of two spaces that both have it, the first wins."""
        places = {document_key(space, one): (space, one) for space in reversed(spaces) for one in ids}
        self.expect({key: space for key, (space, _) in places.items()})
        keys = {key: one for key, (_, one) in places.items()}
        found = await self.get(keys)
        rows = {one: found[key][0] for key, one in keys.items() if key in found and found[key][0].id == one}
        # Only a move gives a document another id than the one its key comes from, and marks it so.
        moved = [one for one in ids if "~" in one and one not in rows] if len(spaces) > 1 else []
        return rows | await self._renamed(spaces, moved)

    async def _renamed(self, spaces: Sequence[str], ids: Collection[str]) -> dict[str, DocumentRow]:
        if not ids:
            return {}
        where = f"{among('space', spaces)} AND {among('id', ids)}"
        overlay, base = await self.scan(spaces, where, None)
        fresh = [row for row in self.unflushed(overlay, spaces) if row.id in ids]
        return {row.id: row for row in self.codec.decode(base) + fresh}

    async def unfinished(self) -> list[DocumentRow]:
        """Rows whose memories are still to be formed."""
        overlay, base = await self.scan(None, "dreaming", None)
        fresh = [row for row in self.unflushed(overlay, None) if row.dreaming]
        return self.codec.decode(base) + fresh

    async def columns(self, spaces: Sequence[str]) -> DocumentColumns:
        """Every document of these spaces, side by side and without texts."""
        overlay, base = await self.scan(spaces, among("space", spaces), _COLUMNS)
        fresh = encode(self.unflushed(overlay, spaces)).select(_COLUMNS)
        return _columns(pa.concat_tables([base, fresh]))

    async def keys(self, spaces: Sequence[str], filter: FilterExpression | None = None) -> set[str]:  # noqa: A002 - the interface's own word
        """The keys of the documents that pass the filter."""
        where = "true" if filter is None else condition(filter)
        overlay, base = await self.scan(spaces, f"{among('space', spaces)} AND {where}", ["key"])
        fresh = {row.key for row in self.unflushed(overlay, spaces) if _passes(filter, row)}
        return fresh.union(base.column("key").to_pylist())

    async def ids(self, space: str, prefix: str) -> list[str]:
        """As `ports.DocumentIds`."""
        where = f"{among('space', [space])} AND starts_with(id, {quoted(prefix)})"
        overlay, base = await self.scan([space], where, ["key", "id"])
        fresh = [row.id for row in self.unflushed(overlay, [space]) if row.id.startswith(prefix)]
        return sorted(base.column("id").to_pylist() + fresh)

    async def replaced(self) -> dict[str, int]:
        """By key, the newest submission of content of each document that was submitted more than once."""
        overlay, base = await self.scan(None, "updated_at > created_at", ["key", "content_seq"])
        fresh = self.unflushed(overlay, None)
        columns = (base.column(name).to_pylist() for name in ("key", "content_seq"))
        return dict(zip(*columns, strict=True)) | {row.key: row.content_seq for row in fresh}

    async def states(self) -> dict[tuple[str, str], int]:
        """How many documents there are by space and status."""
        overlay, base = await self.scan(None, "true", ["key", "space", "status"])
        grouped = base.group_by(["space", "status"]).aggregate([([], "count_all")])
        columns = (grouped.column(name).to_pylist() for name in ("space", "status", "count_all"))
        counts = Counter({(space, status): count for space, status, count in zip(*columns, strict=True)})
        counts.update((row.space, row.status) for row in self.unflushed(overlay, None))
        return dict(counts)

    async def failed(self, limit: int) -> list[DocumentRow]:
        """Documents that could not be read, newest change first; without their texts."""
        hidden = _SEARCH_ONLY | {"text", "source"}
        names = [name for name in self.codec.schema.names if name not in hidden]
        overlay, base = await self.scan(None, "status = 'failed'", names)
        fresh = [row for row in self.unflushed(overlay, None) if row.status == "failed"]
        rows = self.codec.decode(base) + fresh
        return sorted(rows, key=attrgetter("updated_at"), reverse=True)[:limit]

    async def delayed(self, limit: int) -> list[DocumentRow]:
        """Documents whose memories wait because of something, newest change first; without their texts."""
        hidden = _SEARCH_ONLY | {"text", "source"}
        names = [name for name in self.codec.schema.names if name not in hidden]
        overlay, base = await self.scan(None, "dreaming AND dreaming_error IS NOT NULL", names)
        fresh = [row for row in self.unflushed(overlay, None) if row.dreaming and row.dreaming_error]
        rows = self.codec.decode(base) + fresh
        return sorted(rows, key=attrgetter("updated_at"), reverse=True)[:limit]

    async def page(
        self,
        spaces: Sequence[str],
        *,
        filter: FilterExpression | None = None,  # noqa: A002 - the interface's own word
        sort: DocumentSort = "createdAt",
        descending: bool = True,
        offset: int = 0,
        limit: int = 10,
        with_text: bool = False,
    ) -> Page[DocumentRow]:
        """A page of documents; without text, `text` and `source` are not read and may be None."""
        hidden = _SEARCH_ONLY if with_text else _SEARCH_ONLY | {"text", "source"}
        question: Question[DocumentRow] = Question(
            spaces=spaces,
            where="true" if filter is None else condition(filter),
            keep=lambda row: _passes(filter, row),
            columns=[name for name in self.codec.schema.names if name not in hidden],
        )
        return await page(
            self, question, sort=_SORTS[sort], descending=descending, offset=offset, limit=limit
        )


def _passes(filter_: FilterExpression | None, row: DocumentRow) -> bool:
    return filter_ is None or matches(filter_, row.metadata)


def _columns(table: pa.Table) -> DocumentColumns:
    return DocumentColumns(
        keys=text_column(table.column("key")),
        ids=text_column(table.column("id")),
        titles=text_column(table.column("title")),
        types=text_column(table.column("type")),
        summaries=text_column(table.column("summary")),
        metadata=text_column(table.column("metadata")),
        dates=text_column(table.column("date")),
        created_at=number_column(table.column("created_at"), np.int64),
        updated_at=number_column(table.column("updated_at"), np.int64),
    )
