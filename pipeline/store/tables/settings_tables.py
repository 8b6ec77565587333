"""Codecs of the small tables: namespaces, organization, API keys, operations; one row per key."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, TypeVar

import pyarrow as pa
from pydantic import TypeAdapter

from pipeline.rows import ApiKeyRow, NamespaceRow, OperationRow, OrganizationRow, SyncRunsRow
from pipeline.store.lancedb.row_codec import TIMESTAMP, RowCodec, string_array, timestamp_array, to_python_values
from pipeline.store.tables.tombstones_table import TombstoneRow
from schemas.events import ConnectorChanged, SyncReported

Row = TypeVar("Row")

_RUNS_ADAPTER = TypeAdapter(tuple[SyncReported, ...])
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class OrganizationState:
    """The organization's settings and the time of their latest change."""

    row: OrganizationRow = field(default_factory=OrganizationRow)
    updated_at: datetime = _EPOCH


@dataclass(frozen=True, slots=True)
class _Column:
    """Column definition: how a value is written from a row and read back."""

    name: str
    type: pa.DataType
    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any] = lambda value: value


def _text_column(name: str) -> _Column:
    return _Column(name, pa.string(), attrgetter(name))


def _timestamp_column(name: str) -> _Column:
    return _Column(name, TIMESTAMP, attrgetter(name))


def _integer_column(name: str) -> _Column:
    return _Column(name, pa.int64(), attrgetter(name))


def _string_list_column(name: str) -> _Column:
    get = attrgetter(name)
    return _Column(
        name,
        pa.list_(pa.string()),
        lambda row: None if get(row) is None else list(get(row)),
        lambda value: None if value is None else tuple(value),
    )


def _parse_mapping(text: str | None) -> dict[str, str]:
    return dict(json.loads(text)) if text else {}


def _json_mapping_column(name: str, attribute: str | None = None) -> _Column:
    get = attrgetter(attribute or name)
    return _Column(name, pa.string(), lambda row: json.dumps(get(row)), _parse_mapping)


def namespaces_codec() -> RowCodec[NamespaceRow]:
    """Namespaces by name. Deleted ones keep their row, for its epoch."""
    columns = [
        _text_column("name"),
        _Column("epoch", pa.int64(), attrgetter("epoch")),
        _string_list_column("incarnations"),
        _timestamp_column("created_at"),
        _timestamp_column("updated_at"),
        _text_column("supporting_context"),
        _text_column("description"),
        _json_mapping_column("buckets"),
        _Column("recall_log", pa.bool_(), attrgetter("recall_log"), bool),
    ]
    return _build_codec("namespaces", "name", columns, NamespaceRow)


def organization_codec() -> RowCodec[OrganizationState]:
    columns = [
        _Column("name", pa.string(), lambda _: "organization"),
        _Column("context", pa.string(), attrgetter("row.context")),
        _json_mapping_column("buckets", "row.buckets"),
        _timestamp_column("updated_at"),
    ]

    def build(name: str, context: str | None, buckets: dict[str, str], updated_at: datetime) -> OrganizationState:
        del name
        return OrganizationState(OrganizationRow(context=context, buckets=buckets), updated_at)

    return _build_codec("organization", "name", columns, build)


def api_keys_codec() -> RowCodec[ApiKeyRow]:
    columns = [
        *map(_text_column, ("id", "name", "sha256", "role")),
        *map(_string_list_column, ("namespaces", "scopes")),
        *map(_timestamp_column, ("created_at", "expires_at", "revoked_at", "changed_at", "previous_until")),
        *map(_text_column, ("previous_sha256", "issuer")),
        *map(
            _integer_column, ("rate_limit", "monthly_documents", "monthly_searches", "monthly_bytes", "monthly_tokens")
        ),
    ]
    return _build_codec("keys", "id", columns, ApiKeyRow)


def operations_codec() -> RowCodec[OperationRow]:
    columns = [
        *map(_text_column, ("id", "kind", "source", "target", "status", "error")),
        *map(_timestamp_column, ("created_at", "updated_at")),
    ]
    return _build_codec("operations", "id", columns, OperationRow)


def connectors_codec() -> RowCodec[ConnectorChanged]:
    """Connectors by id, each in the state of its latest event."""
    columns = [_text_column("id"), _Column("state", pa.string(), ConnectorChanged.model_dump_json)]

    def build(id: str, state: str) -> ConnectorChanged:  # noqa: A002 - the column's name
        del id
        return ConnectorChanged.model_validate_json(state)

    return _build_codec("connectors", "id", columns, build)


def sync_runs_codec() -> RowCodec[SyncRunsRow]:
    """Latest sync runs by connector."""
    columns = [
        _text_column("connector"),
        _Column(
            "runs", pa.string(), lambda row: _RUNS_ADAPTER.dump_json(row.runs).decode(), _RUNS_ADAPTER.validate_json
        ),
        _timestamp_column("succeeded_at"),
    ]
    return _build_codec("syncs", "connector", columns, SyncRunsRow)


def tombstones_codec() -> RowCodec[TombstoneRow]:
    """Deleted documents by key."""
    columns = [_text_column("key"), _Column("seq", pa.int64(), attrgetter("seq"))]
    return replace(_build_codec("tombstones", "key", columns, TombstoneRow), short_lived=True)


def _build_codec(table: str, key: str, columns: Sequence[_Column], build: Callable[..., Row]) -> RowCodec[Row]:
    # Every table has an incarnation column; these rows belong to none.
    fields = [pa.field(column.name, column.type, nullable=column.name != key) for column in columns]
    schema = pa.schema([pa.field("incarnation", pa.string(), nullable=False), *fields])
    get = columns[0].encode

    def encode(rows: Sequence[Row]) -> pa.Table:
        arrays = [_to_arrow(column, rows) for column in columns]
        return pa.table([string_array("" for _ in rows), *arrays], schema=schema)

    def decode(read: pa.Table) -> list[Row]:
        values = [map(column.decode, to_python_values(read, column.name)) for column in columns]
        names = [column.name for column in columns]
        return [build(**dict(zip(names, row_values, strict=True))) for row_values in zip(*values, strict=True)]

    return RowCodec(
        table=table,
        schema=schema,
        entity_key_column=key,
        id_column=key,
        entity_key_of=get,
        id_of=get,
        incarnation_of=lambda _: "",
        encode=encode,
        decode=decode,
        size_bytes=lambda _: 1024,
        sort_key=get,
    )


def _to_arrow(column: _Column, rows: Sequence[Any]) -> pa.Array:
    values = map(column.encode, rows)
    if column.type == pa.string():
        return string_array(values)
    return timestamp_array(values) if column.type == TIMESTAMP else pa.array(list(values), column.type)
