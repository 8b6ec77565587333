"""A table: LanceDB underneath, changes not yet flushed on top, one writer per shard."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lancedb import AsyncConnection

from pipeline.store.base import PLACE, Base, give_back
from pipeline.store.codec import Codec, among
from pipeline.store.overlay import Change, Overlay
from pipeline.store.sizes import Size, together
from pipeline.store.writer import Writer

Row = TypeVar("Row")

Listener = Callable[[Mapping[str, list[Row]]], None]
SHARD = "_shard"
_BATCH_ROWS = 4096


class Table(Generic[Row]):
    """`pipeline.ports.Table` over any number of LanceDB tables (shards); a space lives in one of them."""

    def __init__(self, codec: Codec[Row], bases: Sequence[Base[Row]], counts: Mapping[str, int]) -> None:
        self.codec = codec
        self._bases = bases
        self._overlay: Overlay[Row] = Overlay(len(bases), codec.weight, codec.recent_bytes)
        self._writers = [
            Writer(f"{codec.table}/{shard}", shard, self._overlay, base) for shard, base in enumerate(bases)
        ]
        self._listeners: list[Listener[Row]] = []
        self._counts = Counter(counts)
        self._purges = 0

    async def get(self, groups: Collection[str]) -> dict[str, list[Row]]:
        """The rows of each group that has any."""
        return {group: list(rows) for group, rows in (await self._read(groups)).items() if rows}

    async def update(
        self, groups: Collection[str], change: Callable[[str, list[Row]], Sequence[Row] | None]
    ) -> dict[str, list[Row]]:
        """As `ports.Table.update`; `change` runs without any await between reading and replacing."""
        before = await self._read(groups)
        # No await from here on: what was read is what is replaced.
        changed: dict[str, tuple[Row, ...]] = {}
        for group, rows in before.items():
            after = change(group, list(rows))
            if after is not None and not _same(rows, after):
                changed[group] = tuple(after)
        self._apply(before, changed)
        return {group: list(changed.get(group, rows)) for group, rows in before.items()}

    def put(self, groups: Mapping[str, Sequence[Row]], before: Mapping[str, Sequence[Row]]) -> None:
        """Replace groups of which the caller holds the rows already."""
        self._apply(before, {group: tuple(rows) for group, rows in groups.items()})

    async def durable(self) -> None:
        """Wait until every change made so far is on disk."""
        number = self._overlay.number
        await asyncio.gather(*(writer.durable(number) for writer in self._writers))

    def subscribe(self, listener: Listener[Row]) -> None:
        """Call `listener` with the new rows of each changed group, in the same instant as the change."""
        self._listeners.append(listener)

    async def in_spaces(self, spaces: Sequence[str]) -> list[Row]:
        """Every row of these spaces, newest state."""
        overlay, tables = await self._scan(spaces, among("space", spaces), None)
        rows = [row for table in tables for row in await self._bases[0].decoded(table)]
        return rows + self.unflushed(overlay, spaces)

    def count(self, spaces: Iterable[str]) -> dict[str, int]:
        """How many rows that count each space has; from memory, in step with every change."""
        return {space: self._counts[space] for space in spaces}

    async def remove_spaces(self, spaces: Collection[str]) -> None:
        """Erase every row of these spaces, on disk when it returns. May be repeated."""
        gone = frozenset(spaces)
        if not gone:
            return
        self._forget(gone)
        shards = {self._shard(space) for space in gone}
        await asyncio.gather(*(self._writers[shard].remove_spaces(gone) for shard in shards))
        # Once more: a flush under way meanwhile may have settled rows of these spaces.
        self._forget(gone)
        await self.durable()

    async def run(self) -> None:
        """Flush and maintain until `close`."""
        async with asyncio.TaskGroup() as group:
            for writer in self._writers:
                group.create_task(writer.run())

    def stop(self) -> None:
        """Let `run` return soon."""
        for writer in self._writers:
            writer.stop()

    async def flush(self) -> None:
        """Everything that waits, to disk, now; raises when that fails."""
        await asyncio.gather(*(writer.flush() for writer in self._writers))

    async def maintain(self) -> None:
        """Merge fragments, refresh indices and drop old versions now, due or not."""
        for writer in self._writers:
            await writer.maintain()

    async def size(self) -> Size:
        """Of all shards together, as far as it is flushed."""
        return together(await asyncio.gather(*(base.size() for base in self._bases)))

    def troubles(self) -> list[str]:
        """Which shards can't be flushed now, and why."""
        return [trouble for writer in self._writers if (trouble := writer.trouble) is not None]

    # What the tables of each kind build their own questions from.

    async def scan(
        self, spaces: Sequence[str] | None, where: str, columns: Sequence[str] | None
    ) -> tuple[Mapping[str, Change[Row]], pa.Table]:
        """One read of the base without the groups that the returned overlay overrides. None: all spaces."""
        overlay, tables = await self._scan(spaces, where, columns)
        return overlay, pa.concat_tables(tables)

    async def places(
        self, spaces: Sequence[str], where: str, columns: Sequence[str]
    ) -> tuple[Mapping[str, Change[Row]], pa.Table]:
        """As `scan`, with two columns more that `take` understands."""
        overlay = self.snapshot()
        shards = self._shards(spaces)
        tables = await asyncio.gather(*(self._bases[shard].places(where, columns) for shard in shards))
        numbered = [
            table.append_column(SHARD, pa.array(np.full(table.num_rows, shard, np.int32)))
            for shard, table in zip(shards, tables, strict=True)
        ]
        return overlay, self._without(pa.concat_tables(numbered), overlay)

    async def take(
        self, places: pa.Table, columns: Sequence[str] | None
    ) -> tuple[Mapping[str, Change[Row]], pa.Table]:
        """The rows at places that `places` found, in any order; what moved or changed since is left out."""
        overlay = self.snapshot()
        shards = places.column(SHARD).to_numpy()
        rows = places.column(PLACE).to_numpy()
        taken = [
            self._bases[shard].take(rows[shards == shard].tolist(), columns)
            for shard in np.unique(shards).tolist()
        ]
        return overlay, self._without(pa.concat_tables(await asyncio.gather(*taken)), overlay)

    async def stream_base(
        self, spaces: Sequence[str], columns: Sequence[str], overlay: Mapping[str, Change[Row]]
    ) -> AsyncIterator[pa.Table]:
        """The base in batches, without the groups that the overlay overrides."""
        read = 0
        for shard in self._shards(spaces):
            async for batch in self._bases[shard].stream(among("space", spaces), columns, _BATCH_ROWS):
                read += batch.num_rows
                if (kept := self._without(batch, overlay)).num_rows:
                    yield kept
        if read >= _BATCH_ROWS:
            await asyncio.to_thread(give_back)

    def snapshot(self) -> Mapping[str, Change[Row]]:
        """The overlay now; take it before reading the base."""
        return self._overlay.snapshot()

    def unflushed(self, overlay: Mapping[str, Change[Row]], spaces: Collection[str] | None) -> list[Row]:
        """The rows of an overlay that are in these spaces."""
        space_of = self.codec.space_of
        return [
            row
            for change in overlay.values()
            for row in change.rows
            if spaces is None or space_of(row) in spaces
        ]

    async def _read(self, groups: Collection[str]) -> dict[str, tuple[Row, ...]]:
        """The newest rows of every group, true at the moment it returns."""
        wanted = list(dict.fromkeys(groups))
        found: dict[str, tuple[Row, ...]] = {}
        purges = self._purges
        with self._overlay.watch() as moved:
            while missing := [
                group
                for group in wanted
                if self._overlay.rows(group) is None and (group not in found or group in moved)
            ]:
                # Whatever is flushed from here on may be missing in the base's answer: it is asked for again.
                moved.difference_update(missing)
                fetched = await self._fetch(missing)
                found.update({group: tuple(fetched.get(group, ())) for group in missing})
                if purges != self._purges:
                    purges = self._purges
                    found.clear()
        return {
            group: found[group] if (rows := self._overlay.rows(group)) is None else rows for group in wanted
        }

    async def _fetch(self, groups: Collection[str]) -> dict[str, list[Row]]:
        parts = await asyncio.gather(*(base.fetch(groups) for base in self._bases))
        return {group: rows for part in parts for group, rows in part.items()}

    async def _scan(
        self, spaces: Sequence[str] | None, where: str | None, columns: Sequence[str] | None
    ) -> tuple[Mapping[str, Change[Row]], list[pa.Table]]:
        overlay = self.snapshot()
        shards = self._shards(spaces)
        tables = await asyncio.gather(*(self._bases[shard].scan(where, columns) for shard in shards))
        return overlay, [self._without(table, overlay) for table in tables]

    def _without(self, table: pa.Table, overlay: Mapping[str, Change[Row]]) -> pa.Table:
        if not overlay or not table.num_rows:
            return table
        overridden = pc.is_in(table.column(self.codec.group), value_set=pa.array(list(overlay), pa.string()))
        return table.filter(pc.invert(overridden))

    def _apply(self, before: Mapping[str, Sequence[Row]], changed: Mapping[str, tuple[Row, ...]]) -> None:
        if not changed:
            return
        for group, rows in changed.items():
            old = before.get(group, ())
            shard = self._shard(self.codec.space_of((*rows, *old)[0]))
            self._overlay.put(group, rows, shard)
            self._count(old, -1)
            self._count(rows, 1)
            self._writers[shard].wake()
        news = {group: list(rows) for group, rows in changed.items()}
        for listener in self._listeners:
            listener(news)

    def _count(self, rows: Iterable[Row], step: int) -> None:
        for row in rows:
            if self.codec.counted(row):
                self._counts[self.codec.space_of(row)] += step

    def _forget(self, spaces: frozenset[str]) -> None:
        self._purges += 1
        self._overlay.forget_recent()
        space_of = self.codec.space_of
        self._apply(
            overlaid := {
                group: change.rows
                for group, change in self.snapshot().items()
                if any(space_of(row) in spaces for row in change.rows)
            },
            dict.fromkeys(overlaid, ()),
        )
        for space in spaces:
            self._counts.pop(space, None)

    def _shards(self, spaces: Iterable[str] | None) -> list[int]:
        if spaces is None:
            return list(range(len(self._bases)))
        # No space at all still has an answer, an empty one with columns.
        return sorted({self._shard(space) for space in spaces}) or [0]

    def _shard(self, space: str) -> int:
        return int.from_bytes(blake2b(space.encode(), digest_size=8).digest()) % len(self._bases)


@dataclass(frozen=True, slots=True)
class Place:
    """Where tables are. `folder` is None at an object store; `turn`: one of them at a time does upkeep."""

    connection: AsyncConnection
    folder: Path | None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


async def open_table(place: Place, codec: Codec[Row], shards: int = 1) -> Table[Row]:
    """Open or create the LanceDB tables of one kind of row."""
    return Table(codec, *await open_bases(place, codec, shards))


async def open_bases(place: Place, codec: Codec[Row], shards: int) -> tuple[list[Base[Row]], Counter[str]]:
    """The LanceDB tables of one kind of row, and how many counted rows each space has in them."""
    names = [codec.table] if shards == 1 else [f"{codec.table}_{shard}" for shard in range(shards)]
    bases = [await Base.open(place.connection, place.folder, name, codec, place.turn) for name in names]
    counts: Counter[str] = Counter()
    for base in bases:
        spaces = await base.scan(codec.counted_where, ["space"])
        for entry in spaces.column(0).value_counts().to_pylist():
            counts[entry["values"]] += entry["counts"]
    return bases, counts


def _same(before: Sequence[Row], after: Sequence[Row]) -> bool:
    return len(before) == len(after) and all(old is new for old, new in zip(before, after, strict=True))
