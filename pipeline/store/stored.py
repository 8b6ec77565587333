"""One LanceDB table as readers see it."""

import asyncio
from collections.abc import AsyncIterator, Collection, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import pyarrow as pa
from lancedb import AsyncConnection, AsyncTable
from lancedb.index import BTree

from pipeline.store.codec import Codec, among
from pipeline.store.disk import Disk, versions
from pipeline.store.links import Link, Links, links_of
from pipeline.store.sizes import Size

Row = TypeVar("Row")
Result = TypeVar("Result")

FAILURES = (OSError, RuntimeError, ValueError)
"""What LanceDB and Arrow raise when a disk is full, a commit is lost or a peer is gone."""

_INDEX_ROWS = 50_000
_COMMIT_BYTES = 48 * 1024 * 1024
_FEW_ROWS = 64
_BATCH_ROWS = 4096
_ASKED = 500
"""Groups of one question."""


def give_back() -> None:
    """Hand memory that was read into and freed back to the system. Takes milliseconds: call in a thread."""
    pa.default_memory_pool().release_unused()


async def uninterrupted(work: Coroutine[Any, Any, Result]) -> Result:
    """Finish the work even when cancelled: a commit that was given up half-way may still happen."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


class Stored(Generic[Row]):
    """Rows that are in LanceDB."""

    def __init__(self, table: AsyncTable, codec: Codec[Row], disk: Disk | None) -> None:
        self._table = table
        self._codec = codec
        self._disk = disk
        self._links: Links | None = None

    async def open_links(
        self, connection: AsyncConnection, folder: Path | None, name: str, *, alone: bool = False
    ) -> None:
        """Open the links beside the table of this name, if its rows have keys.

        `alone`: no other process adds any, so that a key without links is known without a question.
        """
        if self._codec.keys is not None:
            self._links = await Links.open(connection, folder, name, self._links_of_all(), alone=alone)

    async def targets(self, keys: Collection[str]) -> list[str]:
        """The groups that may have any of these keys, and surely all that have."""
        return [] if self._links is None else await self._links.find(keys)

    async def chosen(
        self, groups: Sequence[str], columns: Sequence[str], where: str | None = None
    ) -> pa.Table:
        """The rows of these groups, however many; some may be gone."""
        also = "" if where is None else f" AND {where}"
        parts = [
            await self.scan(among(self._codec.group, groups[begin : begin + _ASKED]) + also, columns)
            for begin in range(0, len(groups), _ASKED)
        ]
        return pa.concat_tables(parts) if parts else self._codec.schema.empty_table().select(list(columns))

    def known(self, groups: Collection[str]) -> Collection[str]:
        """Those that may be here."""
        return groups

    async def fetch(self, groups: Collection[str]) -> dict[str, list[Row]]:
        """The rows of these groups; a group that is not here is absent."""
        return await self.read(self.known(groups))

    async def read(self, groups: Collection[str]) -> dict[str, list[Row]]:
        """As `fetch`, of groups that may be here."""
        if not groups:
            return {}
        return self._codec.grouped(await self.decoded(await self.scan(among(self._codec.group, groups))))

    async def decoded(self, table: pa.Table) -> list[Row]:
        """Arrow to rows; many of them off the event loop."""
        if table.num_rows <= _FEW_ROWS:
            return self._codec.decode(table)
        return await asyncio.to_thread(self._codec.decode, table)

    async def scan(self, where: str | None = None, columns: Sequence[str] | None = None) -> pa.Table:
        """One consistent read."""
        return await self._query(where, columns).to_arrow()

    async def places(self, where: str, columns: Sequence[str]) -> pa.Table:
        """As `scan`, with the place of each row (`PLACE`) for `take`."""
        return await self._query(where, columns).with_row_id().to_arrow()

    async def take(self, places: Sequence[int], columns: Sequence[str] | None = None) -> pa.Table:
        """The rows at these places, in any order. A row that moved since, in any way, is left out."""
        query = self._table.take_row_ids(list(places))
        return await (query if columns is None else query.select(list(columns))).to_arrow()

    async def stream(self, where: str, columns: Sequence[str], size: int) -> AsyncIterator[pa.Table]:
        """One consistent read in batches of at most `size` rows."""
        async for batch in await self._query(where, columns).to_batches(max_batch_length=size):
            yield pa.Table.from_batches([batch])

    async def size(self) -> Size:
        """Rows, bytes, files and versions; milliseconds for a thousand files."""
        rows = await self._table.count_rows()
        if self._disk is None:
            return Size(rows)
        nbytes, files = await asyncio.to_thread(self._disk.size)
        beside = (0, 0) if self._links is None else await self._links.size()
        return Size(rows, nbytes + beside[0], files + beside[1], await versions(self._disk))

    async def _link(self, changed: Mapping[str, Sequence[Row]], old: Collection[str]) -> None:
        """Before rows of these groups come; `old`: those that may have links already."""
        if self._links is not None:
            await self._links.add(self._links_to(changed), old)

    async def _unlink(self, gone: Mapping[str, Sequence[Row]]) -> None:
        """After these rows went."""
        if self._links is not None and gone:
            await self._links.remove(self._links_to(gone))

    def _links_to(self, groups: Mapping[str, Sequence[Row]]) -> list[Link]:
        keys, space_of = self._codec.keys, self._codec.space_of
        if keys is None:
            return []
        return links_of(
            {group: [(space_of(row), keys(row)) for row in rows] for group, rows in groups.items() if rows}
        )

    async def _links_of_all(self) -> AsyncIterator[list[Link]]:
        """Of a table that was made before there were links."""
        async for batch in self.stream("true", self._codec.light, _BATCH_ROWS):
            yield self._links_to(self._codec.grouped(await self.decoded(batch)))

    async def _index_when_large(self, columns: Sequence[str]) -> None:
        """Indices on these columns, where missing."""
        if await self._table.count_rows() < _INDEX_ROWS:
            return
        there = {column for index in await self._table.list_indices() for column in index.columns}
        for column in dict.fromkeys(columns):
            if column not in there:
                await self._table.create_index(column, config=BTree())

    async def _sync(self) -> None:
        if self._disk is not None:
            await asyncio.to_thread(self._disk.sync)

    def _query(self, where: str | None, columns: Sequence[str] | None) -> Any:
        query = self._table.query()
        if columns is not None:
            query = query.select(list(columns))
        return query if where is None else query.where(where)

    def _parts(self, changed: Mapping[str, Sequence[Row]]) -> list[dict[str, Sequence[Row]]]:
        """The groups in portions that are small enough for one commit each."""
        parts: list[dict[str, Sequence[Row]]] = [{}]
        weight = 0
        for group, rows in changed.items():
            size = 512 + sum(self._codec.weight(row) for row in rows)
            if weight + size > _COMMIT_BYTES and parts[-1]:
                parts.append({})
                weight = 0
            parts[-1][group] = rows
            weight += size
        return parts

    def _unique(self, changed: Mapping[str, Sequence[Row]]) -> list[Row]:
        # Two rows with one id in a source would both be inserted.
        rows = {self._codec.id_of(row): row for members in changed.values() for row in members}
        return sorted(rows.values(), key=self._codec.space_of)
