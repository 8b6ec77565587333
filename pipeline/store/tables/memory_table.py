"""Memories table: one row per fact; the entity key is the memory's own id."""

from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipeline.columns import (
    fingerprints,
    incarnation_hash,
    list_offsets,
    memory_columns,
    parse_relations,
    relations_json,
)
from pipeline.rows import MemoryColumns, MemoryRow, ProvenanceEntry
from pipeline.store.lancedb.row_codec import (
    TIMESTAMP,
    RowCodec,
    combine_chunks,
    in_condition,
    to_joined_strings,
    to_numpy,
    to_packed_vectors,
    to_string_column,
    to_terms_and_offsets,
)
from pipeline.store.lancedb.sharded_table import ShardedTable
from pipeline.store.tables.table_columns import (
    index_columns,
    json_column,
    parsed_column,
    plain_columns,
    text_list_column,
)
from pipeline.store.tables.table_pagination import Page, PageQuery, read_page

MemorySort = Literal["createdAt", "updatedAt"]

_SORT_COLUMNS = {"createdAt": "created_at", "updatedAt": "updated_at"}
_LARGE_COLUMNS = frozenset({"vector", "terms"})
_ACTIVE_FILTER = "is_latest AND forgotten_at IS NULL"
_EXPIRING_FILTER = "expires_at IS NOT NULL AND forgotten_at IS NULL"
_COMPARISON_COLUMNS = (
    "id", "incarnation", "text", "date", "updated_at", "is_static", "is_inference", "is_latest", "forgotten_at",
    "sources", "relations", "provenance", "comparison_keys",
)  # fmt: skip
"""Columns read when memories are found by key: each takes about 5 % of that time."""
_MAX_DOCUMENTS_IN_FILTER = 100
_DEFAULTS = {
    "seq": 0, "version": 1, "created_at": datetime.min.replace(tzinfo=UTC), "worth": 0.0, "in_profile": True,
}  # fmt: skip
"""Values for columns that were not read and cannot be None."""


def codec(dimensions: int) -> RowCodec[MemoryRow]:
    """Codec of memory rows. Only active memories are counted."""
    return RowCodec(
        table="memories",
        columns=[
            *plain_columns(pa.string(), "id", "incarnation", "text"),
            *plain_columns(pa.string(), "forget_reason", "date", nullable=True),
            *plain_columns(pa.int64(), "seq", "version", defaults=_DEFAULTS),
            *plain_columns(pa.int64(), "start", "end", nullable=True),
            *plain_columns(pa.bool_(), "is_static", "is_inference", "is_latest", "in_profile", defaults=_DEFAULTS),
            *plain_columns(pa.float32(), "worth", defaults=_DEFAULTS),
            *plain_columns(TIMESTAMP, "created_at", "updated_at", defaults=_DEFAULTS),
            *plain_columns(TIMESTAMP, "forgotten_at", "expires_at", nullable=True),
            text_list_column("sources"),
            parsed_column("relations", lambda row: relations_json(row.relations), parse_relations, ()),
            json_column("provenance", tuple[ProvenanceEntry, ...], ()),
            text_list_column("comparison_keys"),
            *index_columns(dimensions),
        ],
        build=MemoryRow,
        entity_key_column="id",
        id_column="id",
        size_bytes=lambda row: len(row.text) + row.vector.nbytes + row.terms.nbytes + 512,
        row_cache_bytes=2 * 1024 * 1024,
        is_counted=attrgetter("is_active"),
        counted_filter=_ACTIVE_FILTER,
        secondary_keys=_secondary_keys,
        large_columns=_LARGE_COLUMNS,
    )


def _secondary_keys(row: MemoryRow) -> list[str]:
    return [*map(_source_key, row.sources), *(_incarnation_key(row.incarnation, key) for key in row.comparison_keys)]


def _source_key(document: str) -> str:
    return f"source {document}"


def _incarnation_key(incarnation: str, key: str) -> str:
    return f"{incarnation} {key}"


