"""connectors.synced → the runs of each connector."""

from collections.abc import Sequence

from pipeline.ports import Syncs
from pipeline.projection import reported
from pipeline.rows import SyncsRow
from pipeline.stage import Record, Stage
from schemas.events import SyncReported
from schemas.topics import CONNECTORS_SYNCED


def build(*, syncs: Syncs) -> Stage[SyncReported]:
    """The stage `syncs`; whoever published a report has shown it already."""

    async def handle(batch: Sequence[Record[SyncReported]]) -> None:
        def change(connector: str, rows: list[SyncsRow]) -> list[SyncsRow]:
            row = rows[0] if rows else SyncsRow(connector)
            for record in batch:
                if record.event.connector == connector:
                    row = reported(row, record.event)
            return [row]

        await syncs.update({record.event.connector for record in batch}, change)
        await syncs.durable()

    return Stage(name="syncs", source=CONNECTORS_SYNCED, handle=handle)
