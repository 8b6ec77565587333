"""One LanceDB table that several processes change, one commit at a time, under a lock.

Every commit is one merge of rows by id, which are marked as `pipeline.store.marked` says.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from lancedb import AsyncConnection

from pipeline.errors import LockLostError
from pipeline.ports import Hold
from pipeline.store.codec import Codec, among
from pipeline.store.disk import Disk, versions
from pipeline.store.marked import Marked, marked, schema
from pipeline.store.stored import give_back
from pipeline.store.tables import open_or_create

Row = TypeVar("Row")

_KEEP = timedelta(minutes=10)
_KEEP_OF_MANY = timedelta(minutes=2)
_MANY_VERSIONS = 600
"""How long readers of older versions find them. In a folder every look for the newest one lists them all, so
a busy table keeps fewer; no read takes minutes there."""


class SharedBase(Marked[Row]):
    """Rows that are in LanceDB and not gone. Whoever calls a method that changes them holds the lock."""

    @classmethod
    async def open(
        cls, connection: AsyncConnection, folder: Path | None, name: str, codec: Codec[Row]
    ) -> "SharedBase[Row]":
        """Open or create, under a lock. `folder` is the database's local folder, None for an object store."""
        table = await open_or_create(connection, name, schema(codec))
        disk = None if folder is None else await asyncio.to_thread(Disk, folder / f"{name}.lance")
        if disk is not None:
            await asyncio.to_thread(disk.sweep)
        base = cls(table, codec, disk)
        await base.open_links(connection, folder, name)
        return base

    @property
    def _has_json(self) -> bool:
        return any(field.type == pa.json_() for field in self._codec.schema)

    async def version(self) -> int:
        """The version that the next read sees, or an older one."""
        return int(await self._table.version())

    async def news(self, since: int) -> pa.Table:
        """Group and space of every row that came or went after a version."""
        return await self._all(f"stamp > {since}", [self._codec.group, "space"]).to_arrow()

    async def fresh(self, since: int, spaces: Collection[str] | None) -> dict[str, list[Row]]:
        """The groups with a row that came after a version, in these spaces (None: all)."""
        where = f"stamp > {since}" + ("" if spaces is None else f" AND {among('space', spaces)}")
        return self._codec.grouped(await self.decoded(await self.scan(where)))

    async def commit(
        self,
        changed: Mapping[str, Sequence[Row]],
        before: Mapping[str, Sequence[Row]],
        version: int,
        hold: Hold,
    ) -> int:
        """Make these the rows of their groups, each group at once or not at all; the version afterwards.

        `before` are their rows at `version`, the newest one. LockLostError when somebody else wrote
        meanwhile; nothing of theirs was overwritten.
        """
        await self._link(changed, before)
        for part in self._parts(changed):
            rows = self._unique(part)
            kept = {self._codec.id_of(row) for row in rows}
            left = [
                row for group in part for row in before.get(group, ()) if self._codec.id_of(row) not in kept
            ]
            data = await asyncio.to_thread(self._encoded, rows, left, version + 1)
            hold.check()
            version = await self._merge(data, version + 1)
        await self._sync()
        await self._unlink({group: before.get(group, ()) for group, rows in changed.items() if not rows})
        return version

    async def small_fragments(self) -> int:
        """How many fragments wait to be merged."""
        stats: Any = await self._table.stats()  # a dictionary, whatever its annotation says
        return int(stats["fragment_stats"]["num_small_fragments"])

    async def maintain(self, purge: int) -> int:
        """Merge fragments, update indices, drop old versions, and tombstones up to stamp `purge`."""
        if purge:
            await self._table.delete(f"{'true' if self._codec.fleeting else 'gone'} AND stamp <= {purge}")
        await self._table.optimize(cleanup_older_than=await self._retention())
        await self._index()
        if self._links is not None:
            await self._links.maintain(await self._retention())
        await asyncio.to_thread(give_back)
        await self._sync()
        return await self.version()

    async def _retention(self) -> timedelta:
        return _KEEP_OF_MANY if await versions(self._disk) > _MANY_VERSIONS else _KEEP

    async def _merge(self, data: pa.Table, stamp: int) -> int:
        # The condition lets a holder that lost its lock unknowingly write nothing over newer rows.
        merge = (
            self._table.merge_insert(self._codec.id)
            .when_matched_update_all(where=f"target.stamp < {stamp}")
            .when_not_matched_insert_all()
        )
        # LanceDB 0.40 panics when it merges JSON on a condition with the help of an index.
        done = await merge.use_index(not self._has_json).execute(data)
        if done.version != stamp:
            # Followers that saw the version in between would take these rows for known.
            ids = data.column(self._codec.id).to_pylist()
            await self._table.update(
                {"stamp": done.version + 1}, where=f"stamp = {stamp} AND {among(self._codec.id, ids)}"
            )
        if done.version != stamp or done.num_inserted_rows + done.num_updated_rows != data.num_rows:
            raise LockLostError(
                f"Table {self._codec.table} was changed by another process while this one held its lock."
            )
        return stamp

    def _encoded(self, rows: Sequence[Row], gone: Sequence[Row], stamp: int) -> pa.Table:
        tables = [marked(self._codec.encode(rows), stamp, gone=False)] if rows else []
        if gone:
            tables.append(marked(self._blank(self._codec.encode(gone)), stamp, gone=True))
        return pa.concat_tables(tables)

    def _blank(self, rows: pa.Table) -> pa.Table:
        named = {self._codec.id, self._codec.group, "space"}
        columns = [
            rows.column(field.name) if field.name in named else _nothing(field, rows.num_rows)
            for field in rows.schema
        ]
        return pa.table(columns, schema=rows.schema)


def _nothing(field: pa.Field, count: int) -> pa.Array:
    """A column without content: null where that may be, else zero."""
    kind = field.type
    if field.nullable:
        return pa.nulls(count, kind)
    if pa.types.is_fixed_size_list(kind):
        flat = pa.array(np.zeros(count * kind.list_size, kind.value_type.to_pandas_dtype()))
        return pa.FixedSizeListArray.from_arrays(flat, kind.list_size)
    if pa.types.is_list(kind):
        return pa.array([[]] * count, kind)
    return pa.array(["" if pa.types.is_string(kind) else 0] * count).cast(kind)
