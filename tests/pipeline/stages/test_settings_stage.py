"""Settings from the log reach the catalog."""

import pytest

from pipeline.stages.settings_stage import SettingsStage
from schemas.events import NamespaceChanged, OrganizationChanged, SettingsChanged
from schemas.topics import SETTINGS_CHANGED
from tests.support.fakes import EPOCH, FakeCatalog, record

pytestmark = pytest.mark.anyio


async def test_changes_are_applied_in_order() -> None:
    catalog = FakeCatalog()
    namespace = NamespaceChanged(name="alice", epoch=0, incarnations=("alice#0",), created_at=EPOCH, updated_at=EPOCH)
    changes = [
        ("namespace/alice", SettingsChanged(change=namespace)),
        ("organization", SettingsChanged(change=OrganizationChanged(context="one", updated_at=EPOCH))),
        ("organization", SettingsChanged(change=OrganizationChanged(context="two", updated_at=EPOCH))),
    ]
    records = [record(SETTINGS_CHANGED, key, event, at) for at, (key, event) in enumerate(changes)]
    await SettingsStage(catalog).handle(records)
    assert catalog.namespace("alice") is not None
    assert catalog.organization().context == "two"
