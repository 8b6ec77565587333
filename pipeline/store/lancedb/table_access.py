"""Open LanceDB tables by name, and read what compaction needs to know of them."""

from collections.abc import Awaitable, Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from lancedb import AsyncConnection, AsyncTable, connect_async

ROW_ID_COLUMN = "_rowid"
"""LanceDB's row address: valid until the row is changed or merged into another fragment."""


def connect(uri: str, storage: Mapping[str, str] | None = None, **options: Any) -> Awaitable[AsyncConnection]:
    """Connect to the tables in a folder, or at an object store's URI with its options; creates nothing."""
    # LanceDB would take a relative path for the name of a hosted database.
    place = uri if "://" in uri else str(Path(uri).resolve())
    return connect_async(place, storage_options=None if storage is None else dict(storage), **options)


async def open_if_exists(connection: AsyncConnection, name: str) -> AsyncTable | None:
    """Open the table of this name; None if it does not exist."""
    try:
        return await connection.open_table(name)
    except ValueError as error:
        if "was not found" not in str(error):
            raise
        return None


async def open_or_create(connection: AsyncConnection, name: str, schema: pa.Schema) -> AsyncTable:
    """Open or create a table. (LanceDB's `exist_ok` refuses every schema with a JSON column.)"""
    table = await open_if_exists(connection, name)
    if table is not None:
        return table
    try:
        return await connection.create_table(name, schema=schema)
    except ValueError as error:
        if "already exists" not in str(error):
            raise
        return await connection.open_table(name)  # another process was quicker


async def delete_and_count(table: AsyncTable, where: str) -> int:
    """Delete rows of a table that has no other writer, and return their number."""
    before = await table.count_rows()
    await table.delete(where)
    return before - await table.count_rows()


async def newest_rows(table: AsyncTable, count: int, *, with_row_ids: bool = False) -> pa.Table:
    """Read the last `count` rows of a table: those added or rewritten last.

    `with_row_ids` adds the column `ROW_ID_COLUMN`.
    """
    end = await table.count_rows()
    query = table.take_offsets(list(range(max(0, end - count), end)))
    return await (query.with_row_id() if with_row_ids else query).to_arrow()


def rows_of_fragments(row_ids: pa.ChunkedArray, fragments: Collection[int]) -> list[int]:
    """Return the row ids that are in these fragments, in order."""
    ids = row_ids.to_numpy()
    found: list[int] = ids[np.isin(ids >> np.uint64(32), np.fromiter(fragments, np.uint64))].tolist()
    return found


def fragment_sizes(row_ids: pa.ChunkedArray) -> list[int]:
    """Count the rows of each fragment, oldest first, from the row ids of a table."""
    _, counts = np.unique(row_ids.to_numpy() >> np.uint64(32), return_counts=True)
    sizes: list[int] = counts.tolist()
    return sizes


def count_deleted_rows(row_ids: pa.ChunkedArray) -> int:
    """Count the deleted rows that fragments hold before their last row, from the row ids of a table."""
    ids = np.sort(row_ids.to_numpy())
    fragments, starts = np.unique(ids >> np.uint64(32), return_index=True)
    if not len(fragments):
        return 0
    last = ids[np.append(starts[1:], len(ids)) - 1] & np.uint64(0xFFFFFFFF)
    return int(last.sum()) + len(fragments) - len(ids)
