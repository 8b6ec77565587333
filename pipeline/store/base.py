"""One LanceDB table as the durable half of a shard: reads, atomic commits, upkeep."""

import asyncio
import logging
import time
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from lancedb import AsyncConnection, AsyncTable

from pipeline.store.codec import Codec, among
from pipeline.store.disk import Disk, versions
from pipeline.store.keyset import KeySet
from pipeline.store.merging import Fragments
from pipeline.store.stored import Stored, give_back
from pipeline.store.tables import PLACE, delete_counted, newest_rows, open_or_create, sizes

Row = TypeVar("Row")

_KEEP = timedelta(minutes=5)
_KEEP_OF_MANY = timedelta(minutes=1)
_MANY_VERSIONS = 600
"""Every commit and cleanup looks at all versions, so a busy table keeps fewer. No read takes a minute."""
_FEW_VERSIONS = 8
"""More than these are worth a cleanup once they are old enough: each holds the rows it replaced."""

_SHORTEST_UPKEEP = 0.05
_REST = 10
"""Upkeep may take one part in this many of the time."""

_log = logging.getLogger(__name__)


class Base(Stored[Row]):
    """Rows that are in LanceDB. One writer at a time: what changes the table never overlaps."""

    def __init__(
        self,
        table: AsyncTable,
        codec: Codec[Row],
        disk: Disk | None,
        *,
        groups: KeySet[str],
        fragments: Fragments,
        turn: asyncio.Lock,
    ) -> None:
        super().__init__(table, codec, disk)
        self._groups = groups
        self._fragments = fragments
        self._turn = turn
        self._rested_at = 0.0
        self._last_upkeep = 0.0
        self._leftovers_at: float | None = None

    @classmethod
    async def open(
        cls,
        connection: AsyncConnection,
        folder: Path | None,
        name: str,
        codec: Codec[Row],
        turn: asyncio.Lock,
    ) -> "Base[Row]":
        """Open or create. `folder` is the database's local folder, None for an object store.

        Whoever has the `turn` does upkeep: two tables at a time would take twice the memory, and both cores.
        """
        table = await open_or_create(connection, name, cls.schema(codec))
        there = await table.query().select([codec.group]).with_row_id().to_arrow()
        groups = await asyncio.to_thread(lambda: KeySet[str](there.column(0).to_pylist()))
        disk = None if folder is None else await asyncio.to_thread(Disk, folder / f"{name}.lance")
        if disk is not None and (swept := await asyncio.to_thread(disk.sweep)):
            _log.info("Removed %d temporary files that a killed writer left in table %s.", swept, name)
        fragments = Fragments(sizes(there.column(PLACE)), await versions(disk))
        base = cls(table, codec, disk, groups=groups, fragments=fragments, turn=turn)
        if fragments.one:
            await base._plan_cleanup(0.0)
        await base.open_links(connection, folder, name, alone=True)
        return base

    @classmethod
    def schema(cls, codec: Codec[Row]) -> pa.Schema:
        """Of the LanceDB table."""
        return codec.schema

    @property
    def codec(self) -> Codec[Row]:
        """How its rows are kept."""
        return self._codec

    def known(self, groups: Collection[str]) -> Collection[str]:
        """Of one process it is known which groups a table surely lacks."""
        return self._groups.known(groups)

    async def commit(self, changed: Mapping[str, Sequence[Row]]) -> None:
        """Make these the rows of their groups (none: gone), each group at once or not at all; sync."""
        known = set(self._groups.known(changed))
        # Known before the commit: should it fail half-way, the next try must not take them for new.
        self._groups.add(group for group, rows in changed.items() if rows)
        await self._link(changed, known)
        gone = await self._linked_rows([group for group in known if not changed[group]])
        for part in self._parts(changed):
            await self._commit_part(part, known)
        await self._sync()
        await self._unlink(gone)

    async def remove_spaces(self, spaces: Collection[str]) -> None:
        """Delete every row of these spaces and sync."""
        gone = await delete_counted(self._table, among("space", sorted(spaces)))
        self._fragments.came(0, gone)
        await self._sync()
        if self._links is not None:
            await self._links.remove_spaces(spaces)

    def upkeep_in(self, *, idle: bool) -> float | None:
        """Seconds until fragments should be merged: soon when idle, late under load; None for not at all."""
        now = time.monotonic()
        if self._fragments.due(idle=idle):
            return max(0.0, self._rested_at + _REST * self._last_upkeep - now)
        return max(0.0, self._leftovers_at - now) if idle and self._leftovers_at is not None else None

    @property
    def others_turn(self) -> bool:
        """Whether another table is in the middle of its upkeep."""
        return self._turn.locked()

    async def maintain(self, *, whole: bool = True) -> None:
        """Merge fragments, bring indices up to date, drop old versions. Not `whole`: what is due of it."""
        async with self._turn:
            started = time.monotonic()
            leftovers = not self._fragments.due(idle=True)
            everything = whole or leftovers or self._fragments.whole
            try:
                await (self._optimize(whole=whole or leftovers) if everything else self._merge_newest())
            finally:
                self._rested_at = time.monotonic()
                self._last_upkeep = max(_SHORTEST_UPKEEP, self._rested_at - started)
                # Merging reads whole tables: 150 MB for 100k chunks, which nobody needs afterwards.
                await asyncio.to_thread(give_back)
            await self._sync()
            if everything:
                await self._plan_cleanup(_KEEP.total_seconds() + 1)

    async def _optimize(self, *, whole: bool) -> None:
        await self._table.optimize(cleanup_older_than=await self._retention())
        await self._index()
        if self._links is not None:
            await self._links.maintain(await self._retention(), whole=whole)
        self._fragments.renewed(await self._table.count_rows())

    async def _merge_newest(self) -> None:
        """Written anew, for LanceDB itself merges all that is indexed with all of the same kind."""
        rows = await newest_rows(self._table, self._fragments.newest_rows)
        # Each finds itself: one commit, after which their old fragments have no rows, and are gone.
        await self._table.merge_insert(self._codec.id).when_matched_update_all().execute(rows)
        self._fragments.merged(rows.num_rows)
        if self._links is not None:
            await self._links.maintain(await self._retention(), whole=False)

    async def _index(self) -> None:
        await self._index_when_large([self._codec.group])

    async def _retention(self) -> timedelta:
        return _KEEP_OF_MANY if await versions(self._disk) > _MANY_VERSIONS else _KEEP

    async def _plan_cleanup(self, seconds: float) -> None:
        """What is too young to go is looked at once more then, or it would lie there for long."""
        many = await versions(self._disk) > _FEW_VERSIONS
        self._leftovers_at = time.monotonic() + seconds if many else None

    async def _linked_rows(self, groups: Collection[str]) -> dict[str, list[Row]]:
        """What is about to go, if links have to go with it."""
        if self._links is None or not groups:
            return {}
        table = await self.scan(among(self._codec.group, groups), self._codec.light)
        return self._codec.grouped(await self.decoded(table))

    async def _commit_part(self, changed: Mapping[str, Sequence[Row]], known: set[str]) -> None:
        rows = self._unique(changed)
        gone = [group for group, members in changed.items() if not members and group in known]
        updated = [group for group, members in changed.items() if members and group in known]
        if updated:
            await self._merge(rows, updated)
        elif rows:
            await self._table.add(await asyncio.to_thread(self._encode, rows))
        if gone:
            await self._table.delete(among(self._codec.group, gone))
        self._fragments.came(len(rows), len(gone) + len(updated))

    def _encode(self, rows: Sequence[Row]) -> pa.Table:
        return self._codec.encode(rows)

    async def _merge(self, rows: list[Row], updated: list[str]) -> None:
        merge = (
            self._table.merge_insert(self._codec.id).when_matched_update_all().when_not_matched_insert_all()
        )
        if not self._codec.single:
            # Rows of these groups that are no longer among their rows. LanceDB reads the whole table for it.
            merge = merge.when_not_matched_by_source_delete(among(self._codec.group, updated))
        await merge.execute(await asyncio.to_thread(self._encode, rows))
