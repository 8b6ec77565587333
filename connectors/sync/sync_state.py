"""State of a connector's items during a run, including the enforcement of documentLimit."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime, timedelta
from typing import Final

from connectors.sync.item_submission import ContentFingerprint
from connectors.sync_messages import FailedItem, ProviderState, SourceItem
from pipeline.ports import Clock
from pipeline.runtime.backoff import exponential_backoff
from pipeline.store.tables.connector_state_table import ConnectorStateRow, ConnectorStateTable, StateKind
from schemas.base import format_timestamp

_MAX_RETRYABLE_FAILURES = 1000
_FIRST_PAUSE: Final = timedelta(hours=1)
_LONGEST_PAUSE: Final = timedelta(days=7)


@dataclass(eq=False)
class BufferedSyncState:
    """`SyncState` as of the last commit plus this run's changes, which `drain` hands over.

    `listing_number` is the current or last complete listing. In a complete listing the first `document_limit`
    items get a slot; in an incremental run new items need a free slot.
    """

    state: ConnectorStateTable
    _: KW_ONLY
    clock: Clock
    listing_number: int = 0
    full_sync: bool = False
    document_limit: int = 0
    document_count: int = 0
    """Number of items with a document."""
    slots_taken: int = 0
    over_limit: int = field(default=0, init=False)
    _requested_versions: dict[str, str] = field(default_factory=dict)
    _pending_rows: dict[str, ConnectorStateRow] = field(default_factory=dict)
    _pending_deletes: dict[str, ConnectorStateRow] = field(default_factory=dict)
    _read_cache: dict[str, ConnectorStateRow | None] = field(default_factory=dict)
    """Rows of requested items, so that each page takes one read rather than one per item."""

    # Methods for the provider.

    async def select_changed(self, versions: Sequence[tuple[str, str]]) -> set[str]:
        ids = [id_ for id_, _ in versions]
        items, failures = await self._get("item", ids), await self._get("failed", ids)
        changed_ids: set[str] = set()
        now = self.clock.now()
        for id_, version in versions:
            item, failed = items.get(id_), failures.get(id_)
            if not self._reserve_slot(id_, item, failed):
                continue
            unchanged = item is not None and item.version == version
            failed_before = failed is not None and failed.version == version
            due = failed is not None and FailureRecord.parse(failed).is_due(now)
            for row in (item, failed):
                if row is not None and row.last_listing != self.listing_number:
                    self._put(ConnectorStateRow(row.kind, id_, row.version, row.value, self.listing_number))
            if due or not (unchanged or failed_before):
                self._requested_versions[id_] = version
                self._read_cache |= {f"item/{id_}": items.get(id_), f"failed/{id_}": failures.get(id_)}
                changed_ids.add(id_)
        return changed_ids

    async def item_versions(self, prefix: str = "") -> AsyncIterator[tuple[str, str]]:
        async for rows in self._scan("item", prefix):
            for row in rows:
                yield row.id, row.version

    async def retryable_failures(self) -> list[str]:
        found: list[str] = []
        now = self.clock.now()
        async for rows in self._scan("failed", ""):
            found += [row.id for row in rows if FailureRecord.parse(row).is_due(now)]
            if len(found) >= _MAX_RETRYABLE_FAILURES:
                break
        return found[:_MAX_RETRYABLE_FAILURES]

    async def provider_state(self, keys: Sequence[str]) -> dict[str, str]:
        return {id_: row.value for id_, row in (await self._get("note", keys)).items()}

    async def scan_provider_state(self, prefix: str = "") -> AsyncIterator[tuple[str, str]]:
        async for rows in self._scan("note", prefix):
            for row in rows:
                yield row.id, row.value

    # Methods for the run.

    async def on_item(self, item: SourceItem) -> tuple[bool, ContentFingerprint | None]:
        """Return whether an item is within the limit, and the fingerprint sent last."""
        row = (await self._get("item", [item.id])).get(item.id)
        requested = self._requested_versions.pop(item.id, None) is not None
        if not requested and not self._reserve_slot(item.id, row, (await self._get("failed", [item.id])).get(item.id)):
            return False, None
        return True, None if row is None else ContentFingerprint.parse(row.value)

    async def on_submitted(self, item: SourceItem, fingerprint: ContentFingerprint) -> None:
        stored = await self._get("item", [item.id])
        self.document_count += item.id not in stored
        self._put(ConnectorStateRow("item", item.id, item.version, str(fingerprint), self.listing_number))
        await self._delete("failed", item.id)
        self._clear_cache(item.id)

    async def on_failure(self, failure: FailedItem) -> None:
        """Record a failure; an item that has a document keeps it."""
        earlier = (await self._get("failed", [failure.id])).get(failure.id)
        version = self._requested_versions.pop(failure.id, earlier.version if earlier is not None else "")
        repeated = earlier is not None and earlier.version == version
        record = FailureRecord.parse(earlier) if earlier is not None and repeated else FailureRecord()
        value = str(record.failed_again(self.clock.now())) if failure.retryable else ""
        self._put(ConnectorStateRow("failed", failure.id, version, value, self.listing_number))
        if row := (await self._get("item", [failure.id])).get(failure.id):
            self._put(ConnectorStateRow("item", row.id, row.version, row.value, self.listing_number))
        self._clear_cache(failure.id)

    async def on_removed(self, id_: str) -> bool:
        """Record a removal; return whether the item had a document."""
        self._requested_versions.pop(id_, None)
        await self._delete("failed", id_)
        had = await self._delete("item", id_)
        self.document_count -= had
        self._clear_cache(id_)
        return had

    def on_provider_state(self, note: ProviderState) -> None:
        row = ConnectorStateRow("note", note.key, value=note.value or "")
        if note.value is None:
            self._pending_rows.pop(row.key, None)
            self._pending_deletes[row.key] = row
        else:
            self._put(row)

    def drain(self) -> tuple[list[ConnectorStateRow], list[ConnectorStateRow]]:
        """Return and clear the rows to write and the rows to delete."""
        rows, gone = list(self._pending_rows.values()), list(self._pending_deletes.values())
        self._pending_rows, self._pending_deletes = {}, {}
        return rows, gone

    @property
    def pending_count(self) -> int:
        """Number of rows that `drain` would return."""
        return len(self._pending_rows) + len(self._pending_deletes)

    async def unlisted_rows(self) -> AsyncIterator[list[ConnectorStateRow]]:
        """Iterate committed items and failures that the complete listing lacks; commit before."""
        kinds: tuple[StateKind, ...] = ("item", "failed")
        for kind in kinds:
            async for rows in self.state.iterate_pages(kind, not_in_listing=self.listing_number):
                yield rows

    def _clear_cache(self, id_: str) -> None:
        self._read_cache.pop(f"item/{id_}", None)
        self._read_cache.pop(f"failed/{id_}", None)

    def _reserve_slot(self, id_: str, item: ConnectorStateRow | None, failed: ConnectorStateRow | None) -> bool:
        """Return whether documentLimit admits an item, counting those it does not."""
        seen = {row.last_listing for row in (item, failed) if row is not None}
        if id_ in self._requested_versions or (self.full_sync and self.listing_number in seen):
            return True
        if self.full_sync:
            fits = self.slots_taken < self.document_limit
            self.slots_taken += fits
        else:
            fits = item is not None or self.document_count + len(self._requested_versions) < self.document_limit
        self.over_limit += not fits
        return fits

    def _put(self, row: ConnectorStateRow) -> None:
        self._pending_rows[row.key] = row
        self._pending_deletes.pop(row.key, None)

    async def _delete(self, kind: StateKind, id_: str) -> bool:
        row = (await self._get(kind, [id_])).get(id_)
        if row is None:
            return False
        self._pending_rows.pop(row.key, None)
        self._pending_deletes[row.key] = row
        return True

    async def _get(self, kind: StateKind, ids: Sequence[str]) -> dict[str, ConnectorStateRow]:
        found: dict[str, ConnectorStateRow] = {}
        unknown: list[str] = []
        for id_ in ids:
            key = f"{kind}/{id_}"
            if (row := self._pending_rows.get(key) or self._read_cache.get(key)) is not None:
                if key not in self._pending_deletes:
                    found[id_] = row
            elif key not in self._pending_deletes and key not in self._read_cache:
                unknown.append(id_)
        return found | (await self.state.get(kind, unknown) if unknown else {})

    async def _scan(self, kind: StateKind, prefix: str) -> AsyncIterator[list[ConnectorStateRow]]:
        """Iterate pages of rows, uncommitted rows first, then committed ones without their changes."""
        changed = self._pending_rows.keys() | self._pending_deletes.keys()
        fresh = [row for row in self._pending_rows.values() if row.kind == kind and row.id.startswith(prefix)]
        if fresh:
            yield sorted(fresh, key=lambda row: row.id)
        async for rows in self.state.iterate_pages(kind, prefix=prefix):
            yield [row for row in rows if row.key not in changed]


@dataclass(frozen=True, slots=True)
class FailureRecord:
    """Failed attempts of one version of an item; without `due_at` only a new version is tried."""

    attempts: int = 0
    due_at: datetime | None = None

    @classmethod
    def parse(cls, row: ConnectorStateRow) -> "FailureRecord":
        """Parse the value of a failed item's row."""
        attempts, _, due_at = row.value.partition(" ")
        return cls(int(attempts), datetime.fromisoformat(due_at)) if due_at else cls()

    def __str__(self) -> str:
        return "" if self.due_at is None else f"{self.attempts} {format_timestamp(self.due_at)}"

    def is_due(self, now: datetime) -> bool:
        """Return whether the item is to be asked for again."""
        return self.due_at is not None and self.due_at <= now

    def failed_again(self, now: datetime) -> "FailureRecord":
        """Return the record after a further failure: due in the next run, later after 1, 2, 4 ... hours."""
        pause = (
            exponential_backoff(_FIRST_PAUSE.total_seconds(), self.attempts, _LONGEST_PAUSE.total_seconds())
            if self.attempts
            else 0.0
        )
        return FailureRecord(self.attempts + 1, now + timedelta(seconds=pause))
