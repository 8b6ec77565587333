"""Contract suite of all providers, through the API and over their doubles.

A provider's test module has a class that inherits from `ConnectorContract` and a fixture `source`.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import httpx2
import pytest

from connectors.provider_interface import Provider
from tests.support.connectors.connected_service import ConnectedService, bytes_on_disk, run_connected_service
from tests.support.service_world import wait_until

NAMESPACE = "mirror"
_SECRET_FIELDS = (
    ("tokens", "access_token"),
    ("tokens", "refresh_token"),
    ("config", "apiKey"),
    ("config", "secretAccessKey"),
    ("subscription", "secret"),
)
MAX_IDLE_CALLS = 5
"""Calls that a run with nothing new may take at most."""


@dataclass(frozen=True)
class DeliveryRequest:
    """Webhook delivery of a provider."""

    path: str
    headers: Mapping[str, str]
    body: bytes = b""


class SourceDriver(ABC):
    """A provider before its double, and how the world behind the double is moved. Keys are the test's own."""

    provider: Provider
    fields: Mapping[str, Any] = MappingProxyType({})
    """Fields for creating a connector, beside the provider's name."""
    settings: ClassVar[Mapping[str, Any]] = {}
    """What the service has to be told beside what tests tell it."""
    selection: Mapping[str, Sequence[str]] | None = None
    """Selection that contains everything that is `put`."""
    requires_subscription: ClassVar[bool] = False
    """Somebody has to be asked for events, for each connector."""
    cannot_leave_selection: ClassVar[bool] = False
    """Nothing can leave the selection."""

    @abstractmethod
    def transport(self) -> httpx2.AsyncBaseTransport | None:
        """The way to the double; None: it is reached over the network."""

    def consent(self) -> None:  # noqa: B027 - where nobody has to agree nothing is to be done
        """The user agrees to one more connector."""

    @abstractmethod
    async def put(self, key: str, text: str) -> None:
        """Create or change an item."""

    async def put_all(self, texts: Mapping[str, str]) -> None:
        """Create many items."""
        for key, text in texts.items():
            await self.put(key, text)

    @abstractmethod
    async def remove(self, key: str) -> None:
        """Delete an item."""

    @abstractmethod
    async def move_out(self, key: str) -> None:
        """It is still there, and no longer selected; not called where nothing can move."""

    @abstractmethod
    def title(self, key: str) -> str:
        """The title of its document."""

    @abstractmethod
    def call_count(self) -> int:
        """Requests so far."""

    @abstractmethod
    def revoke_access(self) -> None:
        """Access ends; only the user can give it back."""

    @abstractmethod
    def rate_limit_for(self, seconds: int) -> None:
        """The next request is one too many."""

    def delivery(self, connector: str, *, forged: bool = False) -> DeliveryRequest:
        """An event as the provider signs it now, or as somebody else would; not asked where it sends none."""
        raise NotImplementedError

    def subscription_count(self) -> int:
        """Return the number of subscriptions at the provider."""
        return 0

    @abstractmethod
    async def assert_no_violations(self) -> None:
        """Fail if the double recorded violations of the API's description."""


