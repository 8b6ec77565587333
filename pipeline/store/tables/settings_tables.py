"""Codecs of the small tables: operations, answers, sync runs, tombstones; one row per key."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, TypeVar

import pyarrow as pa
from pydantic import TypeAdapter

from pipeline.rows import AnswerRow, OperationRow, SyncRunsRow
from pipeline.store.lancedb.row_codec import TIMESTAMP, RowCodec, string_array, timestamp_array, to_python_values
from pipeline.store.tables.tombstones_table import TombstoneRow
from schemas.events import SyncReported

Row = TypeVar("Row")

_RUNS_ADAPTER = TypeAdapter(tuple[SyncReported, ...])


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


def operations_codec() -> RowCodec[OperationRow]:
    columns = [
        *map(_text_column, ("id", "kind", "source", "target", "status", "error")),
        *map(_timestamp_column, ("created_at", "updated_at")),
    ]
    return _build_codec("operations", "id", columns, OperationRow)


def answers_codec() -> RowCodec[AnswerRow]:
    columns = [
        *map(_text_column, ("key", "request", "body")),
        _Column("status", pa.int64(), attrgetter("status")),
        _timestamp_column("at"),
    ]
    return replace(_build_codec("answers", "key", columns, AnswerRow), short_lived=True)


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
