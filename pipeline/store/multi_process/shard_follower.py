"""Follower of one shard of a shared table: what other processes change, and rows kept in memory."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.ports import Row
from pipeline.store.lancedb.key_filter import KeyFilter, NoKeyFilter
from pipeline.store.lancedb.lance_table import run_to_completion
from pipeline.store.lancedb.row_cache import RowCache
from pipeline.store.lancedb.row_codec import RowCodec, in_condition
from pipeline.store.lancedb.sharded_table import read_errors_as_outages
from pipeline.store.multi_process.shared_lance_table import SharedLanceTable
from pipeline.store.multi_process.version_stamped_table import DELETED

Row_contra = TypeVar("Row_contra", contravariant=True)
Result = TypeVar("Result")

_FOLLOW_REST_FACTOR = 10
_MAX_FOLLOW_REST_SECONDS = 0.5
_MAX_FOLLOW_GAP_SECONDS = 1800.0
_MAX_INCARNATIONS_IN_FILTER = 500
"""Maximum number of incarnations in one condition; to count more, all rows are counted."""


class StaleFollowerError(Exception):
    """The process was cut off for so long that it may have missed deletions."""


class ChangeListener(Protocol[Row_contra]):
    """Receiver of changes, in the order in which they were made."""

    def on_local_change(
        self, before: Mapping[str, Sequence[Row_contra]], after: Mapping[str, Sequence[Row_contra]]
    ) -> None:
        """Handle a change by this process."""
        ...

    def on_remote_change(
        self, counts: Mapping[str, int], added: Mapping[str, int], changes: Mapping[str, Sequence[Row_contra]]
    ) -> None:
        """Handle changes by others (and perhaps this process), and by incarnation new row counts, and added rows."""
        ...

    def subscribed_incarnations(self, incarnations: Collection[str]) -> list[str]:
        """Return the incarnations whose rows a listener wants."""
        ...


class ShardFollower(Generic[Row]):
    """Shard as this process knows it: the version up to which listeners heard of every change, and its rows."""

    def __init__(
        self,
        name: str,
        lance_table: SharedLanceTable[Row],
        codec: RowCodec[Row],
        listener: ChangeListener[Row],
        *,
        row_cache_bytes: int,
    ) -> None:
        self._name = name
        self._lance_table = lance_table
        self._codec = codec
        self._listener = listener
        self.order = asyncio.Lock()
        """Orders commits and refreshes, so that listeners see changes in their order."""
        self.seen_version = -1
        """Version up to which listeners heard of every change; negative at first."""
        self._row_cache = RowCache(codec.size_bytes, row_cache_bytes)
        """Rows as of `seen_version`."""
        self._key_filter: KeyFilter[str] | NoKeyFilter[str] = NoKeyFilter()
        """Keys with rows at `seen_version` or before, deleted ones too, once they are known."""
        self._uncertain_keys = KeyFilter[str]()
        """Keys whose change does not tell the count: deleted before, or changed before this process heard of them."""
        self._counted_ahead: Collection[str] = ()
        """Incarnations whose counts may hold rows that others added after `seen_version`."""
        self._in_flight: Mapping[str, Sequence[Row]] = {}
        """Changes that are being committed on top of `seen_version`."""
        self._seen_at = time.monotonic()
        self._follow_at = 0.0

    @property
    def is_following(self) -> bool:
        """True if the changes since the version that was seen are known to be there still."""
        return self.seen_version >= 0 and time.monotonic() - self._seen_at < _MAX_FOLLOW_GAP_SECONDS

    async def get_rows_at(self, version: int, entity_keys: Collection[str]) -> dict[str, list[Row]]:
        """Read the rows of these keys at the newest version, which is this one."""
        if not self._knows(version, entity_keys):
            return await self._lance_table.get_rows(entity_keys)
        cached = {key: rows for key in entity_keys if (rows := self._row_cache.get(key)) is not None}
        missing = self._key_filter.may_contain(key for key in entity_keys if key not in cached)
        read = await self._lance_table.get_rows(missing)
        if version == self.seen_version:
            self._cache_rows({key: read.get(key, []) for key in missing})
        return {key: list(rows) for key, rows in cached.items() if rows} | read

    def _knows(self, version: int, entity_keys: Collection[str]) -> bool:
        """Return whether the rows in memory are those of this version."""
        if version == self.seen_version:
            return True
        # While this process holds the lock of a folder, the next version is that of its commit.
        is_own = bool(self._in_flight) and version == self.seen_version + 1
        return is_own and not any(key in self._in_flight for key in entity_keys)

    def _cache_rows(self, rows_by_key: Mapping[str, Sequence[Row]]) -> None:
        """Keep rows as of `seen_version`."""
        for key, rows in rows_by_key.items():
            self._row_cache.put(key, tuple(rows))

    @read_errors_as_outages
    async def changed_since(self, version: int, incarnations: Collection[str]) -> set[str] | None:
        """Entity keys of these incarnations written or deleted after a version; None if the table is older."""
        if await self._lance_table.version() < version:
            return None
        changes = await self._lance_table.changes_since(version, incarnations)
        return set(changes.column(self._codec.entity_key_column).to_pylist())

    def is_due(self) -> bool:
        """Return whether there may be changes, and catching up took no more than a tenth of the time so far."""
        now = time.monotonic()
        if now < self._follow_at:
            return False
        if not self._lance_table.is_known_to_be(self.seen_version):
            return True
        self._seen_at = now
        return False

    async def follow(self) -> None:
        """Catch up like `refresh`, and rest, half a second at most."""
        version, started = self.seen_version, time.monotonic()
        await self.refresh()
        if version != self.seen_version:
            now = time.monotonic()
            self._follow_at = now + min(_FOLLOW_REST_FACTOR * (now - started), _MAX_FOLLOW_REST_SECONDS)

    async def refresh(self) -> None:
        """Catch up with changes by other processes."""
        if self._lance_table.is_known_to_be(self.seen_version):
            self._seen_at = time.monotonic()
            return
        async with self.order:
            await self.refresh_in_order()

    async def refresh_in_order(self) -> int:
        """Catch up, where `order` is held; return the version that is seen now."""
        version = await self._lance_table.version()
        now = time.monotonic()
        if version != self.seen_version:
            if now - self._seen_at > _MAX_FOLLOW_GAP_SECONDS:
                raise StaleFollowerError(
                    f"Shard {self._name} could not be followed for {now - self._seen_at:.0f} s, and what "
                    "was deleted meanwhile may still be in memory. Start this process again."
                )
            changed = await (self._load_counts() if self.seen_version < 0 else self._catch_up(version))
            # Now, so that no read of the older version can follow.
            self._key_filter.add(changed)
            for key in changed:
                self._row_cache.remove(key)
            self.seen_version = version
        self._seen_at = now
        return version

    async def rewrite_files(self, rewrite: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """Write a new version with the same rows, which followers need not read again."""
        version = await self._lance_table.version()
        result = await run_to_completion(rewrite())
        if version == self.seen_version:
            self.seen_version = await self._lance_table.version()
        return result

    def may_only_add(self, version: int, entity_keys: Collection[str]) -> bool:
        """Return whether none of these keys has rows at a version that is about to be changed."""
        return version == self.seen_version and not self._key_filter.may_contain(entity_keys)

    @contextmanager
    def in_flight(self, version: int, changed: Mapping[str, Sequence[Row]]) -> Iterator[None]:
        """Serve other keys from memory while a commit of these changes makes the next version of a folder."""
        self._in_flight = changed if version == self.seen_version and self._lance_table.is_local else {}
        try:
            yield
        finally:
            self._in_flight = {}

    def take_over(self, version: int, after: int, changed: Mapping[str, Sequence[Row]]) -> None:
        """Take over what this process has committed on top of `version`, which made the version `after`."""
        if version != self.seen_version:
            self._uncertain_keys.add(changed)
            return
        self.seen_version = after
        self._key_filter.add(changed)
        self._cache_rows(changed)
        self._uncertain_keys.add(key for key, rows in changed.items() if not rows)

    async def _load_counts(self) -> Collection[str]:
        """Tell listeners how many rows there are; return the entity keys of all."""
        stored = await self._lance_table.changes_since(-1)
        counts = await self._count_rows(None) if self._codec.counted_filter else _count_live(stored)
        self._listener.on_remote_change(counts, {}, {})
        self._key_filter = KeyFilter()
        self._uncertain_keys.add(self._keys(stored.filter(stored.column(DELETED.name))))
        return self._keys(stored)

    def _keys(self, rows: pa.Table) -> list[str]:
        keys: list[str] = rows.column(self._codec.entity_key_column).to_pylist()
        return keys

    async def _catch_up(self, version: int) -> Collection[str]:
        """Tell listeners what others changed up to a version, and return the entity keys of it."""
        read = await self._lance_table.changes_after(self.seen_version, version, self._listener.subscribed_incarnations)
        changes = read.written
        if not changes.num_rows:
            return ()
        keys = self._keys(changes)
        of_key = zip(keys, changes.column("incarnation").to_pylist(), strict=True)
        rows_by_key = {key: read.rows.get(key, []) for key, incarnation in of_key if incarnation in read.wanted}
        self._uncertain_keys.add(self._keys(changes.filter(changes.column(DELETED.name))))
        uncounted, added = self._count_added(changes)
        counts = await self._count_rows(uncounted) if uncounted else {}
        self._counted_ahead = uncounted if uncounted and await self._lance_table.version() != version else ()
        self._listener.on_remote_change(counts, added, {**rows_by_key, **read.rows})
        return keys

    def _count_added(self, changes: pa.Table) -> tuple[Sequence[str], Mapping[str, int]]:
        """Return the incarnations whose rows have to be counted, and the added rows of the others.

        Every row of a new key is added, and a key of one row that was there before adds none.
        """
        incarnations: list[str] = changes.column("incarnation").to_pylist()
        if self._codec.counted_filter is not None:
            return list(set(incarnations)), {}
        keys = self._keys(changes)
        known, uncertain = set(self._key_filter.may_contain(keys)), set(self._uncertain_keys.may_contain(keys))
        uncounted = set(self._counted_ahead).intersection(incarnations)
        added: Counter[str] = Counter()
        for key, incarnation in zip(keys, incarnations, strict=True):
            if key in uncertain or (key in known and not self._codec.has_single_rows):
                uncounted.add(incarnation)
            elif key not in known:
                added[incarnation] += 1
        return list(uncounted), {name: count for name, count in added.items() if name not in uncounted}

    async def _count_rows(self, incarnations: Sequence[str] | None) -> dict[str, int]:
        incarnation_filter = (
            []
            if incarnations is None or len(incarnations) > _MAX_INCARNATIONS_IN_FILTER
            else [in_condition("incarnation", incarnations)]
        )
        where = " AND ".join([*incarnation_filter, self._codec.counted_filter or "true"])
        found = (await self._lance_table.scan(where, ["incarnation"])).column(0).value_counts().to_pylist()
        return dict.fromkeys(incarnations or (), 0) | {entry["values"]: entry["counts"] for entry in found}


def _count_live(rows: pa.Table) -> dict[str, int]:
    """Count the rows of each incarnation that are not deleted."""
    live = rows.filter(pc.invert(rows.column(DELETED.name))).column("incarnation").value_counts()
    return {entry["values"]: entry["counts"] for entry in live.to_pylist()}
