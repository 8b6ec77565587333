"""settings.changed → the catalog: namespaces, organization and keys."""

from collections.abc import Sequence

from pipeline.ports import Catalog
from pipeline.stage import Record, Stage
from schemas.events import SettingsChanged
from schemas.topics import SETTINGS_CHANGED


def watch() -> Stage[SettingsChanged]:
    """The stage `settings` where every process follows them by itself: it parks what can't be read, once."""

    async def handle(batch: Sequence[Record[SettingsChanged]]) -> None:
        """Nothing: whoever follows the settings has seen it, or will."""

    return Stage(name="settings", source=SETTINGS_CHANGED, handle=handle)


def build(*, catalog: Catalog) -> Stage[SettingsChanged]:
    """The stage `settings`. The catalog ignores what is older than what it knows."""

    async def foresee(batch: Sequence[Record[SettingsChanged]]) -> None:
        for record in batch:
            catalog.apply(record.event)

    async def handle(batch: Sequence[Record[SettingsChanged]]) -> None:
        await foresee(batch)
        await catalog.durable()

    return Stage(name="settings", source=SETTINGS_CHANGED, handle=handle, foresee=foresee)
