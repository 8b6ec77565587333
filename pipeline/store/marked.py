"""The columns by which processes that share a table see what the others did to its rows.

A row that goes stays for a while as a tombstone: blank but for its id, group and space, and marked `gone`.
`stamp` is the version of the table that a row came with.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.store.codec import Codec
from pipeline.store.stored import Stored

Row = TypeVar("Row")

_PRIMARY_KEY = {b"lance-schema:unenforced-primary-key": b"true"}
"""With it two merges that insert the same id at a time conflict, and the later one sees the earlier's row."""
_STAMP = pa.field("stamp", pa.int64(), nullable=False)
_GONE = pa.field("gone", pa.bool_(), nullable=False)


class Marked(Stored[Row]):
    """Rows that are in LanceDB and not gone."""

    async def take(self, places: Sequence[int], columns: Sequence[str] | None = None) -> pa.Table:
        """As `Stored.take`."""
        found = await super().take(places, columns if columns is None else [*columns, _GONE.name])
        live = found.filter(pc.invert(found.column(_GONE.name)))
        return live if columns is None else live.drop_columns(_GONE.name)

    async def _index(self) -> None:
        await self._index_when_large([self._codec.group, self._codec.id])

    def _query(self, where: str | None, columns: Sequence[str] | None) -> Any:
        return self._all("NOT gone" if where is None else f"({where}) AND NOT gone", columns)

    def _all(self, where: str, columns: Sequence[str] | None) -> Any:
        """With those that went."""
        return super()._query(where, columns)


def schema(codec: Codec[Any]) -> pa.Schema:
    """The codec's, with the marks."""
    fields = [
        field.with_metadata(_PRIMARY_KEY) if field.name == codec.id else field for field in codec.schema
    ]
    return pa.schema([*fields, _STAMP, _GONE])


def marked(rows: pa.Table, stamp: int, *, gone: bool) -> pa.Table:
    """Encoded rows with the same marks for all."""
    count = rows.num_rows
    stamped = rows.append_column(_STAMP, pa.array(np.full(count, stamp, np.int64)))
    return stamped.append_column(_GONE, pa.array(np.full(count, gone)))
