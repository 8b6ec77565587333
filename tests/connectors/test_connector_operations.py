"""Operations on connectors, and what the scheduler does by itself."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bench.doubles.sample_source import SampleProvider, SampleSource
from connectors.sync.sync_scheduler import SyncScheduler
from pipeline.rows import SyncRunsRow
from schemas.events import ConnectorChanged, SyncReported
from tests.support.connectors.connected_service import ConnectedService, run_connected_service
from tests.support.service_world import wait_until

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
async def world(tmp_path: Path, shelf: SampleSource, anyio_backend: str) -> AsyncIterator[ConnectedService]:
    async with run_connected_service(tmp_path, {"github": SampleProvider()}, shelf.transport()) as opened:
        yield opened


@pytest.mark.anyio
async def test_an_operator_sees_every_connector_and_its_newest_run(world: ConnectedService) -> None:
    pending = await world.client.ok("POST", "/ns/bob/connectors", {"provider": "github"})
    connector = await world.create("alice", "github")
    await world.wait_for_run(connector)
    found = {status["id"]: status for status in (await world.client.ok("GET", "/admin/connectors"))["connectors"]}
    assert found[pending["id"]]["status"] == "pending"
    assert found[connector]["run"]["status"] == "completed"
    assert (found[connector]["documents"], found[connector]["namespace"]) == (1, "alice")


@pytest.mark.anyio
async def test_an_operator_may_ask_for_everything_to_be_listed(world: ConnectedService, shelf: SampleSource) -> None:
    connector = await world.create("alice", "github")
    await world.wait_for_run(connector)
    before = shelf.calls.count("GET /texts")
    await world.client.ok("POST", f"/admin/connectors/{connector}/sync", {"full": True})
    run = await world.wait_for_run(connector, 2)
    assert (run.status, run.full, run.documents) == ("completed", True, 1)
    assert shelf.calls.count("GET /texts") == before + 1
    assert shelf.calls.count("GET /texts/one") == 1
    await world.client.fails(404, "POST", "/admin/connectors/con_no/sync", {})


@pytest.mark.anyio
async def test_a_connector_may_have_a_schedule_of_its_own(world: ConnectedService) -> None:
    connector = await world.create("alice", "github")
    path = f"/admin/connectors/{connector}/schedule"
    assert (await world.client.ok("PUT", path, {"syncIntervalHours": 0.5}))["syncIntervalHours"] == 0.5
    row = world.connectors.account_linking.registry.catalog.connector(connector)
    assert row is not None
    assert _delay_after(world.connectors.scheduler, row) == timedelta(minutes=30)
    assert (await world.client.ok("PUT", path, {}))["syncIntervalHours"] is None
    row = world.connectors.account_linking.registry.catalog.connector(connector)
    assert row is not None
    assert timedelta(hours=4) <= _delay_after(world.connectors.scheduler, row) <= timedelta(hours=4.2)


@pytest.mark.anyio
async def test_options_of_a_github_connector_list_its_repositories_anew(
    world: ConnectedService, shelf: SampleSource
) -> None:
    connector = await world.create("alice", "github")
    await world.wait_for_run(connector)
    before, path = shelf.calls.count("GET /texts"), f"/admin/connectors/{connector}/options"
    await world.client.ok("PUT", path, {"branch": "next", "paths": ["src/**/*.py", "!test_*"]})
    assert (await world.wait_for_run(connector, 2)).status == "completed"
    assert shelf.calls.count("GET /texts") == before + 1
    shown = await world.client.ok("GET", f"/ns/alice/connectors/{connector}")
    assert shown["config"] == {"branch": "next", "paths": "src/**/*.py, !test_*"}
    for wrong in ({"branch": "no spaces"}, {"paths": ["a,b"]}, {"paths": [""]}, {"files": ["a"]}):
        await world.client.fails(400, "PUT", path, wrong)


def _delay_after(engine: SyncScheduler, row: ConnectorChanged, *failed: str) -> timedelta:
    runs = tuple(
        SyncReported(
            connector=row.id,
            run_id=f"run_{number}",
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
        run_id="run",
        trigger="cron",
        status="completed",
        started_at=NOON,
        completed_at=NOON,
    )
    return engine._next_run_at(row, SyncRunsRow(row.id, (*runs, done))) - NOON


@pytest.mark.anyio
async def test_what_failed_for_a_passing_reason_is_tried_sooner_and_then_ever_later(
    world: ConnectedService,
) -> None:
    connector = await world.create("alice", "github")
    row = world.connectors.account_linking.registry.catalog.connector(connector)
    assert row is not None
    engine = world.connectors.scheduler
    waits = [_delay_after(engine, row, *["provider_unavailable"] * times) for times in (1, 2, 3)]
    assert waits == [timedelta(minutes=15), timedelta(minutes=30), timedelta(hours=1)]
    assert _delay_after(engine, row, *["rate_limited"] * 9) == engine._sync_interval_of(row)
    assert _delay_after(engine, row, "auth_expired") == engine._sync_interval_of(row)


@pytest.mark.anyio
async def test_a_run_that_is_due_begins_by_itself(tmp_path: Path, shelf: SampleSource) -> None:
    async with run_connected_service(tmp_path, {"github": SampleProvider()}, shelf.transport()) as world:
        connector = await world.create("alice", "github")
        await world.wait_for_run(connector)
        path = f"/admin/connectors/{connector}/schedule"
        await world.client.ok("PUT", path, {"syncIntervalHours": 1e-9})
        await world.connectors.scheduler._schedule_all()
        assert (await world.wait_for_run(connector, 2)).trigger == "cron"


@pytest.mark.anyio
async def test_a_forgotten_cursor_means_that_everything_is_listed(world: ConnectedService, shelf: SampleSource) -> None:
    connector = await world.create("alice", "github")
    await world.wait_for_run(connector)
    shelf.remove("one")
    shelf.deleted.clear()
    shelf.put("two", "The lamp is green.")
    shelf.forget_history()
    run = await world.sync("alice", connector)
    assert (run.status, run.full, run.documents) == ("completed", True, 1)
    assert set(await world.documents("alice")) == {"two"}


@pytest.mark.anyio
async def test_lost_state_costs_a_listing_and_nothing_else(tmp_path: Path, shelf: SampleSource) -> None:
    async with run_connected_service(tmp_path, {"github": SampleProvider()}, shelf.transport()) as world:
        connector = await world.create("alice", "github")
        await world.wait_for_run(connector)
        before = await world.documents("alice")
    for table in (tmp_path / "connectors").glob("state_*"):
        _remove(table)
    async with run_connected_service(tmp_path, {"github": SampleProvider()}, shelf.transport()) as world:
        run = await world.sync("alice", connector)
        assert (run.status, run.full, run.documents) == ("completed", True, 1)
        after = await world.documents("alice")
        assert [document["id"] for document in after.values()] == [document["id"] for document in before.values()]


def _remove(table: Path) -> None:
    for path in sorted(table.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    table.rmdir()


@pytest.mark.anyio
async def test_connectors_go_on_when_the_tables_are_made_again(world: ConnectedService, shelf: SampleSource) -> None:
    connector = await world.create("alice", "github")
    await world.wait_for_run(connector)
    await world.wait_until_idle()
    before = await world.get("alice", connector)
    await world.client.ok("POST", "/admin/replay", {})

    async def replayed() -> bool:
        progress = await world.client.ok("GET", "/admin/replay")
        assert progress["state"] != "failed", progress
        return bool(progress["state"] == "done")

    await wait_until(replayed, "a replay")
    assert await world.get("alice", connector) == before
    shelf.put("two", "The lamp is green.")
    assert (await world.sync("alice", connector)).documents == 2
    assert set(await world.documents("alice")) == {"one", "two"}


@pytest.mark.anyio
async def test_a_connector_moves_with_its_namespace(world: ConnectedService, shelf: SampleSource) -> None:
    connector = await world.create("alice", "github")
    await world.wait_for_run(connector)
    await world.wait_until_idle()
    await world.client.ok("DELETE", "/ns/alice?moveTo=bob")

    async def moved() -> bool:
        found = await world.client.ok("GET", "/connectors")
        return [connector["namespace"] for connector in found["connectors"]] == ["bob"]

    await wait_until(moved, "a move")
    shelf.put("one", "The kettle is black.")
    assert (await world.sync("bob", connector)).documents == 1
    (document,) = (await world.documents("bob")).values()
    read = await world.client.ok("GET", f"/ns/bob/document/{document['id']}")
    assert "black" in read["content"]


@pytest.mark.anyio
async def test_new_consent_keeps_the_documents_of_a_connector(world: ConnectedService, shelf: SampleSource) -> None:
    connector = await world.create("alice", "github")
    await world.wait_for_run(connector)
    before = await world.documents("alice")
    path = f"/admin/connectors/{connector}"
    assert (await world.client.ok("POST", f"{path}/check"))["ok"]
    link = (await world.client.ok("POST", f"{path}/reconnect", {}))["authorizationUrl"]
    answer = await world.authorize(link)
    assert answer.status_code == 200
    await world.wait_for_run(connector, 2)
    after = await world.documents("alice")
    assert [document["id"] for document in after.values()] == [document["id"] for document in before.values()]
    assert (await world.authorize(link)).status_code == 400, "the link works once"
    await world.client.fails(400, "POST", f"{path}/reconnect", {"apiKey": "x"})


@pytest.mark.anyio
async def test_a_connector_that_nobody_authorized_is_not_said_to_work(world: ConnectedService) -> None:
    pending = await world.client.ok("POST", "/ns/bob/connectors", {"provider": "github"})
    answer = await world.client.ok("POST", f"/admin/connectors/{pending['id']}/check")
    assert (answer["ok"], "authorization link" in answer["message"]) == (False, True)
