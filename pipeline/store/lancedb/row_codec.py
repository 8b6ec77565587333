"""Row codecs: conversion between the rows of one kind and Arrow tables, and helpers for single columns."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, groupby, pairwise, repeat
from operator import attrgetter
from typing import Any, Generic

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipeline.packed_vectors import pack, packed_bytes, unpack
from pipeline.ports import Row
from pipeline.rows import PackedVectors, StringColumn, Terms, Vector

TIMESTAMP = pa.timestamp("us", "UTC")
TERM_LIST = pa.list_(pa.field("item", pa.uint32(), metadata={"lance-encoding:compression": "zstd"}))
"""A third smaller than without compression, as the rows of a table have most terms in common."""


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


@dataclass(frozen=True, eq=False, kw_only=True)
class RowCodec(Generic[Row]):
    """Schema and conversion of one kind of row: from one list of columns."""

    table: str
    columns: Sequence[Column]
    build: Callable[..., Row]
    """Makes a row of the values of its columns by name."""
    entity_key_column: str
    id_column: str
    """The same column, if every entity has one row."""
    order_column: str | None = None
    """Orders the rows of an entity that has several."""
    incarnation_of: Callable[[Row], str] = attrgetter("incarnation")
    size_bytes: Callable[[Row], int]
    is_counted: Callable[[Row], bool] = lambda _: True
    """Selects the rows that per-incarnation counts include."""
    counted_filter: str | None = None
    """The same in SQL."""
    secondary_keys: Callable[[Row], Iterable[str]] | None = None
    """Further keys that a row is found by, kept in a secondary index."""
    large_columns: frozenset[str] = frozenset()
    """Columns that most readers do not need."""
    short_lived: bool = False
    """True if a shared table drops the rows about a day after they were written."""
    row_cache_bytes: int = 512 * 1024
    """Size of the cache of rows just written or read: the next stage reads them at once."""

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([column.field for column in self.columns])

    @cached_property
    def entity_key_of(self) -> Callable[[Row], str]:
        return attrgetter(self.entity_key_column)

    @cached_property
    def id_of(self) -> Callable[[Row], str]:
        return attrgetter(self.id_column)

    @property
    def projection_columns(self) -> list[str]:
        """Names of all columns but the large ones."""
        return [name for name in self.schema.names if name not in self.large_columns]

    @property
    def has_single_rows(self) -> bool:
        """True if every entity key has at most one row."""
        return self.entity_key_column == self.id_column

    def group_by_entity_key(self, rows: Iterable[Row]) -> dict[str, list[Row]]:
        rows_by_key: dict[str, list[Row]] = {}
        for row in rows:
            rows_by_key.setdefault(self.entity_key_of(row), []).append(row)
        if self.order_column is not None:
            order = attrgetter(self.order_column)
            for members in rows_by_key.values():
                members.sort(key=order)
        return rows_by_key

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


def sql_literal(text: str) -> str:
    """Quote a string for LanceDB's SQL, in which only the quote itself needs escaping."""
    return "'" + replace_lone_surrogates(text).replace("'", "''") + "'"