class ShardedMemoryTable(ShardedTable[MemoryRow]):
    """`ports.MemoryTable`, with the lists that the API shows."""

    async def find_by_documents(self, documents: Collection[str]) -> list[MemoryRow]:
        """Find memories that have any of these documents as a source (see `ports.MemoryTable`)."""
        if not documents:
            return []
        document_keys = frozenset(documents)
        rows = await self.find_by_secondary_keys(
            None, [*map(_source_key, document_keys)], self.codec.projection_columns
        )
        return [row for row in rows if not document_keys.isdisjoint(row.sources)]

    async def find_by_keys(self, incarnations: Sequence[str], keys: Collection[str]) -> list[MemoryRow]:
        """Find memories of these incarnations by comparison key (see `ports.MemoryTable`)."""
        if not keys:
            return []
        requested_keys, within = frozenset(keys), frozenset(incarnations)
        index_keys = [_incarnation_key(incarnation, key) for incarnation in incarnations for key in requested_keys]
        rows = await self.find_by_secondary_keys(incarnations, index_keys, _COMPARISON_COLUMNS)
        return [row for row in rows if row.incarnation in within and not requested_keys.isdisjoint(row.comparison_keys)]

    async def expiring(self) -> list[MemoryRow]:
        return await self.find_rows(
            None, _EXPIRING_FILTER, lambda row: row.expires_at is not None and row.forgotten_at is None
        )

    async def count_by_document(self, documents: Collection[str]) -> dict[str, int]:
        """Count the active memories that each of these documents (keys) supports; 0 if none."""
        document_keys = frozenset(documents)
        if not document_keys:
            return {}
        snapshot, stored = await self.scan_by_secondary_keys(
            None, [*map(_source_key, document_keys)], ["id", "sources"], _ACTIVE_FILTER
        )
        fresh = (row.sources for row in self.unflushed_rows(snapshot, None) if row.is_active)
        counts = Counter(_distinct_sources([*stored.column("sources").to_pylist(), *fresh]))
        return {document: counts[document] for document in document_keys}

    async def stream(self, incarnations: Sequence[str]) -> AsyncIterator[MemoryColumns]:
        """Stream every memory of these incarnations (see `ShardedChunkTable.stream`)."""
        hidden = {"seq", "end", "expires_at", "forget_reason", "provenance"}
        names = [name for name in self.codec.schema.names if name not in hidden]
        snapshot = self.memtable_snapshot()
        async for batch in self.stream_stored(incarnations, names, snapshot):
            yield _to_columns(batch)
        if fresh := self.unflushed_rows(snapshot, incarnations):
            yield memory_columns(fresh)

    async def page(
        self,
        incarnations: Sequence[str],
        *,
        documents: Collection[str] | None = None,
        include_forgotten: bool = False,
        sort: MemorySort = "createdAt",
        descending: bool = True,
        offset: int = 0,
        limit: int = 10,
    ) -> Page[MemoryRow]:
        """Read a page of active memories; `include_forgotten`: of the whole history.

        `documents` (keys) selects memories that have any of these as a source.
        """
        document_keys = None if documents is None else frozenset(documents)
        in_sql = document_keys is not None and len(document_keys) <= _MAX_DOCUMENTS_IN_FILTER
        id_conditions = (
            [in_condition("id", [row.id for row in await self.find_by_documents(document_keys)])]
            if document_keys and in_sql
            else []
        )
        query: PageQuery[MemoryRow] = PageQuery(
            incarnations=incarnations,
            where=" AND ".join([*([] if include_forgotten else [_ACTIVE_FILTER]), *id_conditions]) or "true",
            row_matches=lambda row: (
                (include_forgotten or row.is_active)
                and (document_keys is None or not document_keys.isdisjoint(row.sources))
            ),
            filter_table=lambda table: table if document_keys is None else _filter_by_sources(table, document_keys),
            filter_columns=[] if document_keys is None else ["sources"],
        )
        return await read_page(self, query, sort=_SORT_COLUMNS[sort], descending=descending, offset=offset, limit=limit)


def _distinct_sources(lists: Iterable[Iterable[str]]) -> Iterable[str]:
    return (source for sources in lists for source in set(sources))


def _filter_by_sources(table: pa.Table, documents: Collection[str]) -> pa.Table:
    sources = table.column("sources").combine_chunks()
    is_wanted = pc.is_in(pc.list_flatten(sources), value_set=pa.array(list(documents), pa.string()))
    return table.take(pc.unique(pc.list_parent_indices(sources).filter(is_wanted)))


def _to_columns(table: pa.Table) -> MemoryColumns:
    flat, offsets = to_terms_and_offsets(table.column("terms"))
    keys = table.column("comparison_keys")
    return MemoryColumns(
        ids=to_string_column(table.column("id")),
        sources=to_joined_strings(table.column("sources")),
        texts=to_string_column(table.column("text")),
        relations=to_string_column(table.column("relations")),
        dates=to_string_column(table.column("date")),
        starts=to_numpy(pc.fill_null(table.column("start"), -1), np.int64),
        versions=to_numpy(table.column("version"), np.int32),
        is_static=to_numpy(table.column("is_static"), np.bool_),
        is_inference=to_numpy(table.column("is_inference"), np.bool_),
        is_latest=to_numpy(table.column("is_latest"), np.bool_),
        in_profile=to_numpy(table.column("in_profile"), np.bool_),
        worths=to_numpy(table.column("worth"), np.float32),
        forgotten=to_numpy(pc.is_valid(table.column("forgotten_at")), np.bool_),
        created_at=to_numpy(table.column("created_at"), np.int64),
        updated_at=to_numpy(table.column("updated_at"), np.int64),
        vectors=to_packed_vectors(table.column("vector")),
        terms=flat,
        term_offsets=offsets,
        incarnation_hashes=_hash_column(table.column("incarnation")),
        comparison_key_hashes=fingerprints(to_string_column(pc.list_flatten(keys))),
        comparison_key_offsets=list_offsets(pc.list_value_length(keys).to_numpy()),
    )


def _hash_column(column: pa.ChunkedArray) -> NDArray[np.int64]:
    encoded = combine_chunks(column).dictionary_encode()
    hashes = np.array([incarnation_hash(value) for value in encoded.dictionary.to_pylist()], np.int64)
    found: NDArray[np.int64] = hashes[encoded.indices.to_numpy()]
    return found
