"""What an operator sees of connectors and does to them, and what the engine does by itself."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from connectors.engine import Engine
from pipeline.rows import SyncsRow
from schemas.events import ConnectorChanged, SyncReported
from tests.connectors.shelf import Shelf, ShelfProvider
from tests.connectors.world import Connected, connected
from tests.service.world import until

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
async def world(tmp_path: Path, shelf: Shelf, anyio_backend: str) -> AsyncIterator[Connected]:
    async with connected(tmp_path, {"github": ShelfProvider()}, shelf.transport()) as opened:
        yield opened


@pytest.mark.anyio
async def test_an_operator_sees_every_connector_and_its_newest_run(world: Connected) -> None:
    pending = await world.client.ok("POST", "/ns/bob/connectors", {"provider": "github"})
    connector = await world.create("alice", "github")
    await world.ended(connector)
    found = {one["id"]: one for one in (await world.client.ok("GET", "/admin/connectors"))["connectors"]}
    assert found[pending["id"]]["status"] == "pending"
    assert found[connector]["run"]["status"] == "completed"
    assert (found[connector]["documents"], found[connector]["namespace"]) == (1, "alice")


@pytest.mark.anyio
async def test_an_operator_may_ask_for_everything_to_be_listed(world: Connected, shelf: Shelf) -> None:
    connector = await world.create("alice", "github")
    await world.ended(connector)
    before = shelf.calls.count("GET /texts")
    await world.client.ok("POST", f"/admin/connectors/{connector}/sync", {"full": True})
    run = await world.ended(connector, 2)
    assert (run.status, run.full, run.documents) == ("completed", True, 1)
    assert shelf.calls.count("GET /texts") == before + 1
    assert shelf.calls.count("GET /texts/one") == 1
    await world.client.refused(404, "POST", "/admin/connectors/con_no/sync", {})


@pytest.mark.anyio
async def test_a_connector_may_have_a_schedule_of_its_own(world: Connected) -> None:
    connector = await world.create("alice", "github")
    path = f"/admin/connectors/{connector}/schedule"
    assert (await world.client.ok("PUT", path, {"everyHours": 0.5}))["everyHours"] == 0.5
    row = world.connectors.offers.connections.catalog.connector(connector)
    assert row is not None
    assert _due_after(world.connectors.engine, row) == timedelta(minutes=30)
    assert (await world.client.ok("PUT", path, {}))["everyHours"] is None
    row = world.connectors.offers.connections.catalog.connector(connector)
    assert row is not None
    assert timedelta(hours=4) <= _due_after(world.connectors.engine, row) <= timedelta(hours=4.2)


def _due_after(engine: Engine, row: ConnectorChanged, *failed: str) -> timedelta:
    runs = tuple(
        SyncReported(
            connector=row.id,
            run=f"run_{number}",
            trigger="cron",
            status="failed",
            started_at=NOON,
            completed_at=NOON,
            error_code=code,
        )
        for number, code in enumerate(failed)
    )
    done = SyncReported(
        connector=row.id,
        run="run",
        trigger="cron",
        status="completed",
        started_at=NOON,
        completed_at=NOON,
    )
    return engine._due_at(row, SyncsRow(row.id, (*runs, done))) - NOON


@pytest.mark.anyio
async def test_what_failed_for_a_passing_reason_is_tried_sooner_and_then_ever_later(world: Connected) -> None:
    connector = await world.create("alice", "github")
    row = world.connectors.offers.connections.catalog.connector(connector)
    assert row is not None
    engine = world.connectors.engine
    waits = [_due_after(engine, row, *["provider_unavailable"] * times) for times in (1, 2, 3)]
    assert waits == [timedelta(minutes=15), timedelta(minutes=30), timedelta(hours=1)]
    assert _due_after(engine, row, *["rate_limited"] * 9) == engine._every(row)
    assert _due_after(engine, row, "auth_expired") == engine._every(row)


@pytest.mark.anyio
async def test_a_run_that_is_due_begins_by_itself(tmp_path: Path, shelf: Shelf) -> None:
    async with connected(tmp_path, {"github": ShelfProvider()}, shelf.transport()) as world:
        connector = await world.create("alice", "github")
        await world.ended(connector)
        path = f"/admin/connectors/{connector}/schedule"
        await world.client.ok("PUT", path, {"everyHours": 1e-9})
        await world.connectors.engine._look_after_all()
        assert (await world.ended(connector, 2)).trigger == "cron"


@pytest.mark.anyio
async def test_a_forgotten_cursor_means_that_everything_is_listed(world: Connected, shelf: Shelf) -> None:
    connector = await world.create("alice", "github")
    await world.ended(connector)
    shelf.remove("one")
    shelf.deleted.clear()
    shelf.put("two", "The lamp is green.")
    shelf.forget_history()
    run = await world.sync("alice", connector)
    assert (run.status, run.full, run.documents) == ("completed", True, 1)
    assert set(await world.documents("alice")) == {"two"}


@pytest.mark.anyio
async def test_lost_state_costs_a_listing_and_nothing_else(tmp_path: Path, shelf: Shelf) -> None:
    async with connected(tmp_path, {"github": ShelfProvider()}, shelf.transport()) as world:
        connector = await world.create("alice", "github")
        await world.ended(connector)
        before = await world.documents("alice")
    for table in (tmp_path / "connectors").glob("state_*"):
        _remove(table)
    async with connected(tmp_path, {"github": ShelfProvider()}, shelf.transport()) as world:
        run = await world.sync("alice", connector)
        assert (run.status, run.full, run.documents) == ("completed", True, 1)
        after = await world.documents("alice")
        assert [one["id"] for one in after.values()] == [one["id"] for one in before.values()]


def _remove(table: Path) -> None:
    for path in sorted(table.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    table.rmdir()


@pytest.mark.anyio
async def test_connectors_go_on_when_the_tables_are_made_again(world: Connected, shelf: Shelf) -> None:
    connector = await world.create("alice", "github")
    await world.ended(connector)
    await world.settled()
    before = await world.get("alice", connector)
    await world.client.ok("POST", "/admin/replay", {})

    async def replayed() -> bool:
        progress = await world.client.ok("GET", "/admin/replay")
        assert progress["state"] != "failed", progress
        return bool(progress["state"] == "done")

    await until(replayed, "a replay")
    assert await world.get("alice", connector) == before
    shelf.put("two", "The lamp is green.")
    assert (await world.sync("alice", connector)).documents == 2
    assert set(await world.documents("alice")) == {"one", "two"}


@pytest.mark.anyio
async def test_a_connector_moves_with_its_namespace(world: Connected, shelf: Shelf) -> None:
    connector = await world.create("alice", "github")
    await world.ended(connector)
    await world.settled()
    await world.client.ok("DELETE", "/ns/alice?moveTo=bob")

    async def moved() -> bool:
        found = await world.client.ok("GET", "/connectors")
        return [one["namespace"] for one in found["connectors"]] == ["bob"]

    await until(moved, "a move")
    shelf.put("one", "The kettle is black.")
    assert (await world.sync("bob", connector)).documents == 1
    (document,) = (await world.documents("bob")).values()
    read = await world.client.ok("GET", f"/ns/bob/document/{document['id']}")
    assert "black" in read["content"]
