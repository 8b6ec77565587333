"""Webhook deliveries are verified, answered at once, and coalesced into one run."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from bench.doubles.connected_app import PUBLIC_URL
from bench.doubles.sample_source import SampleProvider, SampleSource, sign
from connectors.edge.webhooks import MAX_DELIVERY_AGE
from connectors.provider_interface import ChangeHint, Provider, VerifiedDelivery, WebhookDelivery
from tests.support.connectors.connected_service import (
    ConnectedService,
    bytes_on_disk,
    run_connected_service,
)


class UndebouncedProvider(SampleProvider):
    """The shelf, without waiting for more; it also tells of whole accounts and of boards, and of times."""

    event_debounce = timedelta(0)

    async def read_delivery(self, delivery: WebhookDelivery) -> VerifiedDelivery:
        told = json.loads(delivery.body)
        if "handshake" in told:
            return VerifiedDelivery(verification_token=told["handshake"])
        if "account" in told:
            return VerifiedDelivery((ChangeHint("account", told["account"]),))
        if "board" in told:
            return VerifiedDelivery((ChangeHint("selected", told["board"]),))
        if "minutes_ago" in told:
            return VerifiedDelivery(
                (ChangeHint(),), sent_at=delivery.received_at - timedelta(minutes=told["minutes_ago"])
            )
        return await super().read_delivery(delivery)


@pytest.fixture
async def world(tmp_path: Path, shelf: SampleSource, anyio_backend: str) -> AsyncIterator[ConnectedService]:
    async with run_connected_service(tmp_path, {"github": UndebouncedProvider()}, shelf.transport()) as opened:
        yield opened


async def _send(world: ConnectedService, path: str, told: Any, secret: str | None = None) -> httpx2.Response:
    body = told if isinstance(told, bytes) else json.dumps(told).encode()
    headers = {} if secret is None else {"X-Shelf-Signature": sign(body, secret)}
    transport = httpx2.ASGITransport(world.app)
    async with httpx2.AsyncClient(transport=transport, base_url=PUBLIC_URL) as http:
        return await http.post(path, content=body, headers=headers)


async def _ready(world: ConnectedService, shelf: SampleSource) -> tuple[str, str, str]:
    """A connector, the path of its events and what they are signed with."""
    connector = await world.create("alice", "github")
    await world.wait_for_run(connector)
    ((address, secret),) = shelf.hooks.items()
    assert address == f"{PUBLIC_URL}/webhooks/github/{connector}"
    return connector, address.removeprefix(PUBLIC_URL), secret


@pytest.mark.anyio
async def test_an_event_starts_a_run(world: ConnectedService, shelf: SampleSource) -> None:
    connector, path, secret = await _ready(world, shelf)
    shelf.put("two", "The lamp is green.")
    assert (await _send(world, path, {"id": "1"}, secret)).status_code == 200
    run = await world.wait_for_run(connector, 2)
    assert (run.trigger, run.documents) == ("event", 2)


@pytest.mark.anyio
async def test_what_is_not_signed_is_refused(world: ConnectedService, shelf: SampleSource) -> None:
    connector, path, secret = await _ready(world, shelf)
    assert (await _send(world, path, {"id": "1"})).status_code == 401
    assert (await _send(world, path, {"id": "1"}, secret + "x")).status_code == 401
    assert (await _send(world, "/webhooks/github", {"id": "1"}, secret)).status_code == 401
    assert len((await world.get("alice", connector))["syncs"]) == 1


@pytest.mark.anyio
@pytest.mark.parametrize("body", [b"[" * 100_000, b"[]", b"1", b"\xff", b"", b'{"minutes_ago": 1e300}'])
async def test_what_no_provider_would_send_is_refused(
    body: bytes, world: ConnectedService, shelf: SampleSource
) -> None:
    _, path, _ = await _ready(world, shelf)
    for address in (path, "/webhooks/github"):
        assert (await _send(world, address, body)).status_code == 401


@pytest.mark.anyio
async def test_what_nobody_here_subscribed_to_is_not_found(world: ConnectedService, shelf: SampleSource) -> None:
    _, path, secret = await _ready(world, shelf)
    assert (await _send(world, "/webhooks/notion", {"id": "1"}, secret)).status_code == 404
    assert (await _send(world, path + "0", {"id": "1"}, secret)).status_code == 404


@pytest.mark.anyio
class _SilentProvider(SampleProvider):
    """The shelf, which sends no notifications."""

    async def read_delivery(self, delivery: WebhookDelivery) -> VerifiedDelivery:
        return await Provider.read_delivery(self, delivery)


async def test_nothing_is_taken_for_a_source_that_sends_no_notifications(
    tmp_path: Path, shelf: SampleSource, anyio_backend: str
) -> None:
    async with run_connected_service(tmp_path, {"github": _SilentProvider()}, shelf.transport()) as world:
        assert (await _send(world, "/webhooks/github", {"anything": 1})).status_code == 401


async def test_what_is_too_large_is_refused_unread(world: ConnectedService, shelf: SampleSource) -> None:
    _, path, secret = await _ready(world, shelf)
    large = b" " * (UndebouncedProvider.max_delivery_bytes + 1)
    assert (await _send(world, path, large, secret)).status_code == 413


@pytest.mark.anyio
async def test_a_repetition_changes_nothing(world: ConnectedService, shelf: SampleSource) -> None:
    connector, path, secret = await _ready(world, shelf)
    await _send(world, path, {"id": "1"}, secret)
    await world.wait_for_run(connector, 2)
    assert (await _send(world, path, {"id": "1"}, secret)).status_code == 200
    await world.sync("alice", connector)
    assert [run["trigger"] for run in (await world.get("alice", connector))["syncs"]] == [
        "manual",
        "event",
        "manual",
    ]


@pytest.mark.anyio
async def test_what_was_sent_long_ago_is_refused(world: ConnectedService, shelf: SampleSource) -> None:
    _, path, _ = await _ready(world, shelf)
    minutes = MAX_DELIVERY_AGE.total_seconds() / 60
    assert (await _send(world, path, {"minutes_ago": minutes + 1})).status_code == 401
    assert (await _send(world, path, {"minutes_ago": -minutes - 1})).status_code == 401
    assert (await _send(world, path, {"minutes_ago": 1})).status_code == 200


@pytest.mark.anyio
async def test_many_events_are_one_run(tmp_path: Path, shelf: SampleSource) -> None:
    async with run_connected_service(tmp_path, {"github": UndebouncedProvider()}, shelf.transport()) as world:
        connector, path, secret = await _ready(world, shelf)
    async with run_connected_service(
        tmp_path, {"github": UndebouncedProvider()}, shelf.transport(), running=False
    ) as waiting:
        for number in range(5):
            await _send(waiting, path, {"id": str(number)}, secret)
        await _send(waiting, path, {"id": "lost", "lost": True}, secret)
        await _send(waiting, path, {"id": "late"}, secret)
    async with run_connected_service(tmp_path, {"github": UndebouncedProvider()}, shelf.transport()) as world:
        run = await world.wait_for_run(connector, 2)
        runs = (await world.connectors.account_linking.registry.load_runs(connector)).runs
        events = [run for run in runs if run.trigger == "event"]
        assert sorted(run.full for run in events) == [False, True]
        assert run.status == "completed"


@pytest.mark.anyio
async def test_an_account_or_a_selected_thing_means_its_connectors(
    world: ConnectedService, shelf: SampleSource
) -> None:
    connector, _, _ = await _ready(world, shelf)
    await _send(world, "/webhooks/github", {"account": "u2"})
    await _send(world, "/webhooks/github", {"board": "a"})
    await _send(world, "/webhooks/github", {"account": "u1"})
    await world.wait_for_run(connector, 2)
    body = {"selection": {"repos": ["a"]}}
    await world.client.ok("PATCH", f"/ns/alice/connectors/{connector}", body)
    await world.wait_for_run(connector, 3)
    await _send(world, "/webhooks/github", {"board": "a"})
    assert (await world.wait_for_run(connector, 4)).trigger == "event"


@pytest.mark.anyio
async def test_a_verification_token_waits_for_the_operator_whichever_process_has_it(
    tmp_path: Path, shelf: SampleSource, caplog: pytest.LogCaptureFixture
) -> None:
    async with run_connected_service(
        tmp_path, {"github": UndebouncedProvider()}, shelf.transport(), running=False
    ) as world:
        await _send(world, "/webhooks/github", {"handshake": "planted-verification"})
        assert (await _send(world, "/webhooks/github", {"handshake": "x" * 1025})).status_code == 401
    async with run_connected_service(
        tmp_path, {"github": UndebouncedProvider()}, shelf.transport(), running=False
    ) as another:
        shown = await another.client.ok("GET", "/admin/connectors")
    assert shown["verificationTokens"] == {"github": "planted-verification"}
    assert "planted-verification" not in caplog.text
    assert b"planted-verification" not in bytes_on_disk(tmp_path)
