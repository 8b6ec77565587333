"""Arrow for the small tables: namespaces, organization, keys, operations; one row per name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, TypeVar

import pyarrow as pa
from pydantic import TypeAdapter

from pipeline.rows import KeyRow, NamespaceRow, OperationRow, OrganizationRow, SyncsRow
from pipeline.store.codec import TIME, Codec, column_values, strings, times
from pipeline.store.tombstones import TombstoneRow
from pipeline.store.values import mapping_json, mapping_of
from schemas.events import ConnectorChanged, SyncReported

Row = TypeVar("Row")

_RUNS = TypeAdapter(tuple[SyncReported, ...])
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class OrganizationState:
    """The organization's row with the time of its newest change."""

    row: OrganizationRow = field(default_factory=OrganizationRow)
    updated_at: datetime = _BEGINNING


@dataclass(frozen=True, slots=True)
class _Column:
    """A column: how it is written from a row, and how its value comes back."""

    name: str
    type: pa.DataType
    write: Callable[[Any], Any]
    read: Callable[[Any], Any] = lambda value: value


def _text(name: str) -> _Column:
    return _Column(name, pa.string(), attrgetter(name))


def _time(name: str) -> _Column:
    return _Column(name, TIME, attrgetter(name))


def _number(name: str) -> _Column:
    return _Column(name, pa.int64(), attrgetter(name))


def _names(name: str) -> _Column:
    get = attrgetter(name)
    return _Column(
        name,
        pa.list_(pa.string()),
        lambda row: None if get(row) is None else list(get(row)),
        lambda value: None if value is None else tuple(value),
    )


def _mapping(name: str, attribute: str | None = None) -> _Column:
    get = attrgetter(attribute or name)
    return _Column(name, pa.string(), lambda row: mapping_json(get(row)), mapping_of)


def namespaces() -> Codec[NamespaceRow]:
    """Namespaces by name; those that lost all spaces stay, for their generation."""
    columns = [
        _text("name"),
        _Column("generation", pa.int64(), attrgetter("generation")),
        _names("spaces"),
        _time("created_at"),
        _time("updated_at"),
        _text("supporting_context"),
        _text("description"),
        _mapping("buckets"),
    ]
    return _codec("namespaces", "name", columns, NamespaceRow)


def organization() -> Codec[OrganizationState]:
    """The one row of the organization."""
    columns = [
        _Column("name", pa.string(), lambda _: "organization"),
        _Column("context", pa.string(), attrgetter("row.context")),
        _mapping("buckets", "row.buckets"),
        _time("updated_at"),
    ]

    def build(
        name: str, context: str | None, buckets: dict[str, str], updated_at: datetime
    ) -> OrganizationState:
        del name
        return OrganizationState(OrganizationRow(context=context, buckets=buckets), updated_at)

    return _codec("organization", "name", columns, build)


def keys() -> Codec[KeyRow]:
    """API keys by id."""
    columns = [
        *map(_text, ("id", "name", "sha256", "role")),
        _names("namespaces"),
        *map(_time, ("created_at", "expires_at", "revoked_at", "changed_at", "previous_until")),
        _text("previous_sha256"),
        *map(_number, ("rate_limit", "monthly_documents", "monthly_searches")),
    ]
    return _codec("keys", "id", columns, KeyRow)


def operations() -> Codec[OperationRow]:
    """Operations by id."""
    columns = [
        *map(_text, ("id", "kind", "source", "target", "status", "error")),
        *map(_time, ("created_at", "updated_at")),
    ]
    return _codec("operations", "id", columns, OperationRow)


def connectors() -> Codec[ConnectorChanged]:
    """Connectors by id, each as its newest event says."""
    columns = [_text("id"), _Column("state", pa.string(), ConnectorChanged.model_dump_json)]

    def build(id: str, state: str) -> ConnectorChanged:  # noqa: A002 - the column's name
        del id
        return ConnectorChanged.model_validate_json(state)

    return _codec("connectors", "id", columns, build)


def syncs() -> Codec[SyncsRow]:
    """The newest runs of each connector."""
    columns = [
        _text("connector"),
        _Column("runs", pa.string(), lambda row: _RUNS.dump_json(row.runs).decode(), _RUNS.validate_json),
        _time("succeeded_at"),
    ]
    return _codec("syncs", "connector", columns, SyncsRow)


def tombstones() -> Codec[TombstoneRow]:
    """Deleted documents by key."""
    columns = [_text("key"), _Column("seq", pa.int64(), attrgetter("seq"))]
    return replace(_codec("tombstones", "key", columns, TombstoneRow), fleeting=True)


def _codec(table: str, key: str, columns: Sequence[_Column], build: Callable[..., Row]) -> Codec[Row]:
    # Every table has a space; the rows of these belong to none.
    fields = [pa.field(column.name, column.type, nullable=column.name != key) for column in columns]
    schema = pa.schema([pa.field("space", pa.string(), nullable=False), *fields])
    get = columns[0].write

    def encode(rows: Sequence[Row]) -> pa.Table:
        arrays = [_array(column, rows) for column in columns]
        return pa.table([strings("" for _ in rows), *arrays], schema=schema)

    def decode(read: pa.Table) -> list[Row]:
        values = [map(column.read, column_values(read, column.name)) for column in columns]
        names = [column.name for column in columns]
        return [build(**dict(zip(names, one, strict=True))) for one in zip(*values, strict=True)]

    return Codec(
        table=table,
        schema=schema,
        group=key,
        id=key,
        group_of=get,
        id_of=get,
        space_of=lambda _: "",
        encode=encode,
        decode=decode,
        weight=lambda _: 1024,
        order=get,
    )


def _array(column: _Column, rows: Sequence[Any]) -> pa.Array:
    values = map(column.write, rows)
    if column.type == pa.string():
        return strings(values)
    return times(values) if column.type == TIME else pa.array(list(values), column.type)
