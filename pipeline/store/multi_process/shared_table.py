"""Table shared by several processes: rows change under the lock of their shard and are read fresh.

When `update` returns, its changes are on disk and visible to every process. Listeners hear of remote changes a
moment later, or when `refresh` is awaited. Readers also see changes that are in the log and whose owner has
not written them yet (`show_logged_changes`).
"""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence

from pipeline.errors import RetryableError
from pipeline.ports import Row, TablePosition
from pipeline.runtime.outage_retry import is_set_within
from pipeline.store.lancedb.lance_table import STORAGE_ERRORS
from pipeline.store.lancedb.memtable import PendingChange
from pipeline.store.lancedb.row_codec import RowCodec, in_condition
from pipeline.store.lancedb.sharded_table import ShardedTable, read_errors_as_outages
from pipeline.store.multi_process.row_overlay import LoggedChange, RowOverlay
from pipeline.store.multi_process.shard_committer import TOMBSTONE_RETENTION_SECONDS, ShardCommitter, SharingOptions
from pipeline.store.multi_process.shared_lance_table import SharedLanceTable
from pipeline.store.multi_process.update_queue import Preparation, RowChange

LatestDeletions = Callable[[Collection[str]], Awaitable[Mapping[str, int]]]
"""Returns the log position of the latest recent deletion of each of these keys."""

_MAX_CACHED_SHARDS = 100_000
_KEYS_PER_DELETE = 512
_ROW_CACHE_FACTOR = 4
"""Caches hold the batches of all partitions between two stages; a miss is a query."""
_MAINTENANCE_INTERVAL_SECONDS = 2.0
_UNWATCHED_POLL_SECONDS = 10.0
"""Interval at which a process without requests hears of changes in shards that other processes write."""
_MAX_COPY_SECONDS = TOMBSTONE_RETENTION_SECONDS / 2
"""Age of a copy of rows up to which `changed_since` can tell of every deletion."""

_log = logging.getLogger(__name__)


