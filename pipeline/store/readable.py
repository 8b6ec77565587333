"""What every table answers from LanceDB, whoever writes it."""

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipeline.store.codec import TIME, Codec, among, number_column, one_array
from pipeline.store.overlay import Change
from pipeline.store.sizes import Size, together
from pipeline.store.stored import Stored, give_back
from pipeline.store.tables import PLACE

Row = TypeVar("Row")

Listener = Callable[[Mapping[str, list[Row]]], None]
SHARD = "_shard"
_BATCH_ROWS = 4096


class Readable(ABC, Generic[Row]):
    """`pipeline.ports.Table` over any number of LanceDB tables (shards); a space lives in one of them."""

    def __init__(self, codec: Codec[Row], bases: Sequence[Stored[Row]], counts: Mapping[str, int]) -> None:
        self.codec = codec
        self._bases = bases
        self._listeners: list[Listener[Row]] = []
        self._interests: list[Callable[[str], bool] | None] = []
        self._counts = Counter(counts)
        self.bulk = False
        """Filled by one who flushes by himself: `durable` does not wait."""

    @property
    def waiting(self) -> int:
        """Groups that are changed and not flushed yet."""
        return 0

    @abstractmethod
    async def get(self, groups: Collection[str]) -> dict[str, list[Row]]:
        """The rows of each group that has any."""

    def expect(self, spaces: Mapping[str, str]) -> None:
        """In which space each of these groups is, if anywhere: then no other shard need be asked for it."""

    @abstractmethod
    async def update(
        self, groups: Collection[str], change: Callable[[str, list[Row]], Sequence[Row] | None]
    ) -> dict[str, list[Row]]:
        """As `ports.Table.update`."""

    @abstractmethod
    async def durable(self) -> None:
        """Wait until every change made so far is on disk."""

    @abstractmethod
    async def refresh(self, spaces: Collection[str] | None = None) -> None:
        """Tell listeners what other processes changed in these spaces (None: all) up to now."""

    @abstractmethod
    async def remove_spaces(self, spaces: Collection[str]) -> None:
        """Erase every row of these spaces, on disk when it returns. May be repeated."""

    @abstractmethod
    async def run(self) -> None:
        """Do what is to be done in the background until `stop`."""

    @abstractmethod
    def stop(self) -> None:
        """Let `run` return soon."""

    @abstractmethod
    async def flush(self) -> None:
        """Everything that waits, to disk, now; raises when that fails."""

    @abstractmethod
    async def maintain(self) -> None:
        """Merge fragments, refresh indices and drop old versions now, due or not."""

    @abstractmethod
    def troubles(self) -> list[str]:
        """Which shards can't be written now, and why."""

    async def size(self) -> Size:
        """Of all shards together, as far as it is flushed."""
        return together(await asyncio.gather(*(base.size() for base in self._bases)))

    def subscribe(self, listener: Listener[Row], spaces: Callable[[str], bool] | None = None) -> None:
        """Call `listener` with the new rows of each changed group, in the same instant as the change.

        `spaces`: in which ones it wants to hear of what other processes changed; None: in all.
        """
        self._listeners.append(listener)
        self._interests.append(spaces)

    async def in_spaces(self, spaces: Sequence[str]) -> list[Row]:
        """Every row of these spaces, newest state."""
        overlay, tables = await self._scan(spaces, among("space", spaces), None)
        rows = [row for table in tables for row in await self._bases[0].decoded(table)]
        return rows + self.unflushed(overlay, spaces)

    def count(self, spaces: Iterable[str]) -> dict[str, int]:
        """How many rows that count each space has; from memory, in step with every change."""
        return {space: self._counts[space] for space in spaces}

    async def created(self, spaces: Sequence[str], since: datetime) -> dict[str, NDArray[np.int64]]:
        """When each row that came since then came to be, in microseconds since 1970, by space."""
        columns = [self.codec.group, "space", "created_at"]
        first = pa.scalar(since, TIME)
        where = f"{among('space', spaces)} AND created_at >= to_timestamp_micros({first.value})"
        overlay, base = await self.scan(spaces, where, columns)
        fresh = self.codec.encode(self.unflushed(overlay, spaces)).select(columns)
        fresh = fresh.filter(pc.greater_equal(fresh.column("created_at"), first))
        table = pa.concat_tables([base.select(columns), fresh])
        return _by_space(table.column("space"), number_column(table.column("created_at"), np.int64))

    # What the tables of each kind build their own questions from.

    async def scan(
        self, spaces: Sequence[str] | None, where: str, columns: Sequence[str] | None
    ) -> tuple[Mapping[str, Change[Row]], pa.Table]:
        """One read of the base without the groups that the returned overlay overrides. None: all spaces."""
        overlay, tables = await self._scan(spaces, where, columns)
        return overlay, pa.concat_tables(tables)

    async def linked(
        self,
        spaces: Sequence[str] | None,
        keys: Collection[str],
        columns: Sequence[str],
        where: str | None = None,
    ) -> tuple[Mapping[str, Change[Row]], pa.Table]:
        """As `scan`, of the rows that may have any of these keys."""
        overlay = self.snapshot()

        async def ask(base: Stored[Row]) -> pa.Table:
            return await base.chosen(await base.targets(keys), columns, where)

        tables = await asyncio.gather(*(ask(self._bases[shard]) for shard in self._shards(spaces)))
        return overlay, self._without(pa.concat_tables(tables), overlay)

    async def linked_rows(
        self, spaces: Sequence[str] | None, keys: Collection[str], columns: Sequence[str]
    ) -> list[Row]:
        """The rows that may have any of these keys, and others; of what has to be read, these columns."""
        overlay = self.snapshot()

        async def ask(base: Stored[Row]) -> list[Row]:
            targets = await base.targets(keys)
            held = self.held(targets)
            here = [row for rows in held.values() for row in rows]
            if len(held) == len(targets):
                return here
            table = await base.chosen([one for one in targets if one not in held], columns)
            return [*await base.decoded(self._without(table, overlay)), *here]

        found = await asyncio.gather(*(ask(self._bases[shard]) for shard in self._shards(spaces)))
        rows = [*self.unflushed(overlay, None), *(row for some in found for row in some)]
        # What was held is the newer of two.
        return list({self.codec.id_of(row): row for row in rows}.values())

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
        """What LanceDB does not hold yet; take it before reading. Nothing, unless a table says otherwise."""
        return {}

    def held(self, groups: Collection[str]) -> dict[str, list[Row]]:  # noqa: ARG002 - for tables that hold any
        """Rows of those groups that need not be read, true now; a group without any is gone."""
        return {}

    def unflushed(self, overlay: Mapping[str, Change[Row]], spaces: Collection[str] | None) -> list[Row]:
        """The rows of an overlay that are in these spaces."""
        space_of = self.codec.space_of
        return [
            row
            for change in overlay.values()
            for row in change.rows
            if spaces is None or space_of(row) in spaces
        ]

    async def _fetch(self, groups: Collection[str]) -> dict[str, list[Row]]:
        # Most is in one shard, and often known to be in none: a task for each of them costs more than that.
        asked = [(base, some) for base in self._bases if (some := base.known(groups))]
        parts = await asyncio.gather(*(base.read(some) for base, some in asked))
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

    def _tell(self, news: Mapping[str, Sequence[Row]]) -> None:
        if not self._listeners:
            return
        told = {group: list(rows) for group, rows in news.items()}
        for listener in self._listeners:
            listener(told)

    def _count(self, rows: Iterable[Row], step: int) -> None:
        for row in rows:
            if self.codec.counted(row):
                self._counts[self.codec.space_of(row)] += step

    def _shards(self, spaces: Iterable[str] | None) -> list[int]:
        if spaces is None:
            return list(range(len(self._bases)))
        # No space at all still has an answer, an empty one with columns.
        return sorted({self._shard(space) for space in spaces}) or [0]

    def _shard(self, space: str) -> int:
        return int.from_bytes(blake2b(space.encode(), digest_size=8).digest()) % len(self._bases)


def _by_space(spaces: pa.ChunkedArray, values: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    coded = one_array(spaces).dictionary_encode()
    codes = coded.indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(1, len(coded.dictionary)))
    return dict(zip(coded.dictionary.to_pylist(), np.split(values[order], ends), strict=False))


def same_rows(before: Sequence[Row], after: Sequence[Row]) -> bool:
    """Whether a change left the very rows that it was given."""
    return len(before) == len(after) and all(old is new for old, new in zip(before, after, strict=True))
