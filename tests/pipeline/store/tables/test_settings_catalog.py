"""The settings catalog: a fold of the log in a file, whole again after a restart."""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from pipeline.store import SettingsCatalog
from schemas.events import ConnectorChanged, KeyChanged, NamespaceChanged, OrganizationChanged, SettingsChanged
from schemas.topics import SETTINGS_CHANGED
from tests.support.fakes import record
from tests.support.store_rows import EPOCH

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


def connector(status: str, at: int = 0) -> SettingsChanged:
    fields = {"id": "c", "provider": "s3", "incarnation": "alice#0", "document_limit": 1, "created_at": EPOCH}
    return SettingsChanged(
        change=ConnectorChanged.model_validate({**fields, "status": status, "updated_at": later(at)})
    )


def files(folder: Path) -> dict[str, bytes]:
    """The files in a folder, with what they hold."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


async def read(catalog: SettingsCatalog, events: Sequence[SettingsChanged], start: int = 0) -> None:
    """Hand the catalog records of a log, as its follower does."""
    records = [record(SETTINGS_CHANGED, "any", event, start + at) for at, event in enumerate(events)]
    await catalog.handle([replace(each, log_offset=each.offset) for each in records])


async def test_the_catalog_is_the_same_after_a_restart(tmp_path: Path) -> None:
    catalog = SettingsCatalog(tmp_path)
    organization = OrganizationChanged(context="We", buckets={"a": "b"}, updated_at=EPOCH)
    settings = [
        namespace("alice", ("alice#0",)),
        namespace("bob", (), generation=3),
        key("one"),
        SettingsChanged(change=organization),
        connector("active"),
    ]
    await read(catalog, settings)
    alice, one, c = catalog.namespace("alice"), catalog.key("one"), catalog.connector("c")
    catalog.close()
    again = SettingsCatalog(tmp_path)
    assert again.namespace("alice") == alice is not None
    assert again.namespace_of("alice#0") == alice
    assert (again.namespace("bob"), again.epoch("bob"), again.epoch("new")) == (None, 3, 0)
    assert again.organization() == catalog.organization()
    assert (again.organization().context, again.key("one"), again.connector("c")) == ("We", one, c)
    assert one is not None
    assert c is not None


async def test_a_restart_goes_on_where_the_file_ends(tmp_path: Path) -> None:
    catalog = SettingsCatalog(tmp_path)
    await read(catalog, [namespace("alice", ("alice#0",)), key("one")], start=5)
    catalog.close()
    again = SettingsCatalog(tmp_path)
    assert again.positions == {0: (7, EPOCH.timestamp())}
    await read(again, [namespace("bob", ("bob#0",))], start=7)
    assert again.count() == 2


async def test_a_second_process_has_a_file_of_its_own_and_what_nobody_uses_is_erased(tmp_path: Path) -> None:
    first, second = SettingsCatalog(tmp_path), SettingsCatalog(tmp_path)
    await read(first, [namespace("alice", ("alice#0",))])
    assert (first.count(), second.count()) == (1, 0)
    second.close()
    await first.erase_replaced()
    assert {name for name in files(tmp_path) if name.endswith(".db")} == {"0.db"}
    assert first.count() == 1


async def test_erased_words_are_gone_from_the_disk(tmp_path: Path) -> None:
    catalog = SettingsCatalog(tmp_path)
    alice = namespace("alice", ("alice#0",))
    named = alice.change.model_copy(update={"supporting_context": "Rosebud"})
    await read(catalog, [SettingsChanged(change=named)])
    assert [name for name, content in files(tmp_path).items() if b"Rosebud" in content]
    await read(catalog, [namespace("alice", (), generation=1)], start=1)
    await catalog.erase_replaced()
    assert not [name for name, content in files(tmp_path).items() if b"Rosebud" in content]


async def test_a_damaged_file_is_made_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    SettingsCatalog(tmp_path).close()
    (tmp_path / "0.db").write_bytes(b"This was a database once. " * 1000)
    catalog = SettingsCatalog(tmp_path)
    assert catalog.positions == {}
    assert "is damaged" in caplog.text
    await read(catalog, [namespace("alice", ("alice#0",))])
    assert catalog.count() == 1


async def test_a_disk_that_is_full_for_a_while_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    catalog, failures = SettingsCatalog(tmp_path), [sqlite3.OperationalError("database or disk is full")]
    write = SettingsCatalog._write

    def fail_once(*arguments: object) -> None:
        if failures:
            raise failures.pop()
        write(*arguments)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(SettingsCatalog, "_write", fail_once)
    monkeypatch.setattr("pipeline.store.tables.settings_catalog._RETRY_SECONDS", 0.0)
    await read(catalog, [namespace("alice", ("alice#0",))])
    assert catalog.count() == 1
    assert "disk is full" in caplog.text


def test_the_order_of_the_log_decides_though_clocks_go_back() -> None:
    catalog = SettingsCatalog()
    catalog.apply(namespace("alice", ("alice#0",), at=5))
    catalog.apply(namespace("alice", ("alice#0", "bob#0"), at=3))
    catalog.apply(SettingsChanged(change=OrganizationChanged(context="old", updated_at=later(5))))
    catalog.apply(SettingsChanged(change=OrganizationChanged(context="new", updated_at=later(3))))
    catalog.apply(connector("pending", at=2))
    catalog.apply(connector("active", at=1))
    assert catalog.namespace_of("bob#0") is not None
    assert catalog.organization().context == "new"
    assert [row.status for row in catalog.connectors()] == ["active"]
    catalog.apply(connector("gone"))
    assert catalog.connectors() == []


def test_what_has_ended_does_not_come_back() -> None:
    catalog = SettingsCatalog()
    catalog.apply(namespace("alice", (), generation=1))
    catalog.apply(namespace("alice", ("alice#0",), at=3))
    assert catalog.namespace_of("alice#0") is None
    catalog.apply(key("one", revoked=True))
    catalog.apply(key("one"))
    assert catalog.keys()[0].revoked_at is not None


@pytest.mark.parametrize("target_first", [True, False])
@pytest.mark.parametrize("at_once", [True, False])
async def test_a_moved_incarnation_belongs_to_its_new_namespace(
    tmp_path: Path, target_first: bool, at_once: bool
) -> None:
    catalog = SettingsCatalog(tmp_path)
    moved = [
        namespace("target", ("target#0", "source#0"), at=1),
        namespace("source", (), at=1, generation=1),
    ]
    if not target_first:
        moved.reverse()
    events = [namespace("source", ("source#0",)), namespace("target", ("target#0",)), *moved]
    if at_once:
        await read(catalog, events)
    else:
        for start, event in enumerate(events):
            await read(catalog, [event], start)
    catalog.close()
    for found in (catalog, SettingsCatalog(tmp_path)):
        if found is not catalog:
            owner = found.namespace_of("source#0")
            assert owner is not None
            assert owner.name == "target"
            assert found.namespace("source") is None
            assert found.joined_incarnations() == [("target#0", "source#0")]
            assert sorted(found.incarnations()) == ["source#0", "target#0"]


def test_while_a_move_is_applied_its_content_has_one_owner() -> None:
    catalog = SettingsCatalog()
    for event in (namespace("a", ("a#0",)), namespace("b", ("b#0",)), namespace("b", ("b#0", "a#0"), at=1)):
        catalog.apply(event)
    owner = catalog.namespace_of("a#0")
    assert owner is not None
    assert owner.name == "b"
    catalog.apply(namespace("a", (), at=1, generation=1))
    catalog.apply(namespace("b", ("b#0",), at=2))
    assert catalog.namespace_of("a#0") is None
    catalog.apply(namespace("a", ("a#0",), at=2, generation=1))
    owner = catalog.namespace_of("a#0")
    assert owner is not None
    assert owner.name == "a"


def test_namespaces_are_listed_in_pages_newest_first_and_only_the_readable_ones() -> None:
    catalog = SettingsCatalog()
    for at, name in enumerate(["a", "b", "team:c", "team:d", "teams"]):
        catalog.apply(namespace(name, (f"{name}#0",), at=at))
    catalog.apply(namespace("gone", (), at=9))

    def names(*arguments: object, **bounds: int) -> list[str]:
        return [row.name for row in catalog.newest(*arguments, **bounds)]  # type: ignore[arg-type]  # as the tests give them

    assert names() == ["teams", "team:d", "team:c", "b", "a"]
    assert names(start=1, limit=2) == ["team:d", "team:c"]
    assert names(["team:*", "a"]) == ["team:d", "team:c", "a"]
    assert names(["team:*"], "d") == ["team:d"]
    assert names([]) == []
    assert (catalog.count(), catalog.count(["*"]), catalog.count(["team:*", "b"])) == (5, 5, 3)
    assert (catalog.count(None, "team"), catalog.count(())) == (3, 0)
    assert [row.name for row in catalog.namespaces()] == ["a", "b", "team:c", "team:d", "teams"]
    assert sorted(catalog.incarnations(["team:*"])) == ["team:c#0", "team:d#0"]


def test_beyond_the_bound_namespaces_are_looked_up() -> None:
    catalog = SettingsCatalog(in_memory=10)
    for number in range(2500):
        catalog.apply(namespace(f"n{number}", (f"n{number}#0",)))
    assert len(list(catalog.namespaces())) == catalog.count() == 2500
    assert all(catalog.namespace_of(f"n{number}#0") is not None for number in range(2500))
    assert catalog.namespace("n2500") is None
    assert len(catalog._cached) == 10
    catalog.apply(namespace("n2499", (), at=1, generation=1))
    assert (catalog.namespace("n2499"), catalog.epoch("n2499")) == (None, 1)


def test_a_part_of_the_catalog_has_only_the_held_incarnations() -> None:
    catalog = SettingsCatalog()
    catalog.apply(namespace("a", ("a#0", "b#0")))
    catalog.apply(namespace("c", ("c#0",)))
    part = catalog.restricted_to({"b#0"}.__contains__)
    row = part.namespace("a")
    assert row is not None
    assert row.incarnations == ("b#0",)
    assert (part.namespace_of("a#0"), part.namespace_of("b#0"), part.namespace("c")) == (None, row, None)
    assert part.incarnations() == ["b#0"]
    assert catalog.namespace_of("a#0") == catalog.namespace("a")
