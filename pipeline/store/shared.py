"""A table that any number of processes change: rows change under their shard's lock, read fresh.

Nothing waits in memory: when `update` returns, its changes are on disk and every process sees them. What
others changed is told to listeners a moment later, or when `refresh` is awaited.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pipeline.errors import RetryableError
from pipeline.ports import Locks
from pipeline.store.codec import Codec, among
from pipeline.store.readable import Readable
from pipeline.store.rounds import Change, Shard
from pipeline.store.sharedbase import SharedBase
from pipeline.store.stored import FAILURES

Row = TypeVar("Row")

_HOMES = 100_000
_ERASE_GROUPS = 512
_UPKEEP_SECONDS = 2.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Sharing:
    """How tables are shared: `turn` lets one table of this process at a time do upkeep."""

    locks: Locks
    follow_seconds: float
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class SharedTable(Readable[Row]):
    """`pipeline.ports.Table` for several processes. `run` follows the others and does upkeep."""

    def __init__(
        self,
        codec: Codec[Row],
        bases: Sequence[SharedBase[Row]],
        sharing: Sharing,
    ) -> None:
        super().__init__(codec, bases, {})
        self._sharing = sharing
        self._shards_of_groups: OrderedDict[str, int] = OrderedDict()
        self._stopped = asyncio.Event()
        self._parts = [
            Shard(f"tables/{codec.table}_{number}", base, codec, sharing.locks, self)
            for number, base in enumerate(bases)
        ]

    async def get(self, groups: Collection[str]) -> dict[str, list[Row]]:
        """The rows of each group that has any, newest state of all processes."""
        return await self._fetch(dict.fromkeys(groups))

    def expect(self, spaces: Mapping[str, str]) -> None:
        """As `Readable.expect`."""
        for group, space in spaces.items():
            self._remember(group, self._shard(space))

    async def update(self, groups: Collection[str], change: Change[Row]) -> dict[str, list[Row]]:
        """As `ports.Table.update`; on disk and visible to every process when it returns.

        `change` may be called more than once. OutageError when the tables can't be written.
        """
        wanted = list(dict.fromkeys(groups))
        places = await self._located(wanted, change)
        by_shard: dict[int, list[str]] = {}
        for group, shard in places.items():
            by_shard.setdefault(shard, []).append(group)
        done = await asyncio.gather(
            *(self._parts[shard].update(members, change) for shard, members in by_shard.items())
        )
        after = {group: rows for part in done for group, rows in part.items()}
        return {group: after.get(group, []) for group in wanted}

    async def durable(self) -> None:
        """Nothing to wait for: `update` returns when its changes are on disk."""

    async def refresh(self, spaces: Collection[str] | None = None) -> None:
        """Tell listeners what other processes changed in the shards of these spaces (None: all) up to now."""
        await asyncio.gather(*(self._parts[shard].refresh() for shard in self._shards(spaces)))

    async def remove_spaces(self, spaces: Collection[str]) -> None:
        """Erase every row of these spaces, on disk when it returns. May be repeated."""
        for shard in self._shards(spaces) if spaces else ():
            members = [space for space in spaces if self._shard(space) == shard]
            while groups := await self._groups_in(shard, members):
                await self._parts[shard].update(groups, lambda _, rows: [] if rows else None)

    async def run(self) -> None:
        """Follow what other processes do, and look after the shards, until `stop`."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow())
            group.create_task(self._look_after())

    def stop(self) -> None:
        """Let `run` return after what it is doing."""
        self._stopped.set()

    async def flush(self) -> None:
        """Wait for the updates under way."""
        await asyncio.gather(*(part.settled() for part in self._parts))

    async def maintain(self) -> None:
        """Merge fragments, refresh indices, drop old versions now, due or not."""
        for part in self._parts:
            await part.maintain()

    def troubles(self) -> list[str]:
        """Which shards could not be written when this was last tried."""
        return [trouble for part in self._parts if (trouble := part.trouble) is not None]

    async def _follow(self) -> None:
        while not await self._stopped_within(self._sharing.follow_seconds):
            try:
                await self.refresh()
            except FAILURES:
                _log.exception("Table %s could not be followed; it is tried again.", self.codec.table)

    async def _look_after(self) -> None:
        while not await self._stopped_within(_UPKEEP_SECONDS):
            for part in self._parts:
                try:
                    async with (
                        self._sharing.turn
                    ):  # two at a time would take twice the memory, and both cores
                        await part.maintain_if_due()
                except (*FAILURES, RetryableError):
                    _log.exception("Upkeep of table %s failed; it is tried again later.", part.name)

    async def _stopped_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._stopped.wait()
        except TimeoutError:
            return False
        return True

    async def _located(self, groups: Sequence[str], change: Change[Row]) -> dict[str, int]:
        """The shard of each group; a group that is nowhere and stays so is left out.

        A group is in one space for ever, but only its rows tell in which.
        """
        if len(self._bases) == 1:
            return dict.fromkeys(groups, 0)
        known = self._shards_of_groups
        if strangers := [group for group in groups if group not in known]:
            await self._fetch(strangers)
        for group in strangers:
            if group not in known and (rows := change(group, [])):
                self._remember(group, self._shard(self.codec.space_of(rows[0])))
        return {group: known[group] for group in groups if group in known}

    async def _fetch(self, groups: Collection[str]) -> dict[str, list[Row]]:
        known = self._shards_of_groups
        asked = [
            [group for group in groups if known.get(group, shard) == shard]
            for shard in range(len(self._bases))
        ]
        found = await asyncio.gather(
            *(base.fetch(some) for base, some in zip(self._bases, asked, strict=True))
        )
        for shard, part in enumerate(found):
            for group in part:
                self._remember(group, shard)
        return {group: rows for part in found for group, rows in part.items()}

    def _remember(self, group: str, shard: int) -> None:
        self._shards_of_groups[group] = shard
        while len(self._shards_of_groups) > _HOMES:
            self._shards_of_groups.popitem(last=False)

    async def _groups_in(self, shard: int, spaces: Sequence[str]) -> list[str]:
        rows = await self._bases[shard].scan(among("space", spaces), [self.codec.group])
        groups: list[str] = rows.column(0).unique().slice(0, _ERASE_GROUPS).to_pylist()
        return groups

    # As `Audience` of the shards.

    def changed(self, before: Mapping[str, Sequence[Row]], after: Mapping[str, Sequence[Row]]) -> None:
        """This process changed groups."""
        for group, rows in after.items():
            self._count(before.get(group, ()), -1)
            self._count(rows, 1)
        self._tell(after)

    def followed(self, counts: Mapping[str, int], news: Mapping[str, Sequence[Row]]) -> None:
        """Others changed groups."""
        for space, count in counts.items():
            self._counts[space] = count
        if news:
            self._tell(news)

    def wanted(self, spaces: Collection[str]) -> list[str]:
        """Those of the spaces that a listener wants to hear of: rows of others are not even read."""
        if None in self._interests:
            return list(spaces)
        asked = [interest for interest in self._interests if interest is not None]
        return [space for space in spaces if any(interest(space) for interest in asked)]
