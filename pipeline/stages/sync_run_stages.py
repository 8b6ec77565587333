"""connectors.triggered and connectors.synced → the runs of each connector."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pipeline.ports import SyncRunTable
from pipeline.projection import apply_sync_report, apply_sync_trigger
from pipeline.rows import SyncRunsRow
from pipeline.stage import Record, Stage
from schemas.events import ConnectorTriggered, SyncReported
from schemas.topics import CONNECTORS_SYNCED, CONNECTORS_TRIGGERED, Topic

E = TypeVar("E", ConnectorTriggered, SyncReported)


@dataclass(frozen=True, slots=True)
class SyncRunStages:
    """Two stages on one table: requested runs, and reports about them."""

    sync_runs: SyncRunTable

    @property
    def requests(self) -> Stage[ConnectorTriggered]:
        """The stage `sync_requests`, which adds requested runs."""
        return self._stage("sync_requests", CONNECTORS_TRIGGERED, apply_sync_trigger)

    @property
    def reports(self) -> Stage[SyncReported]:
        """The stage `sync_reports`, which updates runs from reports."""
        return self._stage("sync_reports", CONNECTORS_SYNCED, apply_sync_report)

    def _stage(self, name: str, source: Topic[E], rule: Callable[[SyncRunsRow, E], SyncRunsRow]) -> Stage[E]:
        async def handle(batch: Sequence[Record[E]]) -> None:
            def change(connector: str, rows: list[SyncRunsRow]) -> list[SyncRunsRow]:
                row = rows[0] if rows else SyncRunsRow(connector)
                for record in batch:
                    if record.event.connector == connector:
                        row = rule(row, record.event)
                return [row]

            await self.sync_runs.update({record.event.connector for record in batch}, change)
            await self.sync_runs.wait_until_durable()

        return Stage(name=name, source=source, handle=handle)
