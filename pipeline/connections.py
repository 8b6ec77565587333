"""How a connector changes and is given work: one rule for the interface, the engine and its HTTP edge."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from uuid import uuid4

from pipeline.changes import Changes
from pipeline.ports import Clock, ConnectorCatalog, DocumentIds, Locks, Publisher, Syncs
from pipeline.projection import reported, triggered
from pipeline.rows import SyncsRow
from schemas.events import (
    ConnectorChanged,
    ConnectorTriggered,
    ConnectorWork,
    SettingsChanged,
    SyncReported,
    SyncTrigger,
)
from schemas.topics import CONNECTORS_SYNCED, CONNECTORS_TRIGGERED, SETTINGS_CHANGED


@dataclass(frozen=True, slots=True)
class Tables:
    """What is served now: another generation may take its place."""

    catalog: ConnectorCatalog
    syncs: Syncs
    documents: DocumentIds
    publisher: Publisher


@dataclass(frozen=True, slots=True)
class Connections:
    """Connectors as the log has them: written there first, then shown at once."""

    tables: Callable[[], Tables]
    locks: Locks
    clock: Clock
    changes: Changes = field(default_factory=Changes)

    @property
    def catalog(self) -> ConnectorCatalog:
        return self.tables().catalog

    @property
    def syncs(self) -> Syncs:
        return self.tables().syncs

    @property
    def documents(self) -> DocumentIds:
        return self.tables().documents

    @property
    def publisher(self) -> Publisher:
        return self.tables().publisher

    def found(self, connector: str) -> ConnectorChanged | None:
        """A connector that somebody can use: not removed, in a namespace that exists, not late."""
        row = self.catalog.connector(connector)
        return row if row is not None and self.is_alive(row) else None

    def is_alive(self, row: ConnectorChanged) -> bool:
        """Whether it is there: a pending one only for as long as it may be authorized."""
        if row.status not in {"pending", "active"} or self.catalog.owner(row.space) is None:
            return False
        late = row.authorize_until is not None and row.authorize_until <= self.clock.now()
        return not (row.status == "pending" and late)

    async def save(self, row: ConnectorChanged) -> None:
        """Write a connector's whole state."""
        event = SettingsChanged(change=row)
        await self.publisher.publish(SETTINGS_CHANGED, [(f"connector/{row.id}", event)])
        self.catalog.apply(event)

    async def change(
        self, connector: str, change: Callable[[ConnectorChanged], ConnectorChanged]
    ) -> ConnectorChanged | None:
        """Read, change and write in one step; None where there is no such connector any more."""
        async with self.changes.turn():
            row = self.catalog.connector(connector)
            if row is None:
                return None
            after = change(row)
            if after == row:
                return row
            after = after.model_copy(update={"updated_at": self.clock.now()})
            await self.save(after)
            return after

    async def runs(self, connector: str) -> SyncsRow:
        """The newest runs of a connector."""
        rows = (await self.syncs.get([connector])).get(connector)
        return rows[0] if rows else SyncsRow(connector)

    async def trigger(self, row: ConnectorChanged, trigger: SyncTrigger, *, full: bool = False) -> str:
        """Ask for a run; its id."""
        return await self._ask(row, trigger, "sync", full=full)

    async def remove(self, row: ConnectorChanged) -> None:
        """Ask for the cleaning up of a connector that was removed."""
        await self._ask(row, "manual", "remove", full=False)

    async def _ask(
        self, row: ConnectorChanged, trigger: SyncTrigger, work: ConnectorWork, *, full: bool
    ) -> str:
        event = ConnectorTriggered(
            connector=row.id,
            run=f"run_{uuid4().hex}",
            trigger=trigger,
            at=self.clock.now(),
            work=work,
            full=full,
        )
        await self.publisher.publish(CONNECTORS_TRIGGERED, [(_key(row), event)])
        await self.show(event)
        return event.run

    async def show(self, event: ConnectorTriggered) -> None:
        """A run that was asked for is among the connector's runs."""

        def change(connector: str, rows: list[SyncsRow]) -> list[SyncsRow]:
            return [triggered(rows[0] if rows else SyncsRow(connector), event)]

        if event.work == "sync":
            await self.syncs.update([event.connector], change)

    async def report(self, row: ConnectorChanged, report: SyncReported) -> None:
        """Say how a run stands."""
        await self.publisher.publish(CONNECTORS_SYNCED, [(_key(row), report)])

        def change(connector: str, rows: list[SyncsRow]) -> list[SyncsRow]:
            return [reported(rows[0] if rows else SyncsRow(connector), report)]

        await self.syncs.update([row.id], change)

    async def forget_runs(self, connector: str) -> None:
        """Nothing is left of the connector."""
        await self.syncs.update([connector], lambda _, rows: [] if rows else None)

    def now(self) -> datetime:
        """The time."""
        return self.clock.now()


def _key(row: ConnectorChanged) -> str:
    return f"{row.space}/{row.id}"
