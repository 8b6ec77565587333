"""A webhook subscription is renewed past half of its lifetime, and whenever the selection changes."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bench.doubles.sample_source import SampleProvider, SampleSource
from connectors.accounts.webhook_subscriptions import ensure_subscribed
from connectors.provider_interface import Connection, WebhookSubscription
from tests.support.connectors.connected_service import ConnectedService, run_connected_service

WEEK = timedelta(days=7)


class ExpiringProvider(SampleProvider):
    """The shelf, with subscriptions of a week."""

    now = datetime(2026, 3, 1, tzinfo=UTC)
    current: list[str | None]

    async def subscribe(
        self, connection: Connection, callback_url: str, secret: str, current: WebhookSubscription | None
    ) -> WebhookSubscription:
        self.current.append(None if current is None else current.id)
        return WebhookSubscription(f"hook-{len(self.current)}", secret, self.now + WEEK)


@pytest.fixture
def provider() -> ExpiringProvider:
    made = ExpiringProvider()
    made.current = []
    return made


@pytest.fixture
async def world(
    tmp_path: Path, shelf: SampleSource, provider: ExpiringProvider, anyio_backend: str
) -> AsyncIterator[ConnectedService]:
    async with run_connected_service(tmp_path, {"github": provider}, shelf.transport()) as opened:
        yield opened


@pytest.mark.anyio
async def test_a_subscription_is_renewed_past_half_of_its_lifetime_or_for_another_selection(
    world: ConnectedService, provider: ExpiringProvider
) -> None:
    connector = await world.create("alice", "github")
    await world.wait_for_run(connector)
    factory = world.connectors.scheduler.connection_factory
    row = world.live.pipeline.store.catalog.connector(connector)
    assert row is not None
    await factory.secret_store.set_value(connector, "subscription", None)
    provider.current.clear()
    connection = await factory.connect(row)

    async def ensure(at: datetime, revision: int = row.selection_revision) -> None:
        provider.now = at
        await ensure_subscribed(factory, row.model_copy(update={"selection_revision": revision}), connection, at)

    begin = provider.now
    await ensure(begin)
    await ensure(begin + WEEK / 2 - timedelta(seconds=1))
    assert provider.current == [None]
    await ensure(begin + WEEK / 2)
    assert provider.current == [None, "hook-1"]
    await ensure(begin + WEEK / 2, row.selection_revision + 1)
    assert provider.current == [None, "hook-1", "hook-2"]
