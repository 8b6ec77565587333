"""settings.changed → the catalog: namespaces, organization and keys."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.ports import Catalog
from pipeline.stage import Record, Stage
from schemas.events import SettingsChanged
from schemas.topics import SETTINGS_CHANGED


@dataclass(frozen=True, slots=True)
class SettingsStage:
    """Applies settings to the catalog, which ignores changes older than its own state.

    `catalog` None: every process follows the settings by itself, and the stage only dead-letters
    unreadable records.
    """

    catalog: Catalog | None

    @property
    def definition(self) -> Stage[SettingsChanged]:
        """The stage `settings` for a bus."""
        return Stage(
            name="settings",
            source=SETTINGS_CHANGED,
            handle=self.handle,
            apply_optimistically=None if self.catalog is None else self.apply_optimistically,
        )

    async def handle(self, batch: Sequence[Record[SettingsChanged]]) -> None:
        """Apply the changes and wait until they are on disk."""
        await self.apply_optimistically(batch)
        if self.catalog is not None:
            await self.catalog.wait_until_durable()

    async def apply_optimistically(self, batch: Sequence[Record[SettingsChanged]]) -> None:
        """Apply the changes in memory."""
        if self.catalog is not None:
            for record in batch:
                self.catalog.apply(record.event)
