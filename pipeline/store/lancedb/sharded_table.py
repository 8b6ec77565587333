"""Table base class: one logical table over several LanceDB tables (shards), whoever writes them."""

import asyncio
import functools
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipeline.errors import OutageError
from pipeline.ports import EntityTable, Row, TablePosition
from pipeline.store.lancedb.lance_table import LanceTable, release_unused_memory
from pipeline.store.lancedb.memtable import PendingChange
from pipeline.store.lancedb.row_codec import TIMESTAMP, RowCodec, combine_chunks, in_incarnations, to_numpy
from pipeline.store.lancedb.table_access import ROW_ID_COLUMN
from pipeline.store.lancedb.table_size import TableSize, sum_sizes

ChangeCallback = Callable[[Mapping[str, list[Row]]], None]
SHARD_COLUMN = "_shard"
_BATCH_ROWS = 4096
P = ParamSpec("P")
T = TypeVar("T")


def read_errors_as_outages(read: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Make a reader raise OutageError where LanceDB cannot read its disk or object store."""

    @functools.wraps(read)
    async def reader(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await read(*args, **kwargs)
        except (OSError, RuntimeError) as error:
            raise OutageError(f"The tables could not be read: {error}") from error

    return reader


class ShardWriter(Protocol):
    """Writer of one shard in this process. Its verbs are those of `ShardedTable`."""

    @property
    def health_issue(self) -> str | None: ...

    async def flush(self) -> None: ...

    async def maintain(self) -> None: ...

    async def erase_deleted_rows(self) -> int: ...

    async def drop_old_versions(self, older_than: timedelta) -> None: ...


class ShardedTable(EntityTable[Row], ABC):
    """Base of entity tables; each incarnation lives in one shard."""

    _writers: Sequence[ShardWriter]

    def __init__(
        self, codec: RowCodec[Row], lance_tables: Sequence[LanceTable[Row]], counts: Mapping[str, int]
    ) -> None:
        self.codec = codec
        self._lance_tables = lance_tables
        self._listeners: list[ChangeCallback[Row]] = []
        self._incarnation_filters: list[Callable[[str], bool] | None] = []
        self._counts = Counter(counts)
        self.bulk_loading = False
        """True while one caller fills the table and flushes it himself: `wait_until_durable` does not wait.
        """

    @property
    def unflushed_count(self) -> int:
        """Number of entity keys with unflushed changes."""
        return 0

    def hint_incarnations(self, incarnations: Mapping[str, str]) -> None:
        """Say in which incarnation each key would be, so that only one shard needs to be read."""

    async def update_soon(
        self, entity_keys: Collection[str], change: Callable[[str, list[Row]], Sequence[Row] | None]
    ) -> None:
        """Change rows as `ports.EntityTable.update_soon`."""
        await self.update(entity_keys, change)

    async def track_changes(self, incarnations: Collection[str]) -> None:
        """Remember from now on which rows of these incarnations change, as `ports.TrackedTable`."""

    def position(self, incarnations: Collection[str]) -> TablePosition | None:  # noqa: ARG002 - for tables with a history
        """Position of a reader who heard of every change so far; None without a history."""
        return None

    async def changed_since(
        self,
        position: TablePosition,  # noqa: ARG002 - as above
        incarnations: Collection[str],  # noqa: ARG002 - as above
    ) -> Collection[str] | None:
        return None

    async def forget_changes(self, position: TablePosition, incarnations: Collection[str]) -> None:
        """Drop what changed up to a position: nobody asks for it any more."""

    @abstractmethod
    async def delete_incarnations(self, incarnations: Collection[str]) -> None:
        """Delete every row of these incarnations; durable on return, idempotent."""

    async def erase_deleted_rows(self) -> int:
        """Write every row anew whose file holds deleted rows too; return how many."""
        return sum([await writer.erase_deleted_rows() for writer in self._writers])

    async def drop_old_versions(self, older_than: timedelta) -> None:
        """Remove from the disk what only versions older than this hold."""
        for writer in self._writers:
            await writer.drop_old_versions(older_than)

    @abstractmethod
    async def run(self, *, serves_requests: bool = True) -> None:
        """Do the background work until `stop`; a process that answers no requests may hear later of other processes."""

    @abstractmethod
    def stop(self) -> None:
        """Make `run` return soon."""

    async def flush(self) -> None:
        """Write all pending changes to LanceDB now; raises if that fails."""
        await asyncio.gather(*(writer.flush() for writer in self._writers))

    async def maintain(self) -> None:
        """Merge fragments, refresh indices and drop old versions now, due or not."""
        for writer in self._writers:
            await writer.maintain()

    def health_issues(self) -> list[str]:
        """Describe every shard that cannot be written now."""
        return [issue for writer in self._writers if (issue := writer.health_issue) is not None]

    async def size(self) -> TableSize:
        """Sum of the sizes of all shards, without unflushed rows."""
        return sum_sizes(await asyncio.gather(*(lance_table.size() for lance_table in self._lance_tables)))

    def subscribe(self, listener: ChangeCallback[Row], incarnation_filter: Callable[[str], bool] | None = None) -> None:
        """Call `listener` with the new rows of each changed key, synchronously with the change.

        `incarnation_filter` limits changes by other processes to the incarnations it returns True for.
        """
        self._listeners.append(listener)
        self._incarnation_filters.append(incarnation_filter)

    async def list_rows(self, incarnations: Sequence[str]) -> list[Row]:
        """Read every row of these incarnations, newest state."""
        snapshot, tables = await self._scan_shards(incarnations, in_incarnations(incarnations), None)
        rows = [row for table in tables for row in await self._lance_tables[0].decode_rows(table)]
        return rows + self.unflushed_rows(snapshot, incarnations)

    def count_by_incarnation(self, incarnations: Iterable[str]) -> dict[str, int]:
        """Return the number of counted rows of each incarnation, from memory and always current."""
        return {incarnation: self._counts[incarnation] for incarnation in incarnations}

    async def created_since(self, incarnations: Sequence[str], since: datetime) -> dict[str, NDArray[np.int64]]:
        """Return the creation times (microseconds since 1970) of rows created since then, by incarnation."""
        columns = [self.codec.entity_key_column, "incarnation", "created_at"]
        earliest = pa.scalar(since, TIMESTAMP)
        where = in_incarnations(incarnations, f"created_at >= to_timestamp_micros({earliest.value})")
        snapshot, stored = await self.scan(incarnations, where, columns)
        fresh = self.codec.encode(self.unflushed_rows(snapshot, incarnations), columns)
        fresh = fresh.filter(pc.greater_equal(fresh.column("created_at"), earliest))
        table = pa.concat_tables([stored.select(columns), fresh])
        return _group_by_incarnation(table.column("incarnation"), to_numpy(table.column("created_at"), np.int64))

    # Building blocks of the queries of each kind of table.

    async def scan(
        self, incarnations: Sequence[str] | None, where: str, columns: Sequence[str] | None
    ) -> tuple[Mapping[str, PendingChange[Row]], pa.Table]:
        """Read LanceDB once (None: all incarnations), without keys that the returned snapshot overrides."""
        snapshot, tables = await self._scan_shards(incarnations, where, columns)
        return snapshot, pa.concat_tables(tables)

    async def find_rows(
        self,
        incarnations: Sequence[str] | None,
        where: str,
        row_matches: Callable[[Row], bool],
        columns: Sequence[str] | None = None,
    ) -> list[Row]:
        """Read the rows that match `where`, which `row_matches` tests on an unflushed row."""
        snapshot, stored = await self.scan(incarnations, where, columns)
        unflushed = self.unflushed_rows(snapshot, incarnations)
        return self.codec.decode(stored) + [row for row in unflushed if row_matches(row)]

    @read_errors_as_outages
    async def scan_by_secondary_keys(
        self,
        incarnations: Sequence[str] | None,
        keys: Collection[str],
        columns: Sequence[str],
        where: str | None = None,
    ) -> tuple[Mapping[str, PendingChange[Row]], pa.Table]:
        """Like `scan`, for the rows that may have any of these secondary keys."""
        snapshot = self.memtable_snapshot()

        async def read_shard(lance_table: LanceTable[Row]) -> pa.Table:
            return await lance_table.scan_keys(await lance_table.lookup(keys), columns, where)

        tables = await asyncio.gather(
            *(read_shard(self._lance_tables[shard]) for shard in self._shards_of(incarnations))
        )
        return snapshot, self._exclude_overridden(pa.concat_tables(tables), snapshot)

    @read_errors_as_outages
    async def find_by_secondary_keys(
        self, incarnations: Sequence[str] | None, keys: Collection[str], columns: Sequence[str]
    ) -> list[Row]:
        """Return rows that may have any of these keys.

        Perhaps with others. Stored rows have these columns only.
        """
        snapshot = self.memtable_snapshot()

        async def read_shard(lance_table: LanceTable[Row]) -> list[Row]:
            targets = await lance_table.lookup(keys)
            cached = self.cached_rows(targets)
            cached_rows = [row for rows in cached.values() for row in rows]
            if len(cached) == len(targets):
                return cached_rows
            table = await lance_table.scan_keys([target for target in targets if target not in cached], columns)
            return [*await lance_table.decode_rows(self._exclude_overridden(table, snapshot)), *cached_rows]

        found = await asyncio.gather(
            *(read_shard(self._lance_tables[shard]) for shard in self._shards_of(incarnations))
        )
        rows = [*self.unflushed_rows(snapshot, None), *(row for shard_rows in found for row in shard_rows)]
        # Of two rows with the same id the cached one, which comes last, is newer.
        return list({self.codec.id_of(row): row for row in rows}.values())

    @read_errors_as_outages
    async def scan_row_ids(
        self, incarnations: Sequence[str], where: str, columns: Sequence[str]
    ) -> tuple[Mapping[str, PendingChange[Row]], pa.Table]:
        """Like `scan`, with the two further columns that `take_rows` needs."""
        snapshot = self.memtable_snapshot()
        shards = self._shards_of(incarnations)
        tables = await asyncio.gather(*(self._lance_tables[shard].scan_row_ids(where, columns) for shard in shards))
        numbered = [
            table.append_column(SHARD_COLUMN, pa.array(np.full(table.num_rows, shard, np.int32)))
            for shard, table in zip(shards, tables, strict=True)
        ]
        return snapshot, self._exclude_overridden(pa.concat_tables(numbered), snapshot)

    @read_errors_as_outages
    async def take_rows(
        self, row_ids: pa.Table, columns: Sequence[str] | None
    ) -> tuple[Mapping[str, PendingChange[Row]], pa.Table]:
        """Read rows by the ids that `scan_row_ids` returned; moved or changed rows are left out."""
        snapshot = self.memtable_snapshot()
        shards = row_ids.column(SHARD_COLUMN).to_numpy()
        rows = row_ids.column(ROW_ID_COLUMN).to_numpy()
        taken = [
            self._lance_tables[shard].take_rows(rows[shards == shard].tolist(), columns)
            for shard in np.unique(shards).tolist()
        ]
        return snapshot, self._exclude_overridden(pa.concat_tables(await asyncio.gather(*taken)), snapshot)

    async def stream_stored(
        self, incarnations: Sequence[str], columns: Sequence[str], snapshot: Mapping[str, PendingChange[Row]]
    ) -> AsyncIterator[pa.Table]:
        """Stream the stored rows in batches, without keys that the snapshot overrides."""
        read = 0
        for shard in self._shards_of(incarnations):
            async for batch in self._lance_tables[shard].stream(in_incarnations(incarnations), columns, _BATCH_ROWS):
                read += batch.num_rows
                if (kept := self._exclude_overridden(batch, snapshot)).num_rows:
                    yield kept
        if read >= _BATCH_ROWS:
            await asyncio.to_thread(release_unused_memory)

    def memtable_snapshot(self) -> Mapping[str, PendingChange[Row]]:
        """Return the unflushed changes; take it before reading LanceDB. Empty without a memtable."""
        return {}

    def cached_rows(self, entity_keys: Collection[str]) -> dict[str, list[Row]]:  # noqa: ARG002 - for tables that hold any
        """Return rows of these keys that are in memory and current; an empty list: the key was deleted."""
        return {}

    def unflushed_rows(
        self, snapshot: Mapping[str, PendingChange[Row]], incarnations: Collection[str] | None
    ) -> list[Row]:
        incarnation_of = self.codec.incarnation_of
        return [
            row
            for change in snapshot.values()
            for row in change.rows
            if incarnations is None or incarnation_of(row) in incarnations
        ]

    @read_errors_as_outages
    async def _read_stored(self, entity_keys: Collection[str]) -> dict[str, list[Row]]:
        # Key filters rule out most shards, and a task per shard would cost more than that.
        reads = [
            (lance_table, keys) for lance_table in self._lance_tables if (keys := lance_table.may_contain(entity_keys))
        ]
        parts = await asyncio.gather(*(lance_table.read_rows(keys) for lance_table, keys in reads))
        return {key: rows for part in parts for key, rows in part.items()}

    @read_errors_as_outages
    async def _scan_shards(
        self, incarnations: Sequence[str] | None, where: str | None, columns: Sequence[str] | None
    ) -> tuple[Mapping[str, PendingChange[Row]], list[pa.Table]]:
        snapshot = self.memtable_snapshot()
        shards = self._shards_of(incarnations)
        tables = await asyncio.gather(*(self._lance_tables[shard].scan(where, columns) for shard in shards))
        return snapshot, [self._exclude_overridden(table, snapshot) for table in tables]

    def _exclude_overridden(self, table: pa.Table, snapshot: Mapping[str, PendingChange[Row]]) -> pa.Table:
        if not snapshot or not table.num_rows:
            return table
        overridden = pc.is_in(
            table.column(self.codec.entity_key_column), value_set=pa.array(list(snapshot), pa.string())
        )
        return table.filter(pc.invert(overridden))

    def _notify_listeners(self, changes: Mapping[str, Sequence[Row]]) -> None:
        if not self._listeners:
            return
        rows_by_key = {key: list(rows) for key, rows in changes.items()}
        for listener in self._listeners:
            listener(rows_by_key)

    def _adjust_counts(self, rows: Iterable[Row], delta: int) -> None:
        for row in rows:
            if self.codec.is_counted(row):
                self._counts[self.codec.incarnation_of(row)] += delta

    def _shards_of(self, incarnations: Iterable[str] | None) -> list[int]:
        if incarnations is None:
            return list(range(len(self._lance_tables)))
        # Without incarnations, an empty result still needs its columns.
        return sorted({self._shard_of(incarnation) for incarnation in incarnations}) or [0]

    def _shard_of(self, incarnation: str) -> int:
        return shard_of(incarnation, len(self._lance_tables))


def shard_of(incarnation: str, shards: int) -> int:
    """Return the shard of an incarnation's rows. Tables, and the divisions of a replay, depend on this function."""
    return int.from_bytes(blake2b(incarnation.encode(), digest_size=8).digest()) % shards


def _group_by_incarnation(incarnations: pa.ChunkedArray, values: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    coded = combine_chunks(incarnations).dictionary_encode()
    codes = coded.indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(1, len(coded.dictionary)))
    return dict(zip(coded.dictionary.to_pylist(), np.split(values[order], ends), strict=False))


def are_same_rows(before: Sequence[Row], after: Sequence[Row]) -> bool:
    """True if a change returned the very rows that it was given."""
    return len(before) == len(after) and all(old is new for old, new in zip(before, after, strict=True))
