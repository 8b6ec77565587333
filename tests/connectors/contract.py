"""What every provider does once it is connected: one suite, through the interface, over its double.

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

from connectors.ports import Provider
from tests.connectors.world import Connected, connected, written
from tests.service.world import until

NAMESPACE = "mirror"
_SECRET = (
    ("tokens", "access_token"),
    ("tokens", "refresh_token"),
    ("config", "apiKey"),
    ("config", "secretAccessKey"),
    ("subscription", "secret"),
)
QUIET = 5
"""Calls that a run with nothing new may take at most."""


@dataclass(frozen=True)
class Sent:
    """What a provider sends when something changed."""

    path: str
    headers: Mapping[str, str]
    body: bytes = b""


class Source(ABC):
    """A provider before its double, and how the world behind the double is moved. Keys are the test's own."""

    provider: Provider
    fields: Mapping[str, Any] = MappingProxyType({})
    """What creating a connector takes beside the provider's name."""
    settings: ClassVar[Mapping[str, Any]] = {}
    """What the service has to be told beside what tests tell it."""
    selection: Mapping[str, Sequence[str]] | None = None
    """What is to be selected so that everything that is `put` is in it."""
    subscribes: ClassVar[bool] = False
    """Somebody has to be asked for events, for each connector."""
    unmovable: ClassVar[bool] = False
    """Nothing can leave the selection."""

    @abstractmethod
    def transport(self) -> httpx2.AsyncBaseTransport | None:
        """The way to the double; None: it is reached over the network."""

    def consent(self) -> None:  # noqa: B027 - where nobody has to agree nothing is to be done
        """The user agrees to one more connector."""

    @abstractmethod
    async def put(self, key: str, text: str) -> None:
        """Something new, or its change."""

    async def put_all(self, texts: Mapping[str, str]) -> None:
        """Many at once."""
        for key, text in texts.items():
            await self.put(key, text)

    @abstractmethod
    async def remove(self, key: str) -> None:
        """It is gone for good."""

    @abstractmethod
    async def move_out(self, key: str) -> None:
        """It is still there, and no longer selected; not called where nothing can move."""

    @abstractmethod
    def title(self, key: str) -> str:
        """The title of its document."""

    @abstractmethod
    def calls(self) -> int:
        """Requests so far."""

    @abstractmethod
    def withdraw(self) -> None:
        """Access ends; only the user can give it back."""

    @abstractmethod
    def refuse_for(self, seconds: int) -> None:
        """The next request is one too many."""

    def sends(self, connector: str, *, forged: bool = False) -> Sent:
        """An event as the provider signs it now, or as somebody else would; not asked where it sends none."""
        raise NotImplementedError

    def subscriptions(self) -> int:
        """How many are at the provider, to call us back."""
        return 0

    @abstractmethod
    async def settle(self) -> None:
        """At the end: what the double has to complain about."""


