"""Kinds of columns, and codecs of small tables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
from pydantic import TypeAdapter

from pipeline.ports import Row
from pipeline.store.lancedb.row_codec import (
    TERM_LIST,
    Column,
    RowCodec,
    string_list_array,
    term_list_array,
    to_term_lists,
    to_vectors,
    vector_array,
    vector_type,
)


def plain_columns(
    data_type: pa.DataType, *names: str, nullable: bool = False, defaults: Mapping[str, Any] = MappingProxyType({})
) -> list[Column]:
    """Return columns of one type whose values are stored as they are."""
    return [Column(name, data_type, nullable, default=defaults.get(name)) for name in names]


def parsed_column(name: str, get: Callable[[Any], str | None], parse: Callable[[Any], Any], default: Any) -> Column:
    """Return a nullable column of texts, each of which `parse` turns back into a value; null stands for the default."""

    def values(read: pa.ChunkedArray) -> Iterator[Any]:
        return (default if text is None else parse(text) for text in read.to_pylist())

    return Column(name, pa.string(), True, get, to_values=values, default=default)


def json_column(name: str, kind: Any, default: Any) -> Column:
    """Return a nullable column of values of a type, as JSON; null stands for the default."""
    adapter = TypeAdapter(kind)

    def dump(row: Any) -> str | None:
        value = getattr(row, name)
        return None if value == default else adapter.dump_json(value, exclude_defaults=True).decode()

    return parsed_column(name, dump, adapter.validate_json, default)


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


def keyed_codec(
    table: str, key: str, columns: Sequence[Column], build: Callable[..., Row], *, short_lived: bool = False
) -> RowCodec[Row]:
    """Return the codec of a table with one row per key, which belongs to no incarnation."""
    incarnation = Column("incarnation", pa.string(), get=lambda _: "", is_derived=True)
    required = [replace(column, nullable=column.name != key) for column in columns]
    return RowCodec(
        table=table,
        columns=[incarnation, *required],
        build=build,
        entity_key_column=key,
        id_column=key,
        incarnation_of=lambda _: "",
        size_bytes=lambda _: 1024,
        short_lived=short_lived,
    )
