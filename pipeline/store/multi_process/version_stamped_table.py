"""Version columns, by which processes that share a table see what others did to its rows.

A deleted row stays for a while as a tombstone: marked `deleted`, and blank but for its id, entity key and
incarnation. `row_version` is the table version that a row was written with.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.ports import Row
from pipeline.store.lancedb.lance_table import LanceTable
from pipeline.store.lancedb.row_codec import RowCodec
from pipeline.store.single_process.exclusive_lance_table import ExclusiveLanceTable

_PRIMARY_KEY = {b"lance-schema:unenforced-primary-key": b"true"}
"""Makes two concurrent merges that insert the same id conflict, so that the later one sees the earlier row.
"""
ROW_VERSION = pa.field("row_version", pa.int64(), nullable=False)
DELETED = pa.field("deleted", pa.bool_(), nullable=False)
_OLDEST_VERSION = 0
"""Older than any version: processes that open the table later read such rows as already seen."""


class VersionStampedTable(LanceTable[Row]):
    """LanceDB table with version columns; reads leave out deleted rows."""

    async def take_rows(self, row_ids: Sequence[int], columns: Sequence[str] | None = None) -> pa.Table:
        """Like `LanceTable.take_rows`, without deleted rows."""
        found = await super().take_rows(row_ids, columns if columns is None else [*columns, DELETED.name])
        live = found.filter(pc.invert(found.column(DELETED.name)))
        return live if columns is None else live.drop_columns(DELETED.name)

    def _indexed_columns(self) -> list[str]:
        return [self._codec.entity_key_column, self._codec.id_column]

    def _query(self, where: str | None, columns: Sequence[str] | None) -> Any:
        return self._query_with_deleted("NOT deleted" if where is None else f"({where}) AND NOT deleted", columns)

    def _query_with_deleted(self, where: str | None, columns: Sequence[str] | None) -> Any:
        """Query with deleted rows included."""
        return super()._query(where, columns)


class BulkLoadTable(VersionStampedTable[Row], ExclusiveLanceTable[Row]):
    """Table while one process fills it and no other knows of it yet.

    Writes as fast as `ExclusiveLanceTable`, with rows that `SharedLanceTable` reads.

    Deleted rows are removed at once, without a tombstone.
    """

    @classmethod
    def schema(cls, codec: RowCodec[Row]) -> pa.Schema:
        return schema(codec)

    def _encode(self, rows: Sequence[Row]) -> pa.Table:
        return with_version_columns(super()._encode(rows), _OLDEST_VERSION, deleted=False)


def schema(codec: RowCodec[Any]) -> pa.Schema:
    """The codec's schema with the version columns."""
    fields = [field.with_metadata(_PRIMARY_KEY) if field.name == codec.id_column else field for field in codec.schema]
    return pa.schema([*fields, ROW_VERSION, DELETED])


def with_version_columns(rows: pa.Table, row_version: int, *, deleted: bool) -> pa.Table:
    """Append the same version and deletion mark to every encoded row."""
    count = rows.num_rows
    stamped = rows.append_column(ROW_VERSION, pa.array(np.full(count, row_version, np.int64)))
    return stamped.append_column(DELETED, pa.array(np.full(count, deleted)))
