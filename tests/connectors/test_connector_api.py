"""The connectors of the interface, as a customer meets them. Every answer is held against the contract."""

import logging
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse

from bench.doubles.sample_source import SECRET, SampleProvider, SampleSource
from connectors.accounts.connection_factory import ConnectionFactory
from connectors.accounts.credential_vault import VaultKeyError, load_or_create_key
from connectors.errors import AuthExpiredError
from connectors.provider_interface import Connection, Provider
from connectors.sync_messages import Checkpoint, Cursor, SourceItem, SyncMessage, SyncState
from tests.support.connectors.connected_service import ConnectedService, bytes_on_disk, run_connected_service
from tests.support.contract_client import ContractClient
from tests.support.service_world import wait_until

KEY = "planted-api-key-of-granola"


class NotesProvider(Provider):
    """Needs a key and no user: starts at once, and nothing of it can be selected."""

    name = "granola"

    async def sync(self, connection: Connection, cursor: Cursor | None, state: SyncState) -> AsyncIterator[SyncMessage]:
        if connection.secrets["apiKey"] != KEY:
            raise AuthExpiredError("The key does not work. Take a new one.")
        if await state.select_changed([("note", "1")]):
            yield SourceItem("note", "1", "A note", text="The meeting was about kettles.")
        yield Checkpoint({"at": 1})


@pytest.fixture
async def world(tmp_path: Path, shelf: SampleSource, anyio_backend: str) -> AsyncIterator[ConnectedService]:
    providers: dict[str, Provider] = {"github": SampleProvider(), "granola": NotesProvider()}
    async with run_connected_service(tmp_path, providers, shelf.transport()) as opened:
        yield opened


async def _pending(world: ConnectedService, **fields: Any) -> Any:
    return await world.client.ok("POST", "/ns/alice/connectors", {"provider": "github", **fields})


async def _listed(client: ContractClient, path: str = "/ns/alice/connectors") -> list[str]:
    return [connector["id"] for connector in (await client.ok("GET", path))["connectors"]]


@pytest.mark.anyio
async def test_a_connector_that_needs_authorization_is_unlisted_until_it_has_it(
    world: ConnectedService,
) -> None:
    made = await _pending(world)
    assert await _listed(world.client) == []
    shown = await world.get("alice", made["id"])
    assert shown["system"]["status"] == "pending_authorization"
    assert shown["authorization"] == made["authorization"]
    answer = await world.authorize(made["authorization"]["url"])
    assert (answer.status_code, "Connected" in answer.text) == (200, True)
    await world.wait_for_run(made["id"])
    assert await _listed(world.client) == await _listed(world.client, "/connectors") == [made["id"]]
    shown = await world.get("alice", made["id"])
    assert "authorization" not in shown
    assert shown["account"] == "reader@shelf.test"
    assert shown["latestRun"]["system"]["status"] == "completed"
    assert shown["syncs"][0]["itemsProcessed"] == 1
    assert shown["system"]["lastSuccessfulSyncAt"] == shown["syncs"][0]["system"]["completedAt"]


@pytest.mark.anyio
async def test_an_authorization_link_works_once(world: ConnectedService) -> None:
    made = await _pending(world)
    assert (await world.authorize(made["authorization"]["url"], code="wrong")).status_code == 400
    assert (await world.authorize(made["authorization"]["url"])).status_code == 400
    assert await _listed(world.client) == []


