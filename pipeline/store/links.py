"""Which groups a key leads to: a LanceDB table beside that of the rows.

LanceDB makes an index on lists anew at every upkeep: 6 to 20 s of CPU for a million rows with a hundred
thousand different values. One on numbers is brought up to date in a fraction of a second. A link may lead to
what is gone or has the key no longer, never the other way round: it comes before its row and goes after it.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from lancedb import AsyncConnection, AsyncTable
from lancedb.index import BTree

from pipeline.store.codec import among, strings
from pipeline.store.disk import Disk, versions
from pipeline.store.keyset import AnyKeys, KeySet
from pipeline.store.merging import Fragments
from pipeline.store.recentlinks import Pair, RecentLinks
from pipeline.store.tables import PLACE, delete_counted, newest_rows, open_if_there, sizes

Row = TypeVar("Row")

_SCHEMA = pa.schema(
    [
        pa.field("key", pa.int64(), nullable=False),
        pa.field("target", pa.string(), nullable=False),
        pa.field("space", pa.string(), nullable=False),
    ]
)
_INDEX_ROWS = 50_000
_ASKED = 500
"""Keys of one question."""

Link = tuple[int, str, str]
"""A key, the group that it leads to, and that group's space."""


def number(key: str) -> int:
    """A key as it is kept."""
    return int.from_bytes(blake2b(key.encode(errors="surrogatepass"), digest_size=8).digest(), signed=True)


class Links:
    """The links of one table. Whoever calls a method that changes them may change that table."""

    def __init__(
        self, table: AsyncTable, disk: Disk | None, recent: RecentLinks, fragments: Fragments
    ) -> None:
        self._table = table
        self._disk = disk
        self._recent = recent
        self._fragments = fragments

    @classmethod
    async def open(
        cls,
        connection: AsyncConnection,
        folder: Path | None,
        name: str,
        there: AsyncIterator[Sequence[Link]],
        *,
        alone: bool = False,
    ) -> "Links":
        """Open those of the table of this name, or make them of what is `there` already.

        `alone`: nobody else adds any.
        """
        own = f"{name}_links"
        table = await open_if_there(connection, own)
        if table is None:
            parts = [_encoded(some) async for some in there]
            table = await connection.create_table(own, pa.concat_tables([_encoded([]), *parts]))
        disk = None if folder is None else await asyncio.to_thread(Disk, folder / f"{own}.lance")
        if not alone:
            return cls(table, disk, RecentLinks(AnyKeys(), capacity=0), Fragments())
        column = await table.query().select(["key"]).with_row_id().to_arrow()
        known = await asyncio.to_thread(lambda: KeySet[int](column.column("key").to_pylist()))
        fragments = Fragments(sizes(column.column(PLACE)), await versions(disk))
        return cls(table, disk, RecentLinks(known), fragments)

    async def find(self, keys: Collection[str]) -> list[str]:
        """The groups that any of these keys may lead to, each once."""
        pairs = await self._pairs({number(key) for key in keys})
        return list(dict.fromkeys(target for _, target in pairs))

    async def add(self, links: Sequence[Link], old: Collection[str]) -> None:
        """Durable on return. Groups that are not among the `old` ones have no links yet."""
        unsure = [link for link in links if link[:2] not in self._recent]
        doubtful = {key for key, target, _ in unsure if target in old}
        there = await self._pairs(doubtful) if doubtful else set()
        fresh = [link for link in unsure if link[:2] not in there]
        if fresh:
            with self._recent.adding(_pairs_of(fresh)):
                await self._table.add(await asyncio.to_thread(_encoded, fresh))
                self._fragments.came(len(fresh))
                await self._sync()

    async def remove(self, links: Sequence[Link]) -> None:
        """Of groups that are gone."""
        with self._recent.removing(_pairs_of(links)):
            for some in _portions(links):
                keys = ",".join(str(key) for key, _, _ in some)
                groups = among("target", dict.fromkeys(target for _, target, _ in some))
                await self._table.delete(f"key IN ({keys}) AND {groups}")
                self._fragments.came(0, len(some))
        if links:
            await self._sync()

    async def remove_spaces(self, spaces: Collection[str]) -> None:
        """Delete every link of these spaces."""
        with self._recent.clearing():
            gone = await delete_counted(self._table, among("space", sorted(spaces)))
        self._fragments.came(0, gone)
        await self._sync()

    async def maintain(self, retention: timedelta, *, whole: bool = True) -> None:
        """Merge all fragments, bring the index up to date, drop versions older than this.

        Not `whole`: what is due of it.
        """
        if whole or (self._fragments.due(idle=True) and self._fragments.whole):
            await self._optimize(retention)
        elif self._fragments.due(idle=True):
            await self._merge_newest()
        await self._sync()

    async def _optimize(self, retention: timedelta) -> None:
        await self._table.optimize(cleanup_older_than=retention)
        rows = await self._table.count_rows()
        if rows >= _INDEX_ROWS and not await self._table.list_indices():
            await self._table.create_index("key", config=BTree())
        self._fragments.renewed(rows)

    async def _merge_newest(self) -> None:
        """They come once more before they go: meanwhile, and after a kill, a link is there twice."""
        rows = await newest_rows(self._table, self._fragments.newest_rows, places=True)
        await self._table.add(rows.drop_columns(PLACE))
        for some in _portions(rows.column(PLACE).to_pylist()):
            await self._table.delete(f"{PLACE} IN ({','.join(map(str, some))})")
        self._fragments.merged(rows.num_rows)

    async def size(self) -> tuple[int, int]:
        """Bytes and files on a local disk."""
        return (0, 0) if self._disk is None else await asyncio.to_thread(self._disk.size)

    async def _pairs(self, keys: Collection[int]) -> set[Pair]:
        pairs, missing = self._recent.find(keys)
        if missing:
            with self._recent.reading(missing) as read:
                asked = await self._asked(missing)
                read(asked)
            pairs |= asked
        return pairs

    async def _asked(self, keys: Collection[int]) -> set[Pair]:
        pairs: set[Pair] = set()
        for some in _portions(sorted(keys)):
            query = self._table.query().select(["key", "target"])
            found = await query.where(f"key IN ({','.join(map(str, some))})").to_arrow()
            pairs.update(zip(found.column(0).to_pylist(), found.column(1).to_pylist(), strict=True))
        return pairs

    async def _sync(self) -> None:
        if self._disk is not None:
            await asyncio.to_thread(self._disk.sync)


def _pairs_of(links: Iterable[Link]) -> list[Pair]:
    return [(key, target) for key, target, _ in links]


def links_of(rows: Mapping[str, Iterable[tuple[str, Iterable[str]]]]) -> list[Link]:
    """By group, the space and the keys of each of its rows."""
    return [
        (number(key), group, space)
        for group, members in rows.items()
        for space, keys in members
        for key in keys
    ]


def _encoded(links: Sequence[Link]) -> pa.Table:
    arrays = [
        pa.array([key for key, _, _ in links], pa.int64()),
        strings(target for _, target, _ in links),
        strings(space for _, _, space in links),
    ]
    return pa.table(arrays, schema=_SCHEMA)


def _portions(some: Sequence[Row]) -> Iterator[Sequence[Row]]:
    return (some[begin : begin + _ASKED] for begin in range(0, len(some), _ASKED))
