"""Connectors put together from settings: what the process runs, and what others see of it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property

import httpx2
from starlette.routing import BaseRoute

from connectors.allowance import Allowance
from connectors.connecting import Connecting
from connectors.edge.routes import edge_routes
from connectors.edge.webhooks import Webhooks
from connectors.engine import Engine
from connectors.http import Clients
from connectors.offers import Offers
from connectors.ports import Provider
from connectors.vault import NoVault, Secrets, Vault, kept_key
from pipeline.bus.port import Bus
from pipeline.connections import Connections, Tables
from pipeline.live import Live
from pipeline.ports import Clock
from pipeline.settings import Settings
from pipeline.store.connector_state import FOLDER, ConnectorStates

KEY_FILE = "secret.key"
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Connectors:
    """The part of a process that keeps namespaces in step with their sources."""

    engine: Engine
    offers: Offers
    routes: Sequence[BaseRoute]
    bus: Bus

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.engine.run())
            tasks.create_task(self.bus.run([self.engine.stage()]))


class Providers(Mapping[str, Provider]):
    """Those of this deployment, opened when one is first asked for: what they need to parse takes 20 MB."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock

    def __getitem__(self, name: str) -> Provider:
        return self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    @cached_property
    def _all(self) -> dict[str, Provider]:
        from connectors.registry import open_providers  # noqa: PLC0415 - see above

        return open_providers(self._settings, self._clock)


@asynccontextmanager
async def open_connectors(
    live: Live,
    address: str,
    allowance: Allowance,
    *,
    providers: Mapping[str, Provider] | None = None,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> AsyncIterator[Connectors]:
    """Everything opened, nothing running yet. VaultKeyError is for the operator.

    `providers` and `transport` (for the providers' origins) stand in for the real ones in tests.
    """
    foundation = live.foundation
    settings, locks = foundation.settings, foundation.locks
    uri = _state_uri(settings)
    states = await ConnectorStates.open(uri, settings.storage(uri))
    connections = Connections(lambda: _tables(live), locks, foundation.clock, live.pipeline.changes)
    clients = Clients.open(allow_private=settings.fetch_private_addresses, transport=transport)
    connecting = Connecting(
        providers=Providers(settings, foundation.clock) if providers is None else providers,
        secrets=Secrets(states, await asyncio.to_thread(_vault, settings), locks),
        clients=clients,
        locks=locks,
        address=address.rstrip("/"),
    )
    engine = Engine(
        connections=connections,
        connecting=connecting,
        states=states,
        blobs=foundation.blobs,
        allowance=allowance,
        every=timedelta(hours=settings.connectors_every_hours),
    )
    try:
        webhooks = Webhooks(connections, connecting)
        routes = edge_routes(connections, connecting, webhooks)
        offers = Offers(connections, connecting)
        yield Connectors(engine, offers, routes, foundation.bus)
    finally:
        await clients.aclose()


def _tables(live: Live) -> Tables:
    pipeline = live.pipeline
    return Tables(pipeline.store.catalog, pipeline.store.syncs, pipeline.store.documents, pipeline.publisher)


def _state_uri(settings: Settings) -> str:
    if settings.lance_uri is not None:
        return f"{settings.lance_uri.rstrip('/')}/{FOLDER}"
    return str(settings.data_dir.resolve() / FOLDER)


def _vault(settings: Settings) -> Vault | NoVault:
    if settings.secret_key is not None:
        return Vault(settings.secret_key.get_secret_value())
    if settings.kafka_bootstrap is not None:
        return NoVault()
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    return Vault(kept_key(settings.data_dir / KEY_FILE))
