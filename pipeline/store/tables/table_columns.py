"""Columns of a table: from one list its schema, its rows as Arrow arrays, and the rows that these hold."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, repeat
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Generic

import numpy as np
import pyarrow as pa

from pipeline.ports import Row
from pipeline.store.lancedb.row_codec import (
    TERM_LIST,
    RowCodec,
    string_list_array,
    term_list_array,
    to_term_lists,
    to_vectors,
    typed_arrays,
    vector_array,
    vector_type,
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column, and how a row's value is written to it and read back; without further words, as it is."""

    name: str
    type: pa.DataType
    nullable: bool = False
    get: Callable[[Any], Any] | None = None
    """Returns what is written of a row; None: its attribute of the column's name."""
    to_array: Callable[[Sequence[Any]], pa.Array] | None = None
    """Encodes values; None: as Arrow does values of the type."""
    to_values: Callable[[pa.ChunkedArray], Iterable[Any]] = pa.ChunkedArray.to_pylist
    default: Any = None
    """Value where the column was not read."""
    is_derived: bool = False
    """True if it follows from other columns, and no row holds it."""

    @property
    def field(self) -> pa.Field:
        return pa.field(self.name, self.type, nullable=self.nullable)

    def values_of(self, rows: Sequence[Any]) -> Iterable[Any]:
        return map(self.get or attrgetter(self.name), rows)

    def read_from(self, table: pa.Table) -> Iterable[Any]:
        if self.name not in table.column_names:
            return repeat(self.default, table.num_rows)
        return self.to_values(table.column(self.name))


def plain_columns(
    data_type: pa.DataType, *names: str, nullable: bool = False, defaults: Mapping[str, Any] = MappingProxyType({})
) -> list[Column]:
    """Return columns of one type whose values are stored as they are."""
    return [Column(name, data_type, nullable, default=defaults.get(name)) for name in names]


def parsed_column(name: str, get: Callable[[Any], str | None], parse: Callable[[Any], Any], default: Any) -> Column:
    """Return a nullable column of texts, each of which `parse` turns back into a value."""
    return Column(name, pa.string(), True, get, to_values=lambda read: map(parse, read.to_pylist()), default=default)


def text_list_column(name: str) -> Column:
    """Return a column of lists of texts, tuples in the rows."""
    return Column(
        name,
        pa.list_(pa.string()),
        to_array=string_list_array,
        to_values=lambda read: map(tuple, read.to_pylist()),
        default=(),
    )


def index_columns(dimensions: int) -> list[Column]:
    """Return the columns by which a row is found: its vector and its terms; empty where they were not read."""
    return [
        Column(
            "vector",
            vector_type(dimensions),
            to_array=lambda vectors: vector_array(vectors, dimensions),
            to_values=to_vectors,
            default=np.zeros(0, np.float32),
        ),
        Column("terms", TERM_LIST, to_array=term_list_array, to_values=to_term_lists, default=np.zeros(0, np.uint32)),
    ]


@dataclass(frozen=True, slots=True)
class TableColumns(Generic[Row]):
    """The columns of one kind of row. `build` makes a row of their values by name."""

    columns: Sequence[Column]
    build: Callable[..., Row]

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([column.field for column in self.columns])

    def encode(self, rows: Sequence[Row], names: Sequence[str] | None = None) -> pa.Table:
        """Encode rows as Arrow: all columns, or those named, in that order."""
        chosen = [column for column in self.columns if names is None or column.name in names]
        arrays: list[pa.Array] = []
        for (data_type, is_plain), group in groupby(chosen, lambda column: (column.type, not column.to_array)):
            if is_plain:
                arrays += typed_arrays(data_type, (column.values_of(rows) for column in group))
            else:
                arrays += [column.to_array(list(column.values_of(rows))) for column in group if column.to_array]
        table = pa.table(arrays, schema=pa.schema([column.field for column in chosen]))
        return table if names is None else table.select(names)

    def decode(self, table: pa.Table) -> list[Row]:
        """Decode Arrow to rows; columns that were not read get their defaults."""
        stored = [column for column in self.columns if not column.is_derived]
        names = [column.name for column in stored]
        values = zip(*(column.read_from(table) for column in stored), strict=True)
        return [self.build(**dict(zip(names, row_values, strict=True))) for row_values in values]


def keyed_codec(table: str, key: str, columns: Sequence[Column], build: Callable[..., Row]) -> RowCodec[Row]:
    """Return the codec of a table with one row per key, which belongs to no incarnation."""
    incarnation = Column("incarnation", pa.string(), get=lambda _: "", is_derived=True)
    required = [replace(column, nullable=column.name != key) for column in columns]
    all_columns = TableColumns([incarnation, *required], build)
    return RowCodec(
        table=table,
        schema=all_columns.schema,
        entity_key_column=key,
        id_column=key,
        entity_key_of=attrgetter(key),
        id_of=attrgetter(key),
        incarnation_of=lambda _: "",
        encode=all_columns.encode,
        decode=all_columns.decode,
        size_bytes=lambda _: 1024,
        sort_key=attrgetter(key),
    )
