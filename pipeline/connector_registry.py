"""Registry of connectors: reads, changes and run requests of the API, the scheduler and the webhooks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import uuid4

from pipeline.ports import Clock, ConnectorCatalog, DocumentIdLookup, Locks, Publisher, SyncRunTable
from pipeline.projection import apply_sync_report, apply_sync_trigger
from pipeline.rows import SyncRunsRow
from pipeline.runtime.settings_lock import SettingsLock
from schemas import events
from schemas.topics import CONNECTORS_SYNCED, CONNECTORS_TRIGGERED


@dataclass(frozen=True, slots=True)
class ConnectorCapabilities:
    """Offers of a provider; `selectable_kinds`: of items, empty if it has no selection."""

    selectable_kinds: Sequence[str]
    supports_webhooks: bool
    requires_authorization: bool
    """A user has to authorize it first."""


@dataclass(frozen=True, slots=True)
class ConnectorTables:
    catalog: ConnectorCatalog
    sync_runs: SyncRunTable
    document_ids: DocumentIdLookup
    publisher: Publisher


@dataclass(frozen=True, slots=True)
class ConnectorRegistry:
    """Connectors and their runs; each change is written to the log, and applied on return."""

    active_tables: Callable[[], ConnectorTables]
    locks: Locks
    clock: Clock
    settings_lock: SettingsLock = field(default_factory=SettingsLock)

    @property
    def catalog(self) -> ConnectorCatalog:
        return self.active_tables().catalog

    @property
    def sync_runs(self) -> SyncRunTable:
        return self.active_tables().sync_runs

    @property
    def document_ids(self) -> DocumentIdLookup:
        return self.active_tables().document_ids

    @property
    def publisher(self) -> Publisher:
        return self.active_tables().publisher

    def find_active(self, connector: str) -> events.ConnectorChanged | None:
        """Return a connector; None if it was removed, never authorized in time, or lost its namespace."""
        row = self.catalog.connector(connector)
        return row if row is not None and self.is_active(row) else None

    def is_active(self, row: events.ConnectorChanged) -> bool:
        """Return whether the connector exists; a pending one exists until its authorization expires."""
        if row.status not in {"pending", "active"} or self.catalog.namespace_of(row.incarnation) is None:
            return False
        is_expired = row.authorization_expires_at is not None and row.authorization_expires_at <= self.clock.now()
        return not (row.status == "pending" and is_expired)

    async def save(self, row: events.ConnectorChanged) -> None:
        """Write the whole state of a connector to the log and the catalog."""
        await self.settings_lock.publish(self.publisher, [(f"connector/{row.id}", events.SettingsChanged(change=row))])

    async def modify(
        self, connector: str, change: Callable[[events.ConnectorChanged], events.ConnectorChanged]
    ) -> events.ConnectorChanged | None:
        """Read, change and write a connector under its lock; None if it does not exist."""
        async with self.settings_lock.acquire(f"connector/{connector}"):
            row = self.catalog.connector(connector)
            if row is None:
                return None
            after = change(row)
            if after == row:
                return row
            after = after.model_copy(update={"updated_at": self.clock.now()})
            await self.save(after)
            return after

    async def load_runs(self, connector: str) -> SyncRunsRow:
        rows = (await self.sync_runs.get([connector])).get(connector)
        return rows[0] if rows else SyncRunsRow(connector)

    async def request_sync(
        self, row: events.ConnectorChanged, trigger: events.SyncTrigger, *, full: bool = False
    ) -> str:
        return await self._request_work(row, trigger, "sync", full=full)

    async def request_cleanup(self, row: events.ConnectorChanged) -> None:
        await self._request_work(row, "manual", "remove", full=False)

    async def _request_work(
        self, row: events.ConnectorChanged, trigger: events.SyncTrigger, work: events.ConnectorAction, *, full: bool
    ) -> str:
        event = events.ConnectorTriggered(
            connector=row.id, run_id=f"run_{uuid4().hex}", trigger=trigger, at=self.clock.now(), action=work, full=full
        )
        await self.publisher.publish(CONNECTORS_TRIGGERED, [(_record_key(row), event)])
        await self.apply_request(event)
        return event.run_id

    async def apply_request(self, event: events.ConnectorTriggered) -> None:
        def change(connector: str, rows: list[SyncRunsRow]) -> list[SyncRunsRow]:
            return [apply_sync_trigger(rows[0] if rows else SyncRunsRow(connector), event)]

        if event.action == "sync":
            await self.sync_runs.update([event.connector], change)

    async def report_run(self, row: events.ConnectorChanged, report: events.SyncReported) -> None:
        await self.publisher.publish(CONNECTORS_SYNCED, [(_record_key(row), report)])

        def change(connector: str, rows: list[SyncRunsRow]) -> list[SyncRunsRow]:
            return [apply_sync_report(rows[0] if rows else SyncRunsRow(connector), report)]

        await self.sync_runs.update([row.id], change)

    async def delete_runs(self, connector: str) -> None:
        await self.sync_runs.update([connector], lambda _, rows: [] if rows else None)

    def now(self) -> datetime:
        return self.clock.now()


def _record_key(row: events.ConnectorChanged) -> str:
    return f"{row.incarnation}/{row.id}"
