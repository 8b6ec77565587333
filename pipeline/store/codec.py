"""How rows of one kind become Arrow and come back; the only place that knows both sides."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate, chain, pairwise
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipeline.rows import Terms, Texts, Vector

Row = TypeVar("Row")

TIME = pa.timestamp("us", "UTC")


@dataclass(frozen=True, slots=True)
class Codec(Generic[Row]):
    """One kind of row. `group` and `id` name columns; a group's rows are kept in the order of `order`.

    `encode` and `decode` work on whole Arrow tables; `decode` fills columns that were not read with nothing.
    `counted` says which rows `Table.count` counts, `counted_where` the same for LanceDB.
    """

    table: str
    schema: pa.Schema
    group: str
    id: str
    group_of: Callable[[Row], str]
    id_of: Callable[[Row], str]
    space_of: Callable[[Row], str]
    encode: Callable[[Sequence[Row]], pa.Table]
    decode: Callable[[pa.Table], list[Row]]
    weight: Callable[[Row], int]
    order: Callable[[Row], Any]
    counted: Callable[[Row], bool] = lambda _: True
    counted_where: str | None = None
    keys: Callable[[Row], Iterable[str]] | None = None
    """What else a row is found by: kept as links beside the table."""
    large: frozenset[str] = frozenset()
    """Columns that `decode` does without where they are not needed."""
    fleeting: bool = False
    """Whether rows of a shared table are dropped a day or so after they were written."""
    recent_bytes: int = 512 * 1024
    """How much of what was just flushed stays in memory, for the next stage asks for it at once."""

    @property
    def light(self) -> list[str]:
        """The columns without the large ones."""
        return [name for name in self.schema.names if name not in self.large]

    @property
    def single(self) -> bool:
        """Whether a group is one row."""
        return self.group == self.id

    def grouped(self, rows: Iterable[Row]) -> dict[str, list[Row]]:
        """Rows by group, each group in order."""
        groups: dict[str, list[Row]] = {}
        for row in rows:
            groups.setdefault(self.group_of(row), []).append(row)
        for members in groups.values():
            members.sort(key=self.order)
        return groups


def quoted(text: str) -> str:
    """A string literal of LanceDB's SQL: nothing but the quote itself needs care."""
    return "'" + storable(text).replace("'", "''") + "'"


def storable(text: str) -> str:
    """The text as UTF-8 can hold it: half a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def among(column: str, values: Iterable[str]) -> str:
    """The condition that a column holds one of these values."""
    literals = ",".join(map(quoted, values))
    return f"{column} IN ({literals})" if literals else "false"


def strings(values: Iterable[str | None]) -> pa.Array:
    """Strings to Arrow, made storable."""
    listed = list(values)
    try:
        return pa.array(listed, pa.string())
    except UnicodeEncodeError:
        return pa.array([value and storable(value) for value in listed], pa.string())


def columns_of(kind: pa.DataType, columns: Iterable[Iterable[Any]]) -> list[pa.Array]:
    """Columns of one type and length, cut from one array: to make one takes 3 µs, however short it is."""
    listed = [list(column) for column in columns]
    flat = list(chain.from_iterable(listed))
    whole = strings(flat) if kind == pa.string() else pa.array(flat, kind)
    rows = len(listed[0])
    return [whole.slice(at * rows, rows) for at in range(len(listed))]


def string_lists(values: Iterable[Sequence[str]]) -> pa.Array:
    """Lists of strings to Arrow."""
    listed = list(values)
    offsets = pa.array(accumulate(map(len, listed), initial=0), pa.int32())
    return pa.ListArray.from_arrays(offsets, strings(chain.from_iterable(listed)))


def times(values: Iterable[datetime | None]) -> pa.Array:
    """Times to Arrow."""
    return pa.array(list(values), TIME)


def vectors(values: Sequence[Vector], dimensions: int) -> pa.Array:
    """Vectors to Arrow."""
    flat = np.concatenate(values) if values else np.zeros(0, np.float32)
    return pa.FixedSizeListArray.from_arrays(pa.array(flat.astype(np.float32, copy=False)), dimensions)


def terms(values: Sequence[Terms]) -> pa.Array:
    """Term lists to Arrow."""
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum([len(value) for value in values], out=offsets[1:])
    flat = np.concatenate(values) if values else np.zeros(0, np.uint32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat.astype(np.uint32, copy=False)))


def objects(values: Iterable[dict[str, str]]) -> pa.Array:
    """Flat objects of strings to Arrow's JSON type."""
    texts = (json.dumps({name: storable(text) for name, text in value.items()}) for value in values)
    return pa.ExtensionArray.from_storage(pa.json_(), strings(texts))


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """The column in one piece."""
    combined = column.combine_chunks()
    return combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.chunks)


def text_column(column: pa.ChunkedArray) -> Texts:
    """Strings without a Python object for each, empty where missing; else nothing but offsets is copied."""
    if column.null_count:
        # LanceDB leaves any bytes beneath what is missing: those of the others, where these are all alike.
        column = pc.fill_null(column, "")
    array = one_array(column).cast(pa.large_string())
    _, offsets, data = array.buffers()
    bounds = (
        np.frombuffer(offsets, np.int64, len(array) + 1, array.offset * 8)
        if offsets
        else np.zeros(1, np.int64)
    )
    return Texts(memoryview(data if data is not None else b"").cast("B"), bounds)


def number_column(column: pa.ChunkedArray, kind: type[np.generic]) -> NDArray[Any]:
    """Numbers, booleans or times (as microseconds since 1970)."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return np.asarray(column.to_numpy()).astype(kind, copy=False)


def vector_column(column: pa.ChunkedArray) -> NDArray[np.float32]:
    """Vectors as one matrix."""
    matrix: NDArray[np.float32] = one_array(column).flatten().to_numpy(zero_copy_only=False)
    return matrix.reshape(len(column), column.type.list_size)


def term_column(column: pa.ChunkedArray) -> tuple[Terms, NDArray[np.int64]]:
    """All terms end to end, and where each row's begin."""
    array = one_array(column)
    offsets = array.offsets.to_numpy().astype(np.int64)
    return array.flatten().to_numpy(zero_copy_only=False).astype(np.uint32, copy=False), offsets - offsets[0]


def joined_column(column: pa.ChunkedArray) -> Texts:
    """Lists of strings, each joined by a space."""
    return text_column(pc.binary_join(column, " "))


def column_values(table: pa.Table, name: str, missing: Any = None) -> list[Any]:
    """A column as Python values; a column that was not read is `missing` throughout."""
    if name not in table.column_names:
        return [missing] * table.num_rows
    values: list[Any] = table.column(name).to_pylist()
    return values


def vector_values(table: pa.Table) -> list[Vector]:
    """One small array per row, so that a row that is kept does not keep its whole batch alive."""
    return [vector.copy() for vector in vector_column(table.column("vector"))]


def term_values(table: pa.Table) -> list[Terms]:
    """One small array per row."""
    flat, offsets = term_column(table.column("terms"))
    return [flat[start:end].copy() for start, end in pairwise(offsets)]
