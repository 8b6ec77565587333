"""connectors.triggered and connectors.synced → the runs of each connector."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from pipeline.ports import Syncs
from pipeline.projection import reported, triggered
from pipeline.rows import SyncsRow
from pipeline.stage import Record, Stage
from schemas.events import ConnectorTriggered, SyncReported
from schemas.topics import CONNECTORS_SYNCED, CONNECTORS_TRIGGERED

E = TypeVar("E", ConnectorTriggered, SyncReported)


def asked(*, syncs: Syncs) -> Stage[ConnectorTriggered]:
    """The stage `syncs.asked`: runs that are to be."""

    async def handle(batch: Sequence[Record[ConnectorTriggered]]) -> None:
        await _apply(syncs, batch, triggered)

    return Stage(name="syncs.asked", source=CONNECTORS_TRIGGERED, handle=handle)


def told(*, syncs: Syncs) -> Stage[SyncReported]:
    """The stage `syncs.told`: how they stand."""

    async def handle(batch: Sequence[Record[SyncReported]]) -> None:
        await _apply(syncs, batch, reported)

    return Stage(name="syncs.told", source=CONNECTORS_SYNCED, handle=handle)


async def _apply(syncs: Syncs, batch: Sequence[Record[E]], rule: Callable[[SyncsRow, E], SyncsRow]) -> None:
    def change(connector: str, rows: list[SyncsRow]) -> list[SyncsRow]:
        row = rows[0] if rows else SyncsRow(connector)
        for record in batch:
            if record.event.connector == connector:
                row = rule(row, record.event)
        return [row]

    await syncs.update({record.event.connector for record in batch}, change)
    await syncs.durable()