class SharedTable(ShardedTable[Row]):
    """`pipeline.ports.EntityTable` for several processes. `run` follows the others and does maintenance."""

    def __init__(
        self, codec: RowCodec[Row], lance_tables: Sequence[SharedLanceTable[Row]], sharing: SharingOptions
    ) -> None:
        super().__init__(codec, lance_tables, {})
        self._sharing = sharing
        self._shard_by_entity_key: OrderedDict[str, int] = OrderedDict()
        self._stopped = asyncio.Event()
        self._overlay = RowOverlay(codec)
        self._writers = self._committers = [
            ShardCommitter(
                f"tables/{codec.table}_{number}",
                lance_table,
                codec,
                sharing,
                self,
                # Rows of a short-lived codec end without a trace that followers could see.
                row_cache_bytes=0
                if codec.short_lived
                else _ROW_CACHE_FACTOR * codec.row_cache_bytes // len(lance_tables),
            )
            for number, lance_table in enumerate(lance_tables)
        ]

    async def get(self, entity_keys: Collection[str]) -> dict[str, list[Row]]:
        # Taken before the read: what is dropped meanwhile is in every row that is read from now on.
        shown = self._overlay.shown(entity_keys)
        stored = await self._read_stored(dict.fromkeys(entity_keys))
        overlaid = {key: entity.rows_over(stored.get(key, ())) for key, entity in shown.items()}
        return {key: rows for key, rows in (stored | overlaid).items() if rows}

    async def show_logged_changes(
        self, changes: Mapping[str, Sequence[LoggedChange[Row]]], latest_deletions: LatestDeletions
    ) -> None:
        """Show changes of a partition of the log, by entity key, until their owner has written them.

        Each key's changes come in log order, and a process shows all of them from some offset on. `latest_deletions`
        tells where in the log keys were deleted, for every deletion that is written.
        """
        self.hint_incarnations({key: logged[0].incarnation for key, logged in changes.items()})
        await self.refresh({logged[0].incarnation for logged in changes.values()})
        marks = self._overlay.append(changes)
        stored = await self._read_stored(list(changes))
        # After the rows: the owner tells of a deletion before it writes it, and may be ahead of this process.
        deletions = await latest_deletions([key for key in changes if key not in stored])
        self._notify_listeners(self._overlay.set_stored(stored, marks, deletions))
        written = [key for key, rows in stored.items() if changes[key][0].apply(rows[0]) is rows[0]]
        if written:
            # These rows are newer than the counts.
            await self.refresh({changes[key][0].incarnation for key in written})

    async def drop_written_changes(self, next_offsets: Mapping[int, int]) -> None:
        """Stop showing changes before these offsets (by partition): their owner has written them."""
        if self._overlay.keys_before(next_offsets):
            await self.refresh()
            self._overlay.drop(self._overlay.keys_before(next_offsets))

    def memtable_snapshot(self) -> Mapping[str, PendingChange[Row]]:
        return self._overlay.snapshot()

    def count_by_incarnation(self, incarnations: Iterable[str]) -> dict[str, int]:
        return {
            incarnation: self._counts[incarnation] + self._overlay.count_change(incarnation)
            for incarnation in incarnations
        }

    def hint_incarnations(self, incarnations: Mapping[str, str]) -> None:
        """Cache the shard of each key (see `ShardedTable.hint_incarnations`)."""
        for key, incarnation in incarnations.items():
            self._cache_shard(key, self._shard_of(incarnation))

    async def update(
        self, entity_keys: Collection[str], change: RowChange[Row], prepare: Preparation | None = None
    ) -> dict[str, list[Row]]:
        """Read, modify and write; durable and visible to every process on return.

        `change` may be called more than once, and `prepare` for each shard. OutageError if the table cannot be
        written.
        """
        ordered_keys = list(dict.fromkeys(entity_keys))
        by_shard = await self._group_by_shard(ordered_keys, change)
        done = await asyncio.gather(
            *(self._committers[shard].update(members, change, prepare) for shard, members in by_shard.items())
        )
        after = {key: rows for part in done for key, rows in part.items()}
        return {key: after.get(key, []) for key in ordered_keys}

    async def update_soon(self, entity_keys: Collection[str], change: RowChange[Row]) -> None:
        """Let the changes join the next commit of their shards, which costs as much for one row as for many."""
        for shard, members in (await self._group_by_shard(entity_keys, change)).items():
            self._committers[shard].update_soon(members, change)

    async def wait_until_durable(self) -> None:
        """Do nothing: `update` returns when its changes are on disk."""

    async def refresh(self, incarnations: Collection[str] | None = None) -> None:
        """Notify listeners of changes by other processes in these incarnations (None: all)."""
        await asyncio.gather(*(self._committers[shard].follower.refresh() for shard in self._shards_of(incarnations)))

    async def delete_incarnations(self, incarnations: Collection[str]) -> None:
        for shard in self._shards_of(incarnations) if incarnations else ():
            members = [incarnation for incarnation in incarnations if self._shard_of(incarnation) == shard]
            while groups := await self._entity_keys_in(shard, members):
                await self._committers[shard].update(groups, lambda _, rows: [] if rows else None)

    async def run(self, *, serves_requests: bool = True) -> None:
        """Follow other processes and maintain the shards until `stop`.

        Without requests nobody waits for what others change: readers look for the newest version, and those that
        read from memory call `refresh`.
        """
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(
                self._poll_remote_changes(self._sharing.poll_seconds if serves_requests else _UNWATCHED_POLL_SECONDS)
            )
            tasks.create_task(self._maintain_shards())

    def stop(self) -> None:
        self._stopped.set()

    async def _poll_remote_changes(self, seconds: float) -> None:
        while not await is_set_within(self._stopped, seconds):
            try:
                followers = [committer.follower for committer in self._committers]
                await asyncio.gather(*(follower.follow() for follower in followers if follower.is_due()))
            except STORAGE_ERRORS as error:
                _log.warning(
                    "Changes of table %s could not be followed; this will be retried: %s", self.codec.table, error
                )

    async def _maintain_shards(self) -> None:
        while not await is_set_within(self._stopped, _MAINTENANCE_INTERVAL_SECONDS):
            for committer in self._committers:
                try:
                    await committer.maintain_if_due()
                except (*STORAGE_ERRORS, RetryableError) as error:
                    _log.warning("Maintenance of table %s failed; it will be retried: %s", committer.name, error)

    async def _group_by_shard(self, entity_keys: Collection[str], change: RowChange[Row]) -> dict[int, list[str]]:
        by_shard: dict[int, list[str]] = {}
        for key, shard in (await self._locate_shards(list(dict.fromkeys(entity_keys)), change)).items():
            by_shard.setdefault(shard, []).append(key)
        return by_shard

    async def _locate_shards(self, entity_keys: Sequence[str], change: RowChange[Row]) -> dict[str, int]:
        """Find the shard of each key; keys that do not exist and are not created are left out.

        An entity stays in one incarnation for ever, but only its rows tell in which.
        """
        if len(self._lance_tables) == 1:
            return dict.fromkeys(entity_keys, 0)
        shard_by_key = self._shard_by_entity_key
        if unknown_keys := [key for key in entity_keys if key not in shard_by_key]:
            await self._read_stored(unknown_keys)
        for key in unknown_keys:
            if key not in shard_by_key and (rows := change(key, [])):
                self._cache_shard(key, self._shard_of(self.codec.incarnation_of(rows[0])))
        return {key: shard_by_key[key] for key in entity_keys if key in shard_by_key}

    @read_errors_as_outages
    async def _read_stored(self, entity_keys: Collection[str]) -> dict[str, list[Row]]:
        shard_by_key = self._shard_by_entity_key
        keys_by_shard = [
            [key for key in entity_keys if shard_by_key.get(key, shard) == shard]
            for shard in range(len(self._lance_tables))
        ]
        found = await asyncio.gather(
            *(committer.get_rows(keys) for committer, keys in zip(self._committers, keys_by_shard, strict=True))
        )
        for shard, part in enumerate(found):
            for key in part:
                self._cache_shard(key, shard)
        return {key: rows for part in found for key, rows in part.items()}

    def _cache_shard(self, entity_key: str, shard: int) -> None:
        self._shard_by_entity_key[entity_key] = shard
        while len(self._shard_by_entity_key) > _MAX_CACHED_SHARDS:
            self._shard_by_entity_key.popitem(last=False)

    async def _entity_keys_in(self, shard: int, incarnations: Sequence[str]) -> list[str]:
        rows = await self._lance_tables[shard].scan(
            in_condition("incarnation", incarnations), [self.codec.entity_key_column]
        )
        groups: list[str] = rows.column(0).unique().slice(0, _KEYS_PER_DELETE).to_pylist()
        return groups

    # `ChangeListener` of the shards' followers and committers.

    def on_local_change(self, before: Mapping[str, Sequence[Row]], after: Mapping[str, Sequence[Row]]) -> None:
        """Count and publish a change of this process."""
        for key, rows in after.items():
            self._adjust_counts(before.get(key, ()), -1)
            self._adjust_counts(rows, 1)
        self._notify_listeners(self._overlay.on_stored_change(after))

    def on_remote_change(
        self, counts: Mapping[str, int], added: Mapping[str, int], changes: Mapping[str, Sequence[Row]]
    ) -> None:
        """Take over counts and publish changes of other processes."""
        for incarnation, count in counts.items():
            self._counts[incarnation] = count
        self._counts.update(added)
        if changes:
            self._notify_listeners(self._overlay.on_stored_change(changes))

    def position(self, incarnations: Collection[str]) -> TablePosition | None:
        shards = {str(shard): self._committers[shard].follower.seen_version for shard in self._shards_of(incarnations)}
        if min(shards.values()) < 0:
            return None
        ahead = [key for key, change in self.memtable_snapshot().items() if change.incarnation in incarnations]
        return {"versions": shards, "at": time.time(), "ahead": ahead}

    async def changed_since(self, position: TablePosition, incarnations: Collection[str]) -> Collection[str] | None:
        """None also after so long that tombstones of deleted rows may be gone."""
        versions = position.get("versions", {})
        shards = self._shards_of(incarnations)
        age = time.time() - position.get("at", 0.0)
        if not 0 <= age <= _MAX_COPY_SECONDS or versions.keys() != {str(shard) for shard in shards}:
            return None
        found = await asyncio.gather(
            *(self._committers[shard].follower.changed_since(versions[str(shard)], incarnations) for shard in shards)
        )
        keys = {*position["ahead"]}
        for part in found:
            if part is None:
                return None
            keys |= part
        return keys

    def subscribed_incarnations(self, incarnations: Collection[str]) -> list[str]:
        """Filter incarnations by what listeners want: rows of the others are not even read."""
        if None in self._incarnation_filters:
            return list(incarnations)
        filters = [wants for wants in self._incarnation_filters if wants is not None]
        overlaid = self._overlay.incarnations()
        return [
            incarnation
            for incarnation in incarnations
            if incarnation in overlaid or any(wants(incarnation) for wants in filters)
        ]