def replace_lone_surrogates(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, by question marks."""
    return text.encode("utf-8", "replace").decode()


def in_condition(column: str, values: Iterable[str]) -> str:
    literals = ",".join(map(sql_literal, values))
    return f"{column} IN ({literals})" if literals else "false"


def in_incarnations(incarnations: Iterable[str], *conditions: str) -> str:
    """Build the SQL condition of rows in these incarnations that meet all further conditions."""
    return " AND ".join([in_condition("incarnation", incarnations), *conditions])


def string_array(values: Iterable[str | None]) -> pa.Array:
    """Encode strings, with lone surrogates replaced."""
    listed = list(values)
    try:
        return pa.array(listed, pa.string())
    except UnicodeEncodeError:
        return pa.array([value and replace_lone_surrogates(value) for value in listed], pa.string())


def typed_arrays(data_type: pa.DataType, columns: Iterable[Iterable[Any]]) -> list[pa.Array]:
    """Encode columns of one type and length as slices of one array, since each array costs 3 µs."""
    listed = [list(column) for column in columns]
    flat = list(chain.from_iterable(listed))
    joined = string_array(flat) if data_type == pa.string() else pa.array(flat, data_type)
    rows = len(listed[0])
    return [joined.slice(index * rows, rows) for index in range(len(listed))]


def string_list_array(values: Iterable[Sequence[str]]) -> pa.Array:
    listed = list(values)
    offsets = pa.array(accumulate(map(len, listed), initial=0), pa.int32())
    return pa.ListArray.from_arrays(offsets, string_array(chain.from_iterable(listed)))


def vector_type(dimensions: int) -> pa.DataType:
    """Type of stored vectors: one byte for each number (`pipeline.packed_vectors`)."""
    return pa.list_(pa.int8(), packed_bytes(dimensions))


def vector_array(values: Sequence[Vector], dimensions: int) -> pa.Array:
    packed = pack(np.stack(values) if values else np.zeros((0, dimensions), np.float32))
    return pa.FixedSizeListArray.from_arrays(pa.array(packed.reshape(-1)), packed_bytes(dimensions))


def term_list_array(values: Sequence[Terms]) -> pa.Array:
    """Encode terms in ascending order: a term that a row has several times is then stored as one run."""
    values = [np.sort(value) for value in values]
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum([len(value) for value in values], out=offsets[1:])
    flat = np.concatenate(values) if values else np.zeros(0, np.uint32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat.astype(np.uint32, copy=False)), TERM_LIST)


def json_array(values: Iterable[dict[str, str]]) -> pa.Array:
    """Encode flat objects of strings as Arrow's JSON type."""
    texts = (json.dumps({name: replace_lone_surrogates(text) for name, text in value.items()}) for value in values)
    return pa.ExtensionArray.from_storage(pa.json_(), string_array(texts))


def combine_chunks(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    return combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.chunks)


def to_string_column(column: pa.ChunkedArray) -> StringColumn:
    """Decode strings without a Python object for each; null becomes empty. Copies only the offsets."""
    if column.null_count:
        # LanceDB leaves arbitrary bytes under null values.
        column = pc.fill_null(column, "")
    array = combine_chunks(column).cast(pa.large_string())
    _, offsets, data = array.buffers()
    bounds = np.frombuffer(offsets, np.int64, len(array) + 1, array.offset * 8) if offsets else np.zeros(1, np.int64)
    return StringColumn(memoryview(data if data is not None else b"").cast("B"), bounds)


def to_numpy(column: pa.ChunkedArray, dtype: type[np.generic]) -> NDArray[Any]:
    """Decode numbers, booleans or timestamps (as microseconds since 1970)."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return np.asarray(column.to_numpy()).astype(dtype, copy=False)


def to_packed_vectors(column: pa.ChunkedArray) -> PackedVectors:
    """Decode vectors to a matrix with a row for each."""
    flat: PackedVectors = combine_chunks(column).flatten().to_numpy()
    return flat.reshape(len(column), column.type.list_size)


def to_terms_and_offsets(column: pa.ChunkedArray) -> tuple[Terms, NDArray[np.int64]]:
    """Decode term lists to one flat array and the offset of each row in it."""
    array = combine_chunks(column)
    offsets = array.offsets.to_numpy().astype(np.int64)
    return array.flatten().to_numpy(zero_copy_only=False).astype(np.uint32, copy=False), offsets - offsets[0]


def to_joined_strings(column: pa.ChunkedArray) -> StringColumn:
    """Decode lists of strings, each joined by a space."""
    return to_string_column(pc.binary_join(column, " "))


def to_vectors(column: pa.ChunkedArray) -> list[Vector]:
    """Decode vectors to one small array per row, so that a kept row does not keep its batch alive."""
    return [vector.copy() for vector in unpack(to_packed_vectors(column))]


def to_term_lists(column: pa.ChunkedArray) -> list[Terms]:
    """Decode term lists to one small array per row."""
    flat, offsets = to_terms_and_offsets(column)
    return [flat[start:end].copy() for start, end in pairwise(offsets)]
