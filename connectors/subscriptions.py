"""Being called back by providers: made after a run, prolonged before it ends, taken back at the end."""

from collections.abc import Mapping
from datetime import datetime
from secrets import token_urlsafe
from typing import Any

from connectors.connecting import Connecting
from connectors.ports import Connection, Subscription
from schemas.events import ConnectorChanged

WEBHOOKS = "/webhooks"


async def ensure(
    connecting: Connecting, row: ConnectorChanged, connection: Connection, now: datetime
) -> None:
    """Subscribe, or prolong what has less than half of its time left or was made for another selection."""
    provider = connecting.provider(row.provider)
    if not provider.webhooks or not connecting.address.startswith("https://"):
        return  # nobody can call us
    kept = (await connecting.secrets.read(row.id)).get("subscription")
    if kept is not None and kept["revision"] == row.revision and not _is_half_over(kept, now):
        return
    current = None if kept is None else subscription_of(kept)
    address = f"{connecting.address}{WEBHOOKS}/{row.provider}/{row.id}"
    secret = current.secret if current is not None else token_urlsafe(32)
    fresh = await provider.subscribe(connection, address, secret, current)
    if fresh is not None:
        await connecting.secrets.put(row.id, "subscription", _kept(fresh, row.revision, now))


async def end(connecting: Connecting, row: ConnectorChanged, connection: Connection) -> None:
    """Be called no more."""
    kept = (await connecting.secrets.read(row.id)).get("subscription")
    if kept is not None:
        await connecting.provider(row.provider).unsubscribe(connection, subscription_of(kept))
        await connecting.secrets.put(row.id, "subscription", None)


def subscription_of(kept: Mapping[str, Any]) -> Subscription:
    """As it is kept among a connector's secrets."""
    until = kept["expires_at"]
    return Subscription(
        id=kept["id"],
        secret=kept["secret"],
        expires_at=None if until is None else datetime.fromisoformat(until),
        data=kept["data"],
    )


def _kept(subscription: Subscription, revision: int, now: datetime) -> dict[str, Any]:
    until = subscription.expires_at
    return {
        "id": subscription.id,
        "secret": subscription.secret,
        "expires_at": None if until is None else until.isoformat(),
        "data": dict(subscription.data),
        "revision": revision,
        "since": now.isoformat(),
    }


def _is_half_over(kept: Mapping[str, Any], now: datetime) -> bool:
    if kept["expires_at"] is None:
        return False
    since, until = datetime.fromisoformat(kept["since"]), datetime.fromisoformat(kept["expires_at"])
    return now >= since + (until - since) / 2
