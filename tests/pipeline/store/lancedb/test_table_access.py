"""Tables are opened by name, and made where they are missing."""

from pathlib import Path

import lancedb
import pyarrow as pa
import pytest

from pipeline.store.lancedb import table_access
from pipeline.store.lancedb.table_access import open_or_create

pytestmark = pytest.mark.anyio

SCHEMA = pa.schema({"id": pa.string()})


async def test_a_table_that_another_process_makes_meanwhile_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, other = [await lancedb.connect_async(tmp_path) for _ in range(2)]
    look = table_access.open_if_exists

    async def looked_too_early(own: lancedb.AsyncConnection, name: str) -> lancedb.AsyncTable | None:
        found = await look(own, name)
        if own is connection:
            await (await open_or_create(other, name, SCHEMA)).add([{"id": "kettle"}])
        return found

    monkeypatch.setattr(table_access, "open_if_exists", looked_too_early)
    table = await open_or_create(connection, "documents", SCHEMA)
    assert await table.count_rows() == 1