class ConnectorContract:
    """Inherit, and give a fixture `source`."""

    @pytest.fixture
    async def world(self, tmp_path: Path, source: Source, anyio_backend: str) -> AsyncIterator[Connected]:
        providers: dict[str, Provider] = {source.provider.name: source.provider}
        source.provider.debounce = timedelta(0)
        async with connected(tmp_path, providers, source.transport(), **source.settings) as opened:
            yield opened
        await source.settle()

    async def connect(self, world: Connected, source: Source) -> str:
        """A connector whose first run has ended, with the selection in place."""
        connector = await world.create(NAMESPACE, source.provider.name, **source.fields)
        run = await world.ended(connector)
        if source.selection is not None:
            body = {"selection": {kind: list(ids) for kind, ids in source.selection.items()}}
            await world.client.ok("PATCH", f"/ns/{NAMESPACE}/connectors/{connector}", body)
            run = await world.ended(connector, 2)
        assert (run.status, run.error) == ("completed", None)
        return connector

    @pytest.mark.anyio
    async def test_the_first_run_brings_everything(self, world: Connected, source: Source) -> None:
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
        self, world: Connected, source: Source
    ) -> None:
        for number in range(5):
            await source.put(f"k{number}", f"The kettle number {number} is blue.")
        connector = await self.connect(world, source)
        before = source.calls()
        run = await world.sync(NAMESPACE, connector)
        assert (run.status, run.failed, run.documents) == ("completed", 0, 5)
        assert source.calls() - before <= QUIET

    @pytest.mark.anyio
    async def test_what_is_new_changed_or_gone_arrives(self, world: Connected, source: Source) -> None:
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
    async def test_what_leaves_the_selection_goes(self, world: Connected, source: Source) -> None:
        if source.unmovable:
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
        self, world: Connected, source: Source
    ) -> None:
        await source.put("one", "The stove is red.")
        connector = await self.connect(world, source)
        source.withdraw()
        run = await world.sync(NAMESPACE, connector)
        assert (run.status, run.error_code) == ("failed", "auth_expired")
        assert run.error
        assert set(await world.documents(NAMESPACE)) == {source.title("one")}

    @pytest.mark.anyio
    async def test_an_event_starts_a_run_unless_it_is_forged(self, world: Connected, source: Source) -> None:
        connector = await self.connect(world, source)
        await source.put("new", "It was told of.")
        forged = await world.told(source.sends(connector, forged=True))
        assert forged.status_code == 401
        before = len((await world.connectors.offers.connections.runs(connector)).runs)
        answer = await world.told(source.sends(connector))
        assert answer.status_code < 300
        run = await world.ended(connector, before + 1)
        assert (run.trigger, run.status, run.documents) == ("event", "completed", 1)

    @pytest.mark.anyio
    async def test_no_secret_is_kept_in_clear_logged_or_answered(
        self, tmp_path: Path, world: Connected, source: Source, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        await source.put("one", "The stove is red.")
        connector = await self.connect(world, source)
        planted = await _secrets(world, connector)
        answers: list[Any] = [await world.get(NAMESPACE, connector, "syncs,picker")]
        source.withdraw()
        answers.append((await world.sync(NAMESPACE, connector)).model_dump())
        planted |= await _secrets(world, connector)
        answers += [await world.client.ok("GET", path) for path in ("/connectors", "/admin/connectors")]
        await world.settled()
        kept = written(tmp_path)
        assert b"The stove is red" in kept
        assert planted
        for secret in planted:
            assert secret.encode() not in kept
            assert secret not in caplog.text
            assert secret not in str(answers)

    @pytest.mark.anyio
    async def test_nothing_is_left_of_a_connector_that_is_deleted(
        self, world: Connected, source: Source
    ) -> None:
        await source.put("one", "The stove is red.")
        connector = await self.connect(world, source)
        assert source.subscriptions() == (1 if source.subscribes else 0)
        await world.client.ok("DELETE", f"/ns/{NAMESPACE}/connectors/{connector}")

        async def gone() -> bool:
            return world.live.pipeline.store.catalog.connector(connector) is None

        await until(gone, "the end of a connector")
        assert source.subscriptions() == 0
        assert await world.documents(NAMESPACE) == {}
        assert await world.connectors.engine.connecting.secrets.read(connector) == {}

    @pytest.mark.anyio
    async def test_a_short_refusal_is_waited_for(self, world: Connected, source: Source) -> None:
        await source.put("one", "The stove is red.")
        connector = await self.connect(world, source)
        await source.put("two", "The lamp is green.")
        source.refuse_for(0)
        run = await world.sync(NAMESPACE, connector)
        assert (run.status, run.documents) == ("completed", 2)

    @pytest.mark.anyio
    async def test_a_long_refusal_ends_the_run_and_the_next_continues(
        self, world: Connected, source: Source
    ) -> None:
        await source.put("one", "The stove is red.")
        connector = await self.connect(world, source)
        await source.put("two", "The lamp is green.")
        source.refuse_for(3600)
        run = await world.sync(NAMESPACE, connector)
        assert (run.status, run.error_code) == ("failed", "rate_limited")
        run = await world.sync(NAMESPACE, connector)
        assert (run.status, run.documents) == ("completed", 2)

    @pytest.mark.anyio
    async def test_a_run_that_was_cut_off_continues_at_the_next_start(
        self, tmp_path: Path, source: Source
    ) -> None:
        for number in range(30):
            await source.put(f"k{number}", f"The kettle number {number} is blue.")
        providers: dict[str, Provider] = {source.provider.name: source.provider}
        async with connected(tmp_path, providers, source.transport(), **source.settings) as first:
            connector = await first.create(NAMESPACE, source.provider.name, **source.fields)
            before = source.calls()
            if source.selection is not None:
                body = {"selection": {kind: list(ids) for kind, ids in source.selection.items()}}
                await first.client.ok("PATCH", f"/ns/{NAMESPACE}/connectors/{connector}", body)
            await until(lambda: _more(source, before), "the first requests of a run")
        async with connected(tmp_path, providers, source.transport(), **source.settings) as second:
            run = await second.ended(connector)
            assert (run.status, run.documents) == ("completed", 30)
            assert len(await second.documents(NAMESPACE)) == 30
        await source.settle()


async def _secrets(world: Connected, connector: str) -> set[str]:
    """What is sealed of a connector, and the operator's own secret."""
    connecting = world.connectors.engine.connecting
    kept = await connecting.secrets.read(connector)
    found = {kept.get(place, {}).get(name) for place, name in _SECRET}
    row = world.connectors.offers.connections.catalog.connector(connector)
    oauth = None if row is None else connecting.provider(row.provider).oauth
    return {one for one in (*found, oauth and oauth.client_secret) if one}


async def _more(source: Source, before: int) -> bool:
    await asyncio.sleep(0)
    return source.calls() > before
