"""LanceDB tables by their names: there already, or made."""

import pyarrow as pa
from lancedb import AsyncConnection, AsyncTable


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
