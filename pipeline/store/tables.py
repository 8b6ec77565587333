"""LanceDB tables by their names: there already, or made."""

import numpy as np
import pyarrow as pa
from lancedb import AsyncConnection, AsyncTable

PLACE = "_rowid"
"""LanceDB's name for where a row lies; good until the row is changed or merged into another fragment."""


async def open_if_there(connection: AsyncConnection, name: str) -> AsyncTable | None:
    """The table of this name; None where there is none yet."""
    try:
        return await connection.open_table(name)
    except ValueError as error:
        if "was not found" not in str(error):
            raise
        return None


async def open_or_create(connection: AsyncConnection, name: str, schema: pa.Schema) -> AsyncTable:
    """The table of this name. (LanceDB's own `exist_ok` refuses every schema that has a JSON column.)

    Columns that a table was made without are added to it, empty.
    """
    table = await open_if_there(connection, name)
    if table is None:
        return await connection.create_table(name, schema=schema)
    there = (await table.schema()).names
    if missing := [field for field in schema if field.name not in there]:
        await table.add_columns(pa.schema(missing))
    return table


async def delete_counted(table: AsyncTable, where: str) -> int:
    """Delete these rows of a table that nobody else changes meanwhile; how many there were."""
    before = await table.count_rows()
    await table.delete(where)
    return before - await table.count_rows()


async def newest_rows(table: AsyncTable, count: int, *, places: bool = False) -> pa.Table:
    """So many rows at the end of a table: those that came last, or were written anew last.

    `places`: with the column `PLACE`.
    """
    end = await table.count_rows()
    query = table.take_offsets(list(range(max(0, end - count), end)))
    return await (query.with_row_id() if places else query).to_arrow()


def sizes(places: pa.ChunkedArray) -> list[int]:
    """How many of the rows at these places each fragment has, the oldest fragment first."""
    _, counts = np.unique(places.to_numpy() >> np.uint64(32), return_counts=True)
    found: list[int] = counts.tolist()
    return found
