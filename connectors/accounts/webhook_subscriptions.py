"""Webhook subscriptions at providers: created or renewed when a run begins, removed with the connector."""

from collections.abc import Mapping
from datetime import datetime
from secrets import token_urlsafe
from typing import Any

from pydantic import TypeAdapter

from connectors.accounts.connection_factory import ConnectionFactory
from connectors.provider_interface import Connection, WebhookSubscription
from schemas.events import ConnectorChanged

WEBHOOKS_PATH = "/webhooks"
_SUBSCRIPTION_ADAPTER = TypeAdapter(WebhookSubscription)


async def ensure_subscribed(
    connection_factory: ConnectionFactory, row: ConnectorChanged, connection: Connection, now: datetime
) -> None:
    """Subscribe, or renew a subscription that is past half of its lifetime or has another selection."""
    provider = connection_factory.provider_named(row.provider)
    if not provider.supports_webhooks or not connection_factory.public_url.startswith("https://"):
        return  # providers can't reach this service
    kept = (await connection_factory.secret_store.read(row.id)).get("subscription")
    if kept is not None and kept["revision"] == row.selection_revision and not _is_half_expired(kept, now):
        return
    current = None if kept is None else load_subscription(kept)
    address = f"{connection_factory.public_url}{WEBHOOKS_PATH}/{row.provider}/{row.id}"
    secret = current.secret if current is not None else token_urlsafe(32)
    fresh = await provider.subscribe(connection, address, secret, current)
    if fresh is not None:
        await connection_factory.secret_store.set_value(
            row.id, "subscription", _to_stored(fresh, row.selection_revision, now)
        )


async def unsubscribe(connection_factory: ConnectionFactory, row: ConnectorChanged, connection: Connection) -> None:
    kept = (await connection_factory.secret_store.read(row.id)).get("subscription")
    if kept is not None:
        await connection_factory.provider_named(row.provider).unsubscribe(connection, load_subscription(kept))
        await connection_factory.secret_store.set_value(row.id, "subscription", None)


def load_subscription(stored: Mapping[str, Any]) -> WebhookSubscription:
    """Parse a subscription as stored among a connector's secrets."""
    return _SUBSCRIPTION_ADAPTER.validate_python(stored)


def _to_stored(subscription: WebhookSubscription, revision: int, now: datetime) -> dict[str, Any]:
    kept: dict[str, Any] = _SUBSCRIPTION_ADAPTER.dump_python(subscription, mode="json")
    return {**kept, "revision": revision, "since": now.isoformat()}


def _is_half_expired(stored: Mapping[str, Any], now: datetime) -> bool:
    if stored["expires_at"] is None:
        return False
    since, until = datetime.fromisoformat(stored["since"]), datetime.fromisoformat(stored["expires_at"])
    return now >= since + (until - since) / 2
