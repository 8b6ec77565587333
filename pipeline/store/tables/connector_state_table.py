"""Connector state: what each connector knows of its source, in a LanceDB table of its own with one writer.

Kept beside the generations, as the log cannot rebuild it. Losing it is harmless: the next run lists the
whole source again and finds every document under its id.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Literal

import pyarrow as pa
from lancedb import AsyncConnection

from pipeline.store.lancedb.row_codec import Column, RowCodec, in_condition, sql_literal
from pipeline.store.lancedb.table_access import connect, open_if_exists
from pipeline.store.lancedb.table_directory import TableDirectory, ensure_local_folder
from pipeline.store.single_process.exclusive_lance_table import ExclusiveLanceTable
from pipeline.store.tables.table_columns import keyed_codec, plain_columns

CONNECTORS_FOLDER = "connectors"
_PAGE_ROWS = 2000
_COMMITS_PER_COMPACTION = 64
_SECRETS_SCHEMA = pa.schema([pa.field("ciphertext", pa.string())])
_MIN_RETENTION = timedelta(milliseconds=1)
StateKind = Literal["item", "failed", "note", "run"]


@dataclass(frozen=True, slots=True)
class ConnectorStateRow:
    """An item with its document, a failed item, a provider's note, or the run itself.

    `version` is the provider's; `value` is a digest, a note's text or the run as JSON; `last_listing` is the
    number of the last complete listing that named it.
    """

    kind: StateKind
    id: str
    version: str = ""
    value: str = ""
    last_listing: int = 0

    @property
    def key(self) -> str:
        """Key of the row in its table."""
        return f"{self.kind}/{self.id}"


def _codec(table: str) -> RowCodec[ConnectorStateRow]:
    columns = [
        Column("key", pa.string(), is_derived=True),
        *plain_columns(pa.string(), "kind", "id", "version", "value"),
        *plain_columns(pa.int64(), "last_listing"),
    ]
    codec = keyed_codec(table, "key", columns, ConnectorStateRow)
    return replace(codec, size_bytes=lambda row: 256 + len(row.id) + len(row.value))


class ConnectorStateTable:
    """State of one connector, opened by the holder of its lock."""

    def __init__(self, lance_table: ExclusiveLanceTable[ConnectorStateRow]) -> None:
        self._lance_table = lance_table
        self._commits = 0

    async def get(self, kind: StateKind, ids: Collection[str]) -> dict[str, ConnectorStateRow]:
        found = await self._lance_table.get_rows([f"{kind}/{id_}" for id_ in ids])
        return {row.id: row for rows in found.values() for row in rows}

    async def commit(self, rows: Collection[ConnectorStateRow], deleted: Collection[ConnectorStateRow] = ()) -> None:
        """Write rows, then delete others; durable on return."""
        changed: dict[str, Sequence[ConnectorStateRow]] = {row.key: [row] for row in rows}
        await self._lance_table.commit(changed)
        deleted_keys = [row.key for row in deleted if row.key not in changed]
        if deleted_keys:
            await self._lance_table.commit(dict.fromkeys(deleted_keys, ()))
        self._commits += 1
        if self._commits >= _COMMITS_PER_COMPACTION:
            await self.compact()

    async def iterate_pages(
        self, kind: StateKind, *, prefix: str = "", not_in_listing: int | None = None
    ) -> AsyncIterator[list[ConnectorStateRow]]:
        """Iterate over rows of a kind by id, in pages: with this id prefix, not seen since that listing."""
        condition = f"kind = {sql_literal(kind)}"
        if prefix:
            condition += f" AND starts_with(id, {sql_literal(prefix)})"
        if not_in_listing is not None:
            condition += f" AND last_listing < {not_in_listing}"
        keys = await self._lance_table.scan(condition, ["key"])
        ordered = await asyncio.to_thread(lambda: sorted(keys.column("key").to_pylist()))
        bounds = [*range(0, len(ordered), _PAGE_ROWS), len(ordered)]
        for start, end in pairwise(bounds):
            found = await self._lance_table.get_rows(ordered[start:end])
            yield [row for key in ordered[start:end] for row in found.get(key, ())]

    async def count(self, *kinds: StateKind, in_listing: int | None = None) -> int:
        """Count the rows of these kinds, or those that the listing `in_listing` has seen."""
        condition = in_condition("kind", kinds) + ("" if in_listing is None else f" AND last_listing = {in_listing}")
        rows: int = (await self._lance_table.scan(condition, ["last_listing"])).num_rows
        return rows

    async def compact(self) -> None:
        """Merge the fragments that many commits left."""
        self._commits = 0
        await self._lance_table.maintain()


class ConnectorStateStore:
    """States and encrypted secrets of all connectors, under one URI."""

    def __init__(self, connection: AsyncConnection, folder: Path | None) -> None:
        self._connection = connection
        self._folder = folder
        self._maintenance_lock = asyncio.Lock()

    @classmethod
    async def open(cls, uri: str, storage: Mapping[str, str] | None = None) -> "ConnectorStateStore":
        """Open or create in a folder, or at an object store's URI with its options."""
        folder = await asyncio.to_thread(ensure_local_folder, uri, 0o700)
        return cls(await connect(uri, storage), folder)

    @asynccontextmanager
    async def open_state(self, connector: str) -> AsyncIterator[ConnectorStateTable]:
        """Open the state of a connector, whose lock the caller holds."""
        name = f"state_{connector}"
        state = ConnectorStateTable(
            await ExclusiveLanceTable.open(self._connection, self._folder, name, _codec(name), self._maintenance_lock)
        )
        yield state
        await state.compact()

    async def load_encrypted(self, connector: str) -> str | None:
        """Read the encrypted secrets of a connector, under the same lock as `store_encrypted`."""
        table = await open_if_exists(self._connection, f"secrets_{connector}")
        if table is None:
            return None
        rows: list[str] = (await table.query().to_arrow()).column("ciphertext").to_pylist()
        return rows[0] if rows else None

    async def store_encrypted(self, connector: str, encrypted: str) -> None:
        """Replace the encrypted secrets, durable on return; earlier ones are erased.

        One caller at a time per connector.
        """
        name, rows = f"secrets_{connector}", pa.table([[encrypted]], schema=_SECRETS_SCHEMA)
        table = await open_if_exists(self._connection, name)
        if table is None:
            await self._connection.create_table(name, rows)
        else:
            await table.add(rows, mode="overwrite")
            await table.optimize(cleanup_older_than=_MIN_RETENTION, delete_unverified=True)
        if self._folder is not None:
            await asyncio.to_thread(TableDirectory(self._folder / f"{name}.lance").fsync_new_files)

    async def delete_state(self, connector: str) -> None:
        """Forget everything about a connector."""
        for name in (f"state_{connector}", f"secrets_{connector}"):
            await self._connection.drop_table(name, ignore_missing=True)
