"""What each connector knows of its source: a LanceDB table of its own, so one run at a time is one writer.

Beside the tables, not among them: this can't be computed from the log, and survives a replay. Losing it is
harmless: the next run lists everything again, and finds every document under its id.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Literal

import lancedb
import pyarrow as pa
from lancedb import AsyncConnection

from pipeline.store.base import Base
from pipeline.store.codec import Codec, among, column_values, quoted, strings
from pipeline.store.disk import Disk
from pipeline.store.tables import open_if_there

FOLDER = "connectors"
_PAGE = 2000
_UPKEEP_COMMITS = 64
_SECRETS = pa.schema([pa.field("sealed", pa.string())])
_AT_ONCE = timedelta(milliseconds=1)
StateKind = Literal["item", "failed", "note", "run"]


@dataclass(frozen=True, slots=True)
class StateRow:
    """An item with its document, an item that failed, a provider's note, or the run itself.

    `version` is the provider's, `value` a digest, a note's text or the run as JSON; `seen`: the number of the
    complete listing that named it last.
    """

    kind: StateKind
    id: str
    version: str = ""
    value: str = ""
    seen: int = 0

    @property
    def key(self) -> str:
        """The row's key in its table."""
        return f"{self.kind}/{self.id}"


_SCHEMA = pa.schema(
    [
        pa.field("space", pa.string(), nullable=False),
        pa.field("key", pa.string(), nullable=False),
        pa.field("kind", pa.string()),
        pa.field("id", pa.string()),
        pa.field("version", pa.string()),
        pa.field("value", pa.string()),
        pa.field("seen", pa.int64()),
    ]
)
_NAMES = ("kind", "id", "version", "value", "seen")


def _encode(rows: Sequence[StateRow]) -> pa.Table:
    texts = [strings(getattr(row, name) for row in rows) for name in _NAMES[:-1]]
    arrays = [strings("" for _ in rows), strings(row.key for row in rows), *texts]
    return pa.table([*arrays, pa.array([row.seen for row in rows], pa.int64())], schema=_SCHEMA)


def _decode(table: pa.Table) -> list[StateRow]:
    columns = [column_values(table, name) for name in _NAMES]
    return [StateRow(*values) for values in zip(*columns, strict=True)]


def _codec(table: str) -> Codec[StateRow]:
    return Codec(
        table=table,
        schema=_SCHEMA,
        group="key",
        id="key",
        group_of=lambda row: row.key,
        id_of=lambda row: row.key,
        space_of=lambda _: "",
        encode=_encode,
        decode=_decode,
        weight=lambda row: 256 + len(row.id) + len(row.value),
        order=lambda row: row.key,
    )


class ConnectorState:
    """One connector's state, opened by whoever holds the connector's lock."""

    def __init__(self, base: Base[StateRow]) -> None:
        self._base = base
        self._commits = 0

    async def get(self, kind: StateKind, ids: Collection[str]) -> dict[str, StateRow]:
        """The rows of these ids that are there."""
        found = await self._base.fetch([f"{kind}/{id_}" for id_ in ids])
        return {row.id: row for rows in found.values() for row in rows}

    async def commit(self, rows: Collection[StateRow], gone: Collection[StateRow] = ()) -> None:
        """Write these rows at once, then let those go; on disk on return."""
        changed: dict[str, Sequence[StateRow]] = {row.key: [row] for row in rows}
        await self._base.commit(changed)
        left = [row.key for row in gone if row.key not in changed]
        if left:
            await self._base.commit(dict.fromkeys(left, ()))
        self._commits += 1
        if self._commits >= _UPKEEP_COMMITS:
            await self.tidy()

    async def pages(
        self, kind: StateKind, *, prefix: str = "", unseen_since: int | None = None
    ) -> AsyncIterator[list[StateRow]]:
        """Rows of a kind by id, some thousand at a time: with this prefix, not seen since that listing."""
        condition = f"kind = {quoted(kind)}"
        if prefix:
            condition += f" AND starts_with(id, {quoted(prefix)})"
        if unseen_since is not None:
            condition += f" AND seen < {unseen_since}"
        keys = await self._base.scan(condition, ["key"])
        ordered = await asyncio.to_thread(lambda: sorted(column_values(keys, "key")))
        bounds = [*range(0, len(ordered), _PAGE), len(ordered)]
        for start, end in pairwise(bounds):
            found = await self._base.fetch(ordered[start:end])
            yield [row for key in ordered[start:end] for row in found.get(key, ())]

    async def count(self, *kinds: StateKind, seen: int | None = None) -> int:
        """How many rows of these kinds there are, and of those how many that listing has seen."""
        condition = among("kind", kinds) + ("" if seen is None else f" AND seen = {seen}")
        rows: int = (await self._base.scan(condition, ["seen"])).num_rows
        return rows

    async def tidy(self) -> None:
        """Merge what many commits left."""
        self._commits = 0
        await self._base.maintain()


class ConnectorStates:
    """The states and the sealed secrets of all connectors, under one URI."""

    def __init__(self, connection: AsyncConnection, folder: Path | None) -> None:
        self._connection = connection
        self._folder = folder
        self._turn = asyncio.Lock()

    @classmethod
    async def open(cls, uri: str, storage: Mapping[str, str] | None = None) -> "ConnectorStates":
        """In a folder or at an object store's URI, with its options."""
        folder = await asyncio.to_thread(_made, uri)
        connection = await lancedb.connect_async(
            uri if folder is None else str(folder),
            storage_options=None if storage is None else dict(storage),
        )
        return cls(connection, folder)

    @asynccontextmanager
    async def state(self, connector: str) -> AsyncIterator[ConnectorState]:
        """The state of a connector, whose lock the caller holds."""
        name = f"state_{connector}"
        state = ConnectorState(
            await Base.open(self._connection, self._folder, name, _codec(name), self._turn)
        )
        yield state
        await state.tidy()

    async def sealed(self, connector: str) -> str | None:
        """The sealed secrets of a connector; under the same lock as `seal`."""
        table = await open_if_there(self._connection, f"secrets_{connector}")
        if table is None:
            return None
        rows: list[str] = (await table.query().to_arrow()).column("sealed").to_pylist()
        return rows[0] if rows else None

    async def seal(self, connector: str, sealed: str) -> None:
        """Replace them, on disk on return; earlier ones are erased. One caller at a time per connector."""
        name, rows = f"secrets_{connector}", pa.table([[sealed]], schema=_SECRETS)
        table = await open_if_there(self._connection, name)
        if table is None:
            await self._connection.create_table(name, rows)
        else:
            await table.add(rows, mode="overwrite")
            await table.optimize(cleanup_older_than=_AT_ONCE, delete_unverified=True)
        if self._folder is not None:
            await asyncio.to_thread(Disk(self._folder / f"{name}.lance").sync)

    async def drop(self, connector: str) -> None:
        """Forget everything about a connector."""
        for name in (f"state_{connector}", f"secrets_{connector}"):
            await self._connection.drop_table(name, ignore_missing=True)


def _made(uri: str) -> Path | None:
    if "://" in uri:
        return None
    folder = Path(uri).resolve()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder
