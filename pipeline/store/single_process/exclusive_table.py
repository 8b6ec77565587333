"""Table with a single writing process: LanceDB, a memtable on top, and one flusher per shard."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

from pipeline.ports import Row, TablePosition
from pipeline.store.lancedb.memtable import MemTable, PendingChange
from pipeline.store.lancedb.row_codec import RowCodec
from pipeline.store.lancedb.sharded_table import ShardedTable, are_same_rows
from pipeline.store.single_process.exclusive_lance_table import ExclusiveLanceTable
from pipeline.store.single_process.memtable_flusher import MemTableFlusher
from pipeline.store.single_process.write_ahead_log import WriteAheadLog


def shard_name(codec: RowCodec[Any], shard: int) -> str:
    """Name of a shard in messages and in the write-ahead log."""
    return f"{codec.table}/{shard}"


class ExclusiveTable(ShardedTable[Row]):
    """Table owned by one process: changes gather in a memtable and are flushed in batches."""

    def __init__(
        self,
        codec: RowCodec[Row],
        lance_tables: Sequence[ExclusiveLanceTable[Row]],
        counts: Mapping[str, int],
        write_ahead_log: WriteAheadLog | None = None,
    ) -> None:
        super().__init__(codec, lance_tables, counts)
        self._history = None if write_ahead_log is None else write_ahead_log.history
        self._memtable: MemTable[Row] = MemTable(len(lance_tables), codec.size_bytes, codec.row_cache_bytes)
        self._writers = self._flushers = [
            MemTableFlusher(shard_name(codec, shard), shard, self._memtable, lance_table, write_ahead_log)
            for shard, lance_table in enumerate(lance_tables)
        ]
        self._purge_count = 0

    @property
    def unflushed_count(self) -> int:
        return sum(self._memtable.pending_count(shard) for shard in range(len(self._lance_tables)))

    async def get(self, entity_keys: Collection[str]) -> dict[str, list[Row]]:
        return {key: list(rows) for key, rows in (await self._read_latest(entity_keys)).items() if rows}

    async def update(
        self,
        entity_keys: Collection[str],
        change: Callable[[str, list[Row]], Sequence[Row] | None],
        prepare: Callable[[], Awaitable[None]] | None = None,
    ) -> dict[str, list[Row]]:
        """Read, modify and write as `ports.EntityTable.update`; `change` runs with no await before the
        write.
        """
        before = await self._read_latest(entity_keys)
        # Nothing suspends from here on, so that exactly the rows that were read are replaced.
        if prepare is not None:
            await prepare()
        changed: dict[str, tuple[Row, ...]] = {}
        for key, rows in before.items():
            after = change(key, list(rows))
            if after is not None and not are_same_rows(rows, after):
                changed[key] = tuple(after)
        self._apply(before, changed)
        return {key: list(changed.get(key, rows)) for key, rows in before.items()}

    async def refresh(self, incarnations: Collection[str] | None = None) -> None:
        """Do nothing: no other process writes this table."""

    async def track_changes(self, incarnations: Collection[str]) -> None:
        if self._history is not None:
            await self._history.track(incarnations)

    def position(self, incarnations: Collection[str]) -> TablePosition | None:
        if self._history is None:
            return None
        unflushed = self._unflushed_keys(incarnations)
        return {"session": self._history.session, "position": self._history.position, "unflushed": unflushed}

    async def changed_since(self, position: TablePosition, incarnations: Collection[str]) -> Collection[str] | None:
        if self._history is None or position.get("session") is None:
            return None
        # The history has what was flushed. Taken first: what is flushed meanwhile may be missing there.
        unflushed = self._unflushed_keys(incarnations)
        kind = self.codec.table
        keys = await self._history.changed_since(position["session"], position["position"], kind, incarnations)
        return None if keys is None else {*keys, *position["unflushed"], *unflushed}

    def _unflushed_keys(self, incarnations: Collection[str]) -> list[str]:
        return [key for key, change in self.memtable_snapshot().items() if change.incarnation in incarnations]

    async def forget_changes(self, position: TablePosition, incarnations: Collection[str]) -> None:
        if self._history is not None:
            await self._history.forget(incarnations, position["position"])

    def put(self, rows_by_key: Mapping[str, Sequence[Row]], before: Mapping[str, Sequence[Row]]) -> None:
        """Replace the rows of keys whose rows `before` the caller already has."""
        self._apply(before, {key: tuple(rows) for key, rows in rows_by_key.items()})

    async def wait_until_durable(self) -> None:
        if self.bulk_loading:
            return
        sequence = self._memtable.sequence
        pending = [
            flusher.wait_until_durable(sequence) for flusher in self._flushers if not flusher.is_durable(sequence)
        ]
        if pending:
            await asyncio.gather(*pending)

    async def delete_incarnations(self, incarnations: Collection[str]) -> None:
        deleted = frozenset(incarnations)
        if not deleted:
            return
        self._discard_incarnations(deleted)
        shards = {self._shard_of(incarnation) for incarnation in deleted}
        await asyncio.gather(*(self._flushers[shard].delete_incarnations(deleted) for shard in shards))
        # Repeated, as a flush in progress may have moved rows of these incarnations to the row cache.
        self._discard_incarnations(deleted)
        await self.wait_until_durable()

    async def run(self, *, serves_requests: bool = True) -> None:  # noqa: ARG002 - there are no other processes
        """Flush and maintain until `stop`."""
        async with asyncio.TaskGroup() as tasks:
            for flusher in self._flushers:
                tasks.create_task(flusher.run())

    def stop(self) -> None:
        for flusher in self._flushers:
            flusher.stop()

    async def erase_deleted_rows(self) -> int:
        moved = await super().erase_deleted_rows()
        self._memtable.clear_row_cache()
        return moved

    def memtable_snapshot(self) -> Mapping[str, PendingChange[Row]]:
        return self._memtable.snapshot()

    def cached_rows(self, entity_keys: Collection[str]) -> dict[str, list[Row]]:
        found = {key: self._memtable.get(key) for key in entity_keys}
        return {key: list(rows) for key, rows in found.items() if rows is not None}

    async def _read_latest(self, entity_keys: Collection[str]) -> dict[str, tuple[Row, ...]]:
        """Return the newest rows of every key, current at the moment it returns."""
        keys = list(dict.fromkeys(entity_keys))
        found: dict[str, tuple[Row, ...]] = {}
        purges = self._purge_count
        with self._memtable.watch_flushed() as flushed_keys:
            while missing := [
                key for key in keys if self._memtable.get(key) is None and (key not in found or key in flushed_keys)
            ]:
                # Keys flushed from here on may be missing in LanceDB's answer and are read again.
                flushed_keys.difference_update(missing)
                fetched = await self._read_stored(missing)
                found.update({key: tuple(fetched.get(key, ())) for key in missing})
                if purges != self._purge_count:
                    purges = self._purge_count
                    found.clear()
        cached = {key: self._memtable.get(key) for key in keys}
        # Cached only after all lookups, as each insertion may evict rows of the other keys.
        fresh = {key: found[key] for key, rows in cached.items() if rows is None}
        for key, read in fresh.items():
            self._memtable.cache_read(key, read)
        return {key: fresh[key] if rows is None else rows for key, rows in cached.items()}

    def _apply(self, before: Mapping[str, Sequence[Row]], changed: Mapping[str, tuple[Row, ...]]) -> None:
        if not changed:
            return
        for key, rows in changed.items():
            old = before.get(key, ())
            incarnation = self.codec.incarnation_of((*rows, *old)[0])
            shard = self._shard_of(incarnation)
            self._memtable.put(key, rows, incarnation, shard)
            self._adjust_counts(old, -1)
            self._adjust_counts(rows, 1)
            self._flushers[shard].notify_change()
        self._notify_listeners(changed)

    def _discard_incarnations(self, incarnations: frozenset[str]) -> None:
        self._purge_count += 1
        self._memtable.clear_row_cache()
        incarnation_of = self.codec.incarnation_of
        self._apply(
            discarded := {
                key: change.rows
                for key, change in self.memtable_snapshot().items()
                if any(incarnation_of(row) in incarnations for row in change.rows)
            },
            dict.fromkeys(discarded, ()),
        )
        for incarnation in incarnations:
            self._counts.pop(incarnation, None)
