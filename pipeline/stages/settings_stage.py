"""settings.changed → nowhere: every process follows the settings by itself."""

from pipeline.stage import Stage
from schemas.topics import SETTINGS_CHANGED


async def _accept(_: object) -> None:
    """Do nothing: what can't be read does not come here, and is dead-lettered."""


SETTINGS_STAGE = Stage(name="settings", source=SETTINGS_CHANGED, handle=_accept)
"""Finds unreadable records."""
