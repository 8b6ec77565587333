from datetime import datetime, timedelta
from pathlib import Path

import pytest

from pipeline.rows import OperationRow
from schemas.events import KeyChanged, NamespaceChanged, OrganizationChanged, SettingsChanged
from tests.support.store_rows import EPOCH, open_test_store

pytestmark = pytest.mark.anyio


def later(seconds: int) -> datetime:
    return EPOCH + timedelta(seconds=seconds)


def namespace(name: str, incarnations: tuple[str, ...], at: int = 0, generation: int = 0) -> SettingsChanged:
    return SettingsChanged(
        change=NamespaceChanged(
            name=name,
            epoch=generation,
            incarnations=incarnations,
            created_at=later(at),
            updated_at=later(at),
            buckets={"work": "Work"},
        )
    )


def key(name: str, *, revoked: bool = False) -> SettingsChanged:
    return SettingsChanged(
        change=KeyChanged(
            id=name,
            name=name,
            sha256=f"hash-{name}",
            role="read",
            namespaces=("team:*",),
            created_at=EPOCH,
            revoked_at=later(9) if revoked else None,
        )
    )


async def test_the_catalog_is_the_same_after_a_restart(tmp_path: Path) -> None:
    store = await open_test_store(tmp_path)
    store.catalog.apply(namespace("alice", ("alice#0",)))
    store.catalog.apply(namespace("bob", (), generation=3))
    store.catalog.apply(key("one"))
    store.catalog.apply(SettingsChanged(change=OrganizationChanged(context="We", buckets={"a": "b"}, updated_at=EPOCH)))
    await store.catalog.wait_until_durable()
    again = (await open_test_store(tmp_path)).catalog
    assert again.namespace("alice") == store.catalog.namespace("alice") is not None
    assert again.namespace_of("alice#0") == again.namespace("alice")
    assert (again.namespace("bob"), again.epoch("bob"), again.epoch("new")) == (None, 3, 0)
    assert again.organization() == store.catalog.organization()
    assert (again.key("one"), again.key("two")) == (store.catalog.keys()[0], None)


async def test_an_older_event_changes_nothing(tmp_path: Path) -> None:
    catalog = (await open_test_store(tmp_path)).catalog
    catalog.apply(namespace("alice", ("alice#0",), at=5))
    catalog.apply(namespace("alice", (), at=3))
    assert catalog.namespace_of("alice#0") is not None
    catalog.apply(SettingsChanged(change=OrganizationChanged(context="new", updated_at=later(5))))
    catalog.apply(SettingsChanged(change=OrganizationChanged(context="old", updated_at=later(3))))
    assert catalog.organization().context == "new"
    catalog.apply(key("one", revoked=True))
    catalog.apply(key("one"))
    assert catalog.keys()[0].revoked_at is not None


@pytest.mark.parametrize("target_first", [True, False])
async def test_a_moved_incarnation_belongs_to_its_new_namespace(tmp_path: Path, target_first: bool) -> None:
    catalog = (await open_test_store(tmp_path)).catalog
    catalog.apply(namespace("source", ("source#0",)))
    catalog.apply(namespace("target", ("target#0",)))
    moved = [
        namespace("target", ("target#0", "source#0"), at=1),
        namespace("source", (), at=1, generation=1),
    ]
    for event in moved if target_first else reversed(moved):
        catalog.apply(event)
    owner = catalog.namespace_of("source#0")
    assert owner is not None
    assert owner.name == "target"
    assert catalog.namespace("source") is None


async def test_namespaces_are_listed_newest_first_and_only_the_readable_ones(tmp_path: Path) -> None:
    catalog = (await open_test_store(tmp_path)).catalog
    for at, name in enumerate(["a", "b", "team:c"]):
        catalog.apply(namespace(name, (f"{name}#0",), at=at))
    catalog.apply(namespace("gone", (), at=9))
    assert [row.name for row in catalog.namespaces()] == ["team:c", "b", "a"]
    assert [row.name for row in catalog.namespaces(lambda name: name.startswith("team:"))] == ["team:c"]


async def test_an_operation_is_recorded_until_it_is_done(tmp_path: Path) -> None:
    store = await open_test_store(tmp_path)
    row = OperationRow("1", "move", "a", "b", "queued", EPOCH, EPOCH)
    await store.operations.record(row)
    again = await open_test_store(tmp_path)
    assert await again.operations.get("1") == row
    done = OperationRow("1", "move", "a", "b", "done", EPOCH, later(1))
    await again.operations.record(done)
    assert await again.operations.get("1") == done
    assert await again.operations.get("2") is None