class ConnectorContract:
    """Inherit, and give a fixture `source`."""

    @pytest.fixture
    async def world(self, tmp_path: Path, source: SourceDriver, anyio_backend: str) -> AsyncIterator[ConnectedService]:
        providers: dict[str, Provider] = {source.provider.name: source.provider}
        source.provider.event_debounce = timedelta(0)
        async with run_connected_service(tmp_path, providers, source.transport(), **source.settings) as opened:
            yield opened
        await source.assert_no_violations()

    async def connect(self, world: ConnectedService, source: SourceDriver) -> str:
        """A connector whose first run has ended, with the selection in place."""
        connector = await world.create(NAMESPACE, source.provider.name, **source.fields)
        run = await world.wait_for_run(connector)
        if source.selection is not None:
            body = {"selection": {kind: list(ids) for kind, ids in source.selection.items()}}
            await world.client.ok("PATCH", f"/ns/{NAMESPACE}/connectors/{connector}", body)
            run = await world.wait_for_run(connector, 2)
        assert (run.status, run.error) == ("completed", None)
        return connector

    @pytest.mark.anyio
    async def test_the_first_run_brings_everything(self, world: ConnectedService, source: SourceDriver) -> None:
        for number in range(3):
            await source.put(f"k{number}", f"The kettle number {number} is blue.")
        connector = await self.connect(world, source)
        documents = await world.documents(NAMESPACE)
        assert set(documents) == {source.title(f"k{number}") for number in range(3)}
        for document in documents.values():
            assert document["metadata"]["provider"] == source.provider.name
            assert document["metadata"]["connector"] == connector
        shown = await world.get(NAMESPACE, connector)
        assert shown["documentCount"] == 3

    @pytest.mark.anyio
    async def test_a_run_with_nothing_new_costs_next_to_nothing(
        self, world: ConnectedService, source: SourceDriver
    ) -> None:
        for number in range(5):
            await source.put(f"k{number}", f"The kettle number {number} is blue.")
        connector = await self.connect(world, source)
        before = source.call_count()
        run = await world.sync(NAMESPACE, connector)
        assert (run.status, run.failed, run.documents) == ("completed", 0, 5)
        assert source.call_count() - before <= MAX_IDLE_CALLS

    @pytest.mark.anyio
    async def test_what_is_new_changed_or_gone_arrives(self, world: ConnectedService, source: SourceDriver) -> None:
        for key in ("stays", "changes", "goes"):
            await source.put(key, f"At first {key} is made of wood.")
        connector = await self.connect(world, source)
        await source.put("changes", "Now it is made of iron.")
        await source.put("arrives", "This one came later.")
        await source.remove("goes")
        run = await world.sync(NAMESPACE, connector)
        assert (run.status, run.documents) == ("completed", 3)
        documents = await world.documents(NAMESPACE)
        assert set(documents) == {source.title(key) for key in ("stays", "changes", "arrives")}
        changed = documents[source.title("changes")]
        read = await world.client.ok("GET", f"/ns/{NAMESPACE}/document/{changed['id']}")
        assert "iron" in read["content"]
        assert "wood" not in read["content"]

    @pytest.mark.anyio
    async def test_what_leaves_the_selection_goes(self, world: ConnectedService, source: SourceDriver) -> None:
        if source.cannot_leave_selection:
            return
        await source.put("stays", "This one stays.")
        await source.put("leaves", "This one leaves.")
        connector = await self.connect(world, source)
        await source.move_out("leaves")
        run = await world.sync(NAMESPACE, connector)
        assert (run.status, run.documents) == ("completed", 1)
        assert set(await world.documents(NAMESPACE)) == {source.title("stays")}

    @pytest.mark.anyio
    async def test_access_that_ended_is_told_and_loses_nothing(
        self, world: ConnectedService, source: SourceDriver
    ) -> None:
        await source.put("one", "The stove is red.")
        connector = await self.connect(world, source)
        source.revoke_access()
        run = await world.sync(NAMESPACE, connector)
        assert (run.status, run.error_code) == ("failed", "auth_expired")
        assert run.error
        assert set(await world.documents(NAMESPACE)) == {source.title("one")}

    @pytest.mark.anyio
    async def test_an_event_starts_a_run_unless_it_is_forged(
        self, world: ConnectedService, source: SourceDriver
    ) -> None:
        connector = await self.connect(world, source)
        await source.put("new", "It was told of.")
        forged = await world.deliver(source.delivery(connector, forged=True))
        assert forged.status_code == 401
        before = len((await world.connectors.account_linking.registry.load_runs(connector)).runs)
        answer = await world.deliver(source.delivery(connector))
        assert answer.status_code < 300
        run = await world.wait_for_run(connector, before + 1)
        assert (run.trigger, run.status, run.documents) == ("event", "completed", 1)

    @pytest.mark.anyio
    async def test_no_secret_is_kept_in_clear_logged_or_answered(
        self, tmp_path: Path, world: ConnectedService, source: SourceDriver, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        await source.put("one", "The stove is red.")
        connector = await self.connect(world, source)
        planted = await _secrets(world, connector)
        answers: list[Any] = [await world.get(NAMESPACE, connector, "syncs,picker")]
        source.revoke_access()
        answers.append((await world.sync(NAMESPACE, connector)).model_dump())
        planted |= await _secrets(world, connector)
        answers += [await world.client.ok("GET", path) for path in ("/connectors", "/admin/connectors")]
        await world.wait_until_idle()
        kept = bytes_on_disk(tmp_path)
        assert b"The stove is red" in kept
        assert planted
        for secret in planted:
            assert secret.encode() not in kept
            assert secret not in caplog.text
            assert secret not in str(answers)

    @pytest.mark.anyio
    async def test_nothing_is_left_of_a_connector_that_is_deleted(
        self, world: ConnectedService, source: SourceDriver
    ) -> None:
        await source.put("one", "The stove is red.")
        connector = await self.connect(world, source)
        assert source.subscription_count() == (1 if source.requires_subscription else 0)
        await world.client.ok("DELETE", f"/ns/{NAMESPACE}/connectors/{connector}")

        async def gone() -> bool:
            return world.live.pipeline.store.catalog.connector(connector) is None

        await wait_until(gone, "the end of a connector")
        assert source.subscription_count() == 0
        assert await world.documents(NAMESPACE) == {}
        assert await world.connectors.scheduler.connection_factory.secret_store.read(connector) == {}

    @pytest.mark.anyio
    async def test_a_short_refusal_is_waited_for(self, world: ConnectedService, source: SourceDriver) -> None:
        await source.put("one", "The stove is red.")
        connector = await self.connect(world, source)
        await source.put("two", "The lamp is green.")
        source.rate_limit_for(0)
        run = await world.sync(NAMESPACE, connector)
        assert (run.status, run.documents) == ("completed", 2)

    @pytest.mark.anyio
    async def test_a_long_refusal_ends_the_run_and_the_next_continues(
        self, world: ConnectedService, source: SourceDriver
    ) -> None:
        await source.put("one", "The stove is red.")
        connector = await self.connect(world, source)
        await source.put("two", "The lamp is green.")
        source.rate_limit_for(3600)
        run = await world.sync(NAMESPACE, connector)
        assert (run.status, run.error_code) == ("failed", "rate_limited")
        run = await world.sync(NAMESPACE, connector)
        assert (run.status, run.documents) == ("completed", 2)

    @pytest.mark.anyio
    async def test_a_run_that_was_cut_off_continues_at_the_next_start(
        self, tmp_path: Path, source: SourceDriver
    ) -> None:
        for number in range(30):
            await source.put(f"k{number}", f"The kettle number {number} is blue.")
        providers: dict[str, Provider] = {source.provider.name: source.provider}
        async with run_connected_service(tmp_path, providers, source.transport(), **source.settings) as first:
            connector = await first.create(NAMESPACE, source.provider.name, **source.fields)
            before = source.call_count()
            if source.selection is not None:
                body = {"selection": {kind: list(ids) for kind, ids in source.selection.items()}}
                await first.client.ok("PATCH", f"/ns/{NAMESPACE}/connectors/{connector}", body)
            await wait_until(lambda: _has_more_calls(source, before), "the first requests of a run")
        async with run_connected_service(tmp_path, providers, source.transport(), **source.settings) as second:
            run = await second.wait_for_run(connector)
            assert (run.status, run.documents) == ("completed", 30)
            assert len(await second.documents(NAMESPACE)) == 30
        await source.assert_no_violations()


async def _secrets(world: ConnectedService, connector: str) -> set[str]:
    """What is sealed of a connector, and the operator's own secret."""
    connecting = world.connectors.scheduler.connection_factory
    kept = await connecting.secret_store.read(connector)
    found = {kept.get(place, {}).get(name) for place, name in _SECRET_FIELDS}
    row = world.connectors.account_linking.registry.catalog.connector(connector)
    oauth = None if row is None else connecting.provider_named(row.provider).oauth
    return {secret for secret in (*found, oauth and oauth.client_secret) if secret}


async def _has_more_calls(source: SourceDriver, before: int) -> bool:
    await asyncio.sleep(0)
    return source.call_count() > before
