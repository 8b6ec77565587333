"""What providers send: checked, answered at once, one run for many."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from connectors.edge.webhooks import OLDEST
from connectors.ports import Delivery, Hint, Receipt
from tests.connectors.shelf import Shelf, ShelfProvider, signed
from tests.connectors.world import ADDRESS, Connected, connected, written


class SwiftProvider(ShelfProvider):
    """The shelf, without waiting for more; it also tells of whole accounts and of boards, and of times."""

    debounce = timedelta(0)

    async def receive(self, delivery: Delivery) -> Receipt:
        told = json.loads(delivery.body)
        if "handshake" in told:
            return Receipt(handshake=told["handshake"])
        if "account" in told:
            return Receipt((Hint("account", told["account"]),))
        if "board" in told:
            return Receipt((Hint("selected", told["board"]),))
        if "minutes_ago" in told:
            return Receipt((Hint(),), sent_at=delivery.at - timedelta(minutes=told["minutes_ago"]))
        return await super().receive(delivery)


@pytest.fixture
async def world(tmp_path: Path, shelf: Shelf, anyio_backend: str) -> AsyncIterator[Connected]:
    async with connected(tmp_path, {"github": SwiftProvider()}, shelf.transport()) as opened:
        yield opened


async def _send(world: Connected, path: str, told: Any, secret: str | None = None) -> httpx2.Response:
    body = told if isinstance(told, bytes) else json.dumps(told).encode()
    headers = {} if secret is None else {"X-Shelf-Signature": signed(body, secret)}
    transport = httpx2.ASGITransport(world.app)
    async with httpx2.AsyncClient(transport=transport, base_url=ADDRESS) as http:
        return await http.post(path, content=body, headers=headers)


async def _ready(world: Connected, shelf: Shelf) -> tuple[str, str, str]:
    """A connector, the path of its events and what they are signed with."""
    connector = await world.create("alice", "github")
    await world.ended(connector)
    ((address, secret),) = shelf.hooks.items()
    assert address == f"{ADDRESS}/webhooks/github/{connector}"
    return connector, address.removeprefix(ADDRESS), secret


@pytest.mark.anyio
async def test_an_event_starts_a_run(world: Connected, shelf: Shelf) -> None:
    connector, path, secret = await _ready(world, shelf)
    shelf.put("two", "The lamp is green.")
    assert (await _send(world, path, {"id": "1"}, secret)).status_code == 200
    run = await world.ended(connector, 2)
    assert (run.trigger, run.documents) == ("event", 2)


@pytest.mark.anyio
async def test_what_is_not_signed_is_refused(world: Connected, shelf: Shelf) -> None:
    connector, path, secret = await _ready(world, shelf)
    assert (await _send(world, path, {"id": "1"})).status_code == 401
    assert (await _send(world, path, {"id": "1"}, secret + "x")).status_code == 401
    assert (await _send(world, "/webhooks/github", {"id": "1"}, secret)).status_code == 401
    assert len((await world.get("alice", connector))["syncs"]) == 1


@pytest.mark.anyio
async def test_what_nobody_here_subscribed_to_is_not_found(world: Connected, shelf: Shelf) -> None:
    _, path, secret = await _ready(world, shelf)
    assert (await _send(world, "/webhooks/notion", {"id": "1"}, secret)).status_code == 404
    assert (await _send(world, path + "0", {"id": "1"}, secret)).status_code == 404


@pytest.mark.anyio
async def test_what_is_too_large_is_refused_unread(world: Connected, shelf: Shelf) -> None:
    _, path, secret = await _ready(world, shelf)
    large = b" " * (SwiftProvider.delivery_bytes + 1)
    assert (await _send(world, path, large, secret)).status_code == 413


@pytest.mark.anyio
async def test_a_repetition_changes_nothing(world: Connected, shelf: Shelf) -> None:
    connector, path, secret = await _ready(world, shelf)
    await _send(world, path, {"id": "1"}, secret)
    await world.ended(connector, 2)
    assert (await _send(world, path, {"id": "1"}, secret)).status_code == 200
    await world.sync("alice", connector)
    assert [one["trigger"] for one in (await world.get("alice", connector))["syncs"]] == [
        "manual",
        "event",
        "manual",
    ]


@pytest.mark.anyio
async def test_what_was_sent_long_ago_is_refused(world: Connected, shelf: Shelf) -> None:
    _, path, _ = await _ready(world, shelf)
    minutes = OLDEST.total_seconds() / 60
    assert (await _send(world, path, {"minutes_ago": minutes + 1})).status_code == 401
    assert (await _send(world, path, {"minutes_ago": -minutes - 1})).status_code == 401
    assert (await _send(world, path, {"minutes_ago": 1})).status_code == 200


@pytest.mark.anyio
async def test_many_events_are_one_run(tmp_path: Path, shelf: Shelf) -> None:
    async with connected(tmp_path, {"github": SwiftProvider()}, shelf.transport()) as world:
        connector, path, secret = await _ready(world, shelf)
    async with connected(tmp_path, {"github": SwiftProvider()}, shelf.transport(), running=False) as waiting:
        for number in range(5):
            await _send(waiting, path, {"id": str(number)}, secret)
        await _send(waiting, path, {"id": "lost", "lost": True}, secret)
        await _send(waiting, path, {"id": "late"}, secret)
    async with connected(tmp_path, {"github": SwiftProvider()}, shelf.transport()) as world:
        run = await world.ended(connector, 2)
        runs = (await world.connectors.offers.connections.runs(connector)).runs
        events = [run for run in runs if run.trigger == "event"]
        assert sorted(run.full for run in events) == [False, True]
        assert run.status == "completed"


@pytest.mark.anyio
async def test_an_account_or_a_selected_thing_means_its_connectors(world: Connected, shelf: Shelf) -> None:
    connector, _, _ = await _ready(world, shelf)
    await _send(world, "/webhooks/github", {"account": "u2"})
    await _send(world, "/webhooks/github", {"board": "a"})
    await _send(world, "/webhooks/github", {"account": "u1"})
    await world.ended(connector, 2)
    body = {"selection": {"repos": ["a"]}}
    await world.client.ok("PATCH", f"/ns/alice/connectors/{connector}", body)
    await world.ended(connector, 3)
    await _send(world, "/webhooks/github", {"board": "a"})
    assert (await world.ended(connector, 4)).trigger == "event"


@pytest.mark.anyio
async def test_a_verification_token_waits_for_the_operator_whichever_process_has_it(
    tmp_path: Path, shelf: Shelf, caplog: pytest.LogCaptureFixture
) -> None:
    async with connected(tmp_path, {"github": SwiftProvider()}, shelf.transport(), running=False) as world:
        await _send(world, "/webhooks/github", {"handshake": "planted-verification"})
    async with connected(tmp_path, {"github": SwiftProvider()}, shelf.transport(), running=False) as another:
        shown = await another.client.ok("GET", "/admin/connectors")
    assert shown["handshakes"] == {"github": "planted-verification"}
    assert "planted-verification" not in caplog.text
    assert b"planted-verification" not in written(tmp_path)
