"""Documents table: one row per document; the entity key is the document's own key."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from operator import attrgetter
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from pipeline.columns import metadata_json
from pipeline.rows import DocumentColumns, DocumentRow, RecentSubmissions
from pipeline.store.lancedb.row_codec import (
    TIMESTAMP,
    Column,
    RowCodec,
    in_condition,
    in_incarnations,
    json_array,
    sql_literal,
    string_list_array,
    to_numpy,
    to_string_column,
)
from pipeline.store.lancedb.sharded_table import ShardedTable
from pipeline.store.tables.metadata_filter_sql import filter_to_sql
from pipeline.store.tables.metadata_index_terms import filter_tokens, filter_values
from pipeline.store.tables.table_columns import json_column, parsed_column, plain_columns
from pipeline.store.tables.table_pagination import Page, PageQuery, read_page
from schemas.base import Metadata
from schemas.events import Content, Upload
from schemas.filters import FilterExpression, matches
from schemas.ids import document_key

DocumentSort = Literal["createdAt", "updatedAt"]

_SORT_COLUMNS = {"createdAt": "created_at", "updatedAt": "updated_at"}
_TEXT_ITSELF = "text"
"""Stands for content that is the text of its document, as a plain text is; no JSON begins like this."""
_TEXT_COLUMNS = ("text", "source", "recent")
_SEARCH_COLUMNS = ["key", "id", "title", "type", "summary", "metadata", "date", "created_at", "updated_at"]


def _source_text(row: DocumentRow) -> str | None:
    source = row.source
    if source is None:
        return None
    is_text_itself = source.text is not None and source.text == row.text
    return _TEXT_ITSELF if is_text_itself else source.model_dump_json(exclude_none=True)


def _to_row(source: str | None, text: str | None, **values: Any) -> DocumentRow:
    if source is None:
        content = None
    else:
        content = Content(text=text) if source == _TEXT_ITSELF else Content.model_validate_json(source)
    return DocumentRow(source=content, text=text, **values)


def codec() -> RowCodec[DocumentRow]:
    return RowCodec(
        table="documents",
        columns=[
            *plain_columns(pa.string(), "key", "incarnation", "id", "status"),
            *plain_columns(pa.string(), "error", "extraction_error", "title", nullable=True),
            *plain_columns(pa.string(), "type"),
            *plain_columns(pa.string(), "summary", "url", "text", "supporting_context", "date", nullable=True),
            *plain_columns(pa.string(), "task_type", "extraction_mode"),
            *plain_columns(pa.int64(), "seq", "content_seq", "text_seq"),
            *plain_columns(TIMESTAMP, "created_at", "updated_at"),
            *plain_columns(pa.bool_(), "extraction_pending"),
            Column("source", pa.string(), nullable=True, get=_source_text),
            json_column("upload", Upload | None, None),
            parsed_column("metadata", lambda row: metadata_json(row.metadata), _parse_metadata, {}),
            parsed_column("group_metadata", _group_json, _parse_metadata, None),
            json_column("recent", RecentSubmissions, RecentSubmissions()),
            Column(
                "filter_tokens",
                pa.list_(pa.string()),
                nullable=True,
                get=lambda row: filter_tokens(row.metadata),
                to_array=string_list_array,
                is_derived=True,
            ),
            Column(
                "filter_values",
                pa.json_(),
                nullable=True,
                get=lambda row: filter_values(row.metadata),
                to_array=json_array,
                is_derived=True,
            ),
        ],
        build=_to_row,
        entity_key_column="key",
        id_column="key",
        size_bytes=lambda row: len(row.text or "") + len((row.source and row.source.text) or "") + 512,
        row_cache_bytes=8 * 1024 * 1024,
    )


def _group_json(row: DocumentRow) -> str | None:
    return None if row.group_metadata is None else json.dumps(row.group_metadata)


def _parse_metadata(text: str) -> Metadata:
    return dict(json.loads(text)) if text else {}


class ShardedDocumentTable(ShardedTable[DocumentRow]):
    """`ports.DocumentTable`, with the lists that the API shows."""

    async def find_by_public_id(self, incarnations: Sequence[str], ids: Collection[str]) -> dict[str, DocumentRow]:
        """Find documents by public id; if two incarnations have it, the first wins."""
        locations = {
            document_key(incarnation, document_id): (incarnation, document_id)
            for incarnation in reversed(incarnations)
            for document_id in ids
        }
        self.hint_incarnations({key: incarnation for key, (incarnation, _) in locations.items()})
        keys = {key: document_id for key, (_, document_id) in locations.items()}
        found = await self.get(keys)
        rows = {
            document_id: found[key][0]
            for key, document_id in keys.items()
            if key in found and found[key][0].id == document_id
        }
        # Only a move gives a document an id that its key is not derived from, marked by a tilde.
        moved = (
            [document_id for document_id in ids if "~" in document_id and document_id not in rows]
            if len(incarnations) > 1
            else []
        )
        return rows | await self._find_moved(incarnations, moved)

    async def _find_moved(self, incarnations: Sequence[str], ids: Collection[str]) -> dict[str, DocumentRow]:
        if not ids:
            return {}
        where = in_incarnations(incarnations, in_condition("id", ids))
        return {row.id: row for row in await self.find_rows(incarnations, where, lambda row: row.id in ids)}

    async def pending_extraction(self) -> list[DocumentRow]:
        return await self.find_rows(None, "extraction_pending", attrgetter("extraction_pending"))

    async def columns(self, incarnations: Sequence[str]) -> DocumentColumns:
        """Read every document of these incarnations as columns, without texts."""
        snapshot, stored = await self.scan(incarnations, in_incarnations(incarnations), _SEARCH_COLUMNS)
        fresh = self.codec.encode(self.unflushed_rows(snapshot, incarnations), _SEARCH_COLUMNS)
        return _to_columns(pa.concat_tables([stored, fresh]))

    async def matching_keys(
        self,
        incarnations: Sequence[str],
        filter: FilterExpression | None = None,  # noqa: A002 - the contract's word
    ) -> set[str]:
        where = "true" if filter is None else filter_to_sql(filter)
        snapshot, stored = await self.scan(incarnations, in_incarnations(incarnations, where), ["key"])
        fresh = {row.key for row in self.unflushed_rows(snapshot, incarnations) if _matches_filter(filter, row)}
        return fresh.union(stored.column("key").to_pylist())

    async def ids_with_prefix(self, incarnation: str, prefix: str) -> list[str]:
        """Return the ids with this prefix, sorted (see `ports.DocumentIdLookup`)."""
        where = in_incarnations([incarnation], f"starts_with(id, {sql_literal(prefix)})")
        snapshot, stored = await self.scan([incarnation], where, ["key", "id"])
        fresh = [row.id for row in self.unflushed_rows(snapshot, [incarnation]) if row.id.startswith(prefix)]
        return sorted(stored.column("id").to_pylist() + fresh)

    async def content_seqs_of_updated(self) -> dict[str, int]:
        """Map each document submitted more than once (by key) to its newest content submission."""
        snapshot, stored = await self.scan(None, "updated_at > created_at", ["key", "content_seq"])
        fresh = self.unflushed_rows(snapshot, None)
        columns = (stored.column(name).to_pylist() for name in ("key", "content_seq"))
        return dict(zip(*columns, strict=True)) | {row.key: row.content_seq for row in fresh}

    async def count_by_status(self) -> dict[tuple[str, str], int]:
        """Count documents by incarnation and status."""
        snapshot, stored = await self.scan(None, "true", ["key", "incarnation", "status"])
        grouped = stored.group_by(["incarnation", "status"]).aggregate([([], "count_all")])
        columns = (grouped.column(name).to_pylist() for name in ("incarnation", "status", "count_all"))
        counts = Counter({(incarnation, status): count for incarnation, status, count in zip(*columns, strict=True)})
        counts.update((row.incarnation, row.status) for row in self.unflushed_rows(snapshot, None))
        return dict(counts)

    async def failed(self, limit: int) -> list[DocumentRow]:
        """Return documents that could not be read, latest change first, without texts."""
        return await self._latest_without_texts("status = 'failed'", lambda row: row.status == "failed", limit)

    async def awaiting_extraction(self, limit: int) -> list[DocumentRow]:
        """Return documents whose extraction will be retried, latest change first, without texts."""
        return await self._latest_without_texts(
            "extraction_pending AND extraction_error IS NOT NULL",
            lambda row: row.extraction_pending and bool(row.extraction_error),
            limit,
        )

    async def unfinished(self, incarnations: Sequence[str], limit: int) -> list[DocumentRow]:
        """Return documents of these incarnations that are still processed, latest change first, without texts."""
        return await self._latest_without_texts(
            "status NOT IN ('done', 'failed')", lambda row: row.status not in {"done", "failed"}, limit, incarnations
        )

    async def _latest_without_texts(
        self,
        where: str,
        row_matches: Callable[[DocumentRow], bool],
        limit: int,
        incarnations: Sequence[str] | None = None,
    ) -> list[DocumentRow]:
        condition = where if incarnations is None else in_incarnations(incarnations, where)
        rows = await self.find_rows(incarnations, condition, row_matches, self._columns_without(*_TEXT_COLUMNS))
        return sorted(rows, key=attrgetter("updated_at"), reverse=True)[:limit]

    def _columns_without(self, *hidden: str) -> list[str]:
        return [name for name in self.codec.schema.names if name not in {"filter_tokens", "filter_values", *hidden}]

    async def page(
        self,
        incarnations: Sequence[str],
        *,
        filter: FilterExpression | None = None,  # noqa: A002 - the interface's own word
        sort: DocumentSort = "createdAt",
        descending: bool = True,
        offset: int = 0,
        limit: int = 10,
        with_text: bool = False,
    ) -> Page[DocumentRow]:
        """Read a page of documents; without text, `text` and `source` are not read and may be None."""
        query: PageQuery[DocumentRow] = PageQuery(
            incarnations=incarnations,
            where="true" if filter is None else filter_to_sql(filter),
            row_matches=lambda row: _matches_filter(filter, row),
            columns=self._columns_without() if with_text else self._columns_without(*_TEXT_COLUMNS),
        )
        return await read_page(self, query, sort=_SORT_COLUMNS[sort], descending=descending, offset=offset, limit=limit)


def _matches_filter(filter_: FilterExpression | None, row: DocumentRow) -> bool:
    return filter_ is None or matches(filter_, row.metadata)


def _to_columns(table: pa.Table) -> DocumentColumns:
    return DocumentColumns(
        keys=to_string_column(table.column("key")),
        ids=to_string_column(table.column("id")),
        titles=to_string_column(table.column("title")),
        types=to_string_column(table.column("type")),
        summaries=to_string_column(table.column("summary")),
        metadata=to_string_column(table.column("metadata")),
        dates=to_string_column(table.column("date")),
        created_at=to_numpy(table.column("created_at"), np.int64),
        updated_at=to_numpy(table.column("updated_at"), np.int64),
    )
