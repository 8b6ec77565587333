"""A table: LanceDB underneath, changes not yet flushed on top, one writer per shard."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from pipeline.store.ahead import Ahead
from pipeline.store.base import Base
from pipeline.store.codec import Codec
from pipeline.store.overlay import Change, Overlay
from pipeline.store.readable import Readable, same_rows
from pipeline.store.writer import Writer

Row = TypeVar("Row")


def shard_name(codec: Codec[Any], shard: int) -> str:
    """What a shard is called in messages, and where its changes wait for LanceDB."""
    return f"{codec.table}/{shard}"


class Table(Readable[Row]):
    """A table that one process has to itself: changes wait in memory and are flushed in groups."""

    def __init__(
        self,
        codec: Codec[Row],
        bases: Sequence[Base[Row]],
        counts: Mapping[str, int],
        ahead: Ahead | None = None,
    ) -> None:
        super().__init__(codec, bases, counts)
        self._overlay: Overlay[Row] = Overlay(len(bases), codec.weight, codec.recent_bytes)
        self._writers = [
            Writer(shard_name(codec, shard), shard, self._overlay, base, ahead)
            for shard, base in enumerate(bases)
        ]
        self._purges = 0

    @property
    def waiting(self) -> int:
        """Groups that are changed and not flushed yet."""
        return sum(self._overlay.waiting(shard) for shard in range(len(self._bases)))

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
            if after is not None and not same_rows(rows, after):
                changed[group] = tuple(after)
        self._apply(before, changed)
        return {group: list(changed.get(group, rows)) for group, rows in before.items()}

    async def refresh(self, spaces: Collection[str] | None = None) -> None:
        """Nothing to do: nobody else changes this table."""

    def put(self, groups: Mapping[str, Sequence[Row]], before: Mapping[str, Sequence[Row]]) -> None:
        """Replace groups of which the caller holds the rows already."""
        self._apply(before, {group: tuple(rows) for group, rows in groups.items()})

    async def durable(self) -> None:
        """Wait until every change made so far is on disk."""
        if self.bulk:
            return
        number = self._overlay.number
        late = [writer.durable(number) for writer in self._writers if not writer.is_durable(number)]
        if late:
            await asyncio.gather(*late)

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

    def troubles(self) -> list[str]:
        """Which shards can't be flushed now, and why."""
        return [trouble for writer in self._writers if (trouble := writer.trouble) is not None]

    def snapshot(self) -> Mapping[str, Change[Row]]:
        """The overlay now; take it before reading the base."""
        return self._overlay.snapshot()

    def held(self, groups: Collection[str]) -> dict[str, list[Row]]:
        """Those of the overlay."""
        found = {group: self._overlay.rows(group) for group in groups}
        return {group: list(rows) for group, rows in found.items() if rows is not None}

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
        held = {group: self._overlay.rows(group) for group in wanted}
        # Only now: what is remembered pushes out what was held of the others.
        fresh = {group: found[group] for group, rows in held.items() if rows is None}
        for group, read in fresh.items():
            self._overlay.remember(group, read)
        return {group: fresh[group] if rows is None else rows for group, rows in held.items()}

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
        self._tell(changed)

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