@pytest.mark.anyio
async def test_an_authorization_link_ends_after_an_hour(
    world: ConnectedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await _pending(world)
    _an_hour_passes(world, monkeypatch)
    assert (await world.authorize(made["authorization"]["url"])).status_code == 400
    await world.client.fails(404, "GET", f"/ns/alice/connectors/{made['id']}")


@pytest.mark.anyio
async def test_the_state_of_another_connector_opens_nothing(world: ConnectedService) -> None:
    mine, other = await _pending(world), await _pending(world)
    state = mine["authorization"]["url"].partition("state=")[2].partition("&")[0]
    stolen = state.replace(mine["id"], other["id"])
    answer = await world.browser("/oauth/callback", state=stolen, code="a-code")
    assert answer.status_code == 400
    assert await _listed(world.client) == []


@pytest.mark.anyio
async def test_whoever_authorized_returns_to_where_they_came_from(world: ConnectedService) -> None:
    made = await _pending(world, redirectUrl="https://app.test/done?tab=2")
    answer = await world.authorize(made["authorization"]["url"])
    assert answer.status_code == 303
    assert answer.headers["location"] == f"https://app.test/done?tab=2&connector={made['id']}"


@pytest.mark.anyio
async def test_a_user_who_says_no_may_change_their_mind(world: ConnectedService) -> None:
    made = await _pending(world, redirectUrl="https://app.test/done")
    state = made["authorization"]["url"].partition("state=")[2].partition("&")[0]
    answer = await world.browser("/oauth/callback", state=state, error="access_denied")
    assert "error=access_denied" in answer.headers["location"]
    assert "connector=" in (await world.authorize(made["authorization"]["url"])).headers["location"]


@pytest.mark.anyio
async def test_a_wrong_client_secret_is_the_operators_mistake(tmp_path: Path, shelf: SampleSource) -> None:
    providers = {"github": SampleProvider(secret="wrong")}
    async with run_connected_service(tmp_path, providers, shelf.transport()) as world:
        made = await _pending(world, redirectUrl="https://app.test/done")
        answer = await world.authorize(made["authorization"]["url"])
        assert "error=internal" in answer.headers["location"]
        assert "operator" in answer.headers["location"]


@pytest.mark.anyio
async def test_a_connector_that_needs_no_user_starts_at_once(world: ConnectedService) -> None:
    made = await world.client.ok("POST", "/ns/alice/connectors", {"provider": "granola", "config": {"apiKey": KEY}})
    assert made["authorization"] is None
    await world.wait_for_run(made["id"])
    assert set(await world.documents("alice")) == {"A note"}
    shown = await world.get("alice", made["id"])
    assert shown["config"] is None
    assert shown["capabilities"] == {"selectable": False, "webhooks": False}


@pytest.mark.anyio
@pytest.mark.parametrize("body", [{"provider": "github"}, {"provider": "granola", "config": {"apiKey": KEY}}])
async def test_a_repeated_request_makes_one_connector(world: ConnectedService, body: dict[str, Any]) -> None:
    path, headers = "/ns/alice/connectors", {"Idempotency-Key": "k1"}
    first = await world.client.ok("POST", path, body, headers=headers)
    again = await world.client.ok("POST", path, body, headers=headers)
    assert again["id"] == first["id"]
    assert (again["authorization"] is None) == (first["authorization"] is None)
    refusal = await world.client.fails(400, "POST", path, {**body, "provider": "web-crawler"}, headers=headers)
    assert refusal["error"]


@pytest.mark.anyio
async def test_a_provider_that_nobody_set_up_can_not_be_connected(world: ConnectedService) -> None:
    refusal = await world.client.fails(503, "POST", "/ns/alice/connectors", {"provider": "gmail"})
    assert "gmail" in str(refusal)


@pytest.mark.anyio
async def test_a_new_selection_replaces_the_old_and_starts_a_run(world: ConnectedService, shelf: SampleSource) -> None:
    shelf.put("two", "The lamp is green.", board="b")
    connector = await world.create("alice", "github")
    await world.wait_for_run(connector)
    path = f"/ns/alice/connectors/{connector}"
    shown = await world.client.ok("PATCH", path, {"selection": {"repos": ["b"]}})
    assert shown["selection"] == {"repos": [{"id": "b", "name": "b"}]}
    await world.wait_for_run(connector, 2)
    assert set(await world.documents("alice")) == {"two"}
    assert (await world.get("alice", connector))["selection"] == {"repos": [{"id": "b", "name": "Board b"}]}


@pytest.mark.anyio
async def test_what_can_not_be_selected_is_refused(world: ConnectedService) -> None:
    connector = await world.create("alice", "github")
    path = f"/ns/alice/connectors/{connector}"
    await world.client.fails(400, "PATCH", path, {"selection": {"labels": ["x"]}})
    notes = await world.create("alice", "granola", config={"apiKey": KEY})
    path = f"/ns/alice/connectors/{notes}"
    await world.client.fails(400, "PATCH", path, {"selection": {"files": ["x"]}})


@pytest.mark.anyio
async def test_document_limit_keeps_the_newest(world: ConnectedService, shelf: SampleSource) -> None:
    for number in range(5):
        shelf.put(f"k{number}", f"The kettle number {number} is blue.")
    connector = await world.create("alice", "github", documentLimit=3)
    run = await world.wait_for_run(connector)
    assert (run.documents, run.over_limit) == (3, 3)
    assert set(await world.documents("alice")) == {"k2", "k3", "k4"}
    await world.client.ok("PATCH", f"/ns/alice/connectors/{connector}", {"documentLimit": 2})
    await world.wait_for_run(connector, 2)
    assert set(await world.documents("alice")) == {"k3", "k4"}
    await world.client.ok("PATCH", f"/ns/alice/connectors/{connector}", {"documentLimit": 10})
    await world.wait_for_run(connector, 3)
    assert len(await world.documents("alice")) == 6


@pytest.mark.anyio
async def test_one_run_at_a_time(tmp_path: Path, shelf: SampleSource) -> None:
    async with run_connected_service(tmp_path, {"github": SampleProvider()}, shelf.transport(), running=False) as world:
        made = await _pending(world)
        path = f"/ns/alice/connectors/{made['id']}/sync"
        await world.client.fails(409, "POST", path)
        await world.authorize(made["authorization"]["url"])
        await world.client.fails(409, "POST", path)


@pytest.mark.anyio
@pytest.mark.parametrize("keep", [True, False])
async def test_a_deleted_connector_takes_its_documents_along_unless_told_otherwise(
    world: ConnectedService, shelf: SampleSource, *, keep: bool
) -> None:
    await world.client.ok("POST", "/ns/alice/document", {"content": "Mine.", "id": "mine"})
    connector = await world.create("alice", "github")
    await world.wait_for_run(connector)
    await world.documents("alice")
    assert shelf.hooks
    query = "?deleteDocuments=false" if keep else ""
    answer = await world.client.ok("DELETE", f"/ns/alice/connectors/{connector}{query}")
    assert answer == {"id": connector, "deleted": True}
    await world.client.fails(404, "GET", f"/ns/alice/connectors/{connector}")
    await _gone(world, connector)
    ids = {document["id"] for document in (await world.documents("alice")).values()}
    assert ids == {"mine", *([f"github:{connector}:one"] if keep else [])}
    assert not shelf.hooks


async def _secrets(connecting: ConnectionFactory, connector: str) -> Any:
    return await connecting.secret_store.read(connector)


@pytest.mark.anyio
async def test_a_connector_ends_with_its_namespace(world: ConnectedService, shelf: SampleSource) -> None:
    connector = await world.create("alice", "github")
    await world.wait_for_run(connector)
    await world.client.ok("DELETE", "/ns/alice")
    await world.client.fails(404, "GET", f"/ns/alice/connectors/{connector}")
    assert await _listed(world.client, "/connectors") == []
    await world.connectors.scheduler._schedule_all()
    await _gone(world, connector)
    assert not shelf.hooks


@pytest.mark.anyio
async def test_a_connector_may_be_deleted_while_it_runs(world: ConnectedService, shelf: SampleSource) -> None:
    connector = await world.create("alice", "github")
    await world.wait_for_run(connector)
    await world.documents("alice")
    shelf.queued_responses.append(JSONResponse({}, 429, {"Retry-After": "100"}))
    await world.client.ok("POST", f"/ns/alice/connectors/{connector}/sync")

    async def waits() -> bool:
        return not shelf.queued_responses

    await wait_until(waits, "a run that waits for its provider")
    await world.client.ok("DELETE", f"/ns/alice/connectors/{connector}")
    await _gone(world, connector)
    assert await world.documents("alice") == {}


@pytest.mark.anyio
async def test_what_nobody_authorized_in_time_is_cleaned_up(
    world: ConnectedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await _pending(world)
    _an_hour_passes(world, monkeypatch)
    await world.connectors.scheduler._schedule_all()
    await _gone(world, made["id"])


def _an_hour_passes(world: ConnectedService, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a minute."""
    clock = world.live.resources.clock
    late = clock.now() + timedelta(minutes=61)
    monkeypatch.setattr(type(clock), "now", lambda _: late)


async def _gone(world: ConnectedService, connector: str) -> None:
    """Until nothing is left of it."""
    catalog = world.live.pipeline.store.catalog

    async def gone() -> bool:
        return catalog.connector(connector) is None

    await wait_until(gone, "the end of a connector")
    assert await _secrets(world.connectors.scheduler.connection_factory, connector) == {}


@pytest.mark.anyio
async def test_its_documents_go_with_a_connector_also_where_its_state_was_lost(
    world: ConnectedService, shelf: SampleSource
) -> None:
    connector = await world.create("alice", "github")
    await world.wait_for_run(connector)
    await world.client.ok("POST", "/ns/alice/document", {"content": "Somebody's own.", "id": "own"})
    assert set(await world.documents("alice")) >= {"one"}
    await world.connectors.scheduler.states.delete_state(connector)
    await world.client.ok("DELETE", f"/ns/alice/connectors/{connector}")
    await _gone(world, connector)
    assert [document["id"] for document in (await world.documents("alice")).values()] == ["own"]


@pytest.mark.anyio
async def test_who_may_not_write_sees_no_link_and_picks_nothing(world: ConnectedService) -> None:
    made = await _pending(world)
    reading = await world.client.ok("POST", "/admin/keys", {"name": "r", "role": "read"})
    reader = world.client.as_key(reading["key"])
    shown = await reader.ok("GET", f"/ns/alice/connectors/{made['id']}")
    assert "authorization" not in shown
    await world.authorize(made["authorization"]["url"])
    await reader.fails(403, "GET", f"/ns/alice/connectors/{made['id']}?include=picker")
    await reader.fails(403, "POST", f"/ns/alice/connectors/{made['id']}/sync")
    shown = await world.get("alice", made["id"], "picker")
    assert shown["picker"]["url"].startswith("https://memory.test/picker/")


@pytest.mark.anyio
async def test_an_item_that_can_not_be_read_is_told_and_tried_again(
    world: ConnectedService, shelf: SampleSource
) -> None:
    shelf.put("two", "The lamp is green.")
    shelf.unreadable.add("two")
    connector = await world.create("alice", "github")
    await world.wait_for_run(connector)
    sync = (await world.get("alice", connector))["syncs"][0]
    assert (sync["itemsProcessed"], sync["itemsFailed"]) == (2, 1)
    assert sync["failures"][0]["documentId"] == f"github:{connector}:two"
    assert "owner" in sync["failures"][0]["errorMessage"]
    shelf.unreadable.clear()
    run = await world.sync("alice", connector)
    assert (run.failed, run.documents) == (0, 2)


@pytest.mark.anyio
async def test_no_secret_is_kept_in_clear_logged_or_answered(
    tmp_path: Path, shelf: SampleSource, caplog: pytest.LogCaptureFixture
) -> None:
    planted = [KEY, SECRET, "planted-access", "planted-refresh"]
    answers: list[str] = []
    providers: dict[str, Provider] = {"github": SampleProvider(), "granola": NotesProvider()}
    with caplog.at_level(logging.DEBUG):
        async with run_connected_service(tmp_path, providers, shelf.transport()) as world:
            for connector in (
                await world.create("alice", "github"),
                await world.create("alice", "granola", config={"apiKey": KEY}),
            ):
                await world.wait_for_run(connector)
                answers.append(str(await world.get("alice", connector, "syncs,picker")))
            shelf.expire()
            answers.append(str((await world.sync("alice", connector := await _github(world))).model_dump()))
            shelf.revoke_access()
            answers.append(str((await world.sync("alice", connector)).model_dump()))
            answers.append(str(await world.client.ok("GET", "/connectors")))
    kept = bytes_on_disk(tmp_path)
    assert b"The kettle is blue" in kept
    for secret in planted:
        assert secret.encode() not in kept
        assert secret not in caplog.text
        assert not any(secret in answer for answer in answers)


def test_the_key_that_was_made_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    assert load_or_create_key(path) == load_or_create_key(path)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damaged", [b"", b"short", b"\xff\xfe\x00", b"a" * 44 + b",b"])
def test_a_file_that_holds_no_key_is_named(damaged: bytes, tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    path.write_bytes(damaged)
    with pytest.raises(VaultKeyError, match="Bring the file back from a backup") as error:
        load_or_create_key(path)
    assert str(error.value).startswith(f"{path} holds no key")


async def _github(world: ConnectedService) -> str:
    found = await world.client.ok("GET", "/ns/alice/connectors?provider=github")
    connector: str = found["connectors"][0]["id"]
    return connector


@pytest.mark.anyio
async def test_a_key_that_does_not_work_is_refused_at_creation_and_as_a_new_one(world: ConnectedService) -> None:
    refused = await world.client.fails(
        400, "POST", "/ns/alice/connectors", {"provider": "granola", "config": {"apiKey": "another"}}
    )
    assert "Take a new one." in str(refused)
    unsendable = {"provider": "granola", "config": {"apiKey": "grn_…"}}
    assert "Copy the whole key" in str(await world.client.fails(400, "POST", "/ns/alice/connectors", unsendable))
    connector = await world.create("alice", "granola", config={"apiKey": KEY})
    path = f"/admin/connectors/{connector}"
    assert await world.client.ok("POST", f"{path}/check") == {"ok": True, "message": None}
    await world.client.fails(400, "POST", f"{path}/reconnect", {"apiKey": "another"})
    await world.client.fails(400, "POST", f"{path}/reconnect", {})
    assert (await world.client.ok("POST", f"{path}/reconnect", {"apiKey": KEY}))["authorizationUrl"] is None
