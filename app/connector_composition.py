"""Composition of the connectors from settings: their scheduler, their routes, and the port that the API calls."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property, partial

import httpx2
from starlette.routing import BaseRoute

from app.pipeline_supervisor import PipelineSupervisor
from connectors.accounts.account_linking import AccountLinking
from connectors.accounts.connection_factory import ConnectionFactory
from connectors.accounts.credential_vault import CredentialCipher, SecretStore, load_or_create_key
from connectors.client.http_client import HttpClients
from connectors.edge.edge_routes import edge_routes
from connectors.edge.webhooks import WebhookReceiver
from connectors.provider_interface import Provider
from connectors.sync.sync_runner import DocumentQuota
from connectors.sync.sync_scheduler import SyncScheduler
from pipeline.bus.port import Bus
from pipeline.connector_registry import ConnectorRegistry, ConnectorTables
from pipeline.ports import Clock
from pipeline.runtime.outage_retry import run_through_outages
from pipeline.settings import Settings
from pipeline.store.tables.connector_state_table import CONNECTORS_FOLDER, ConnectorStateStore

KEY_FILE = "secret.key"
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ConnectorRuntime:
    scheduler: SyncScheduler
    account_linking: AccountLinking
    routes: Sequence[BaseRoute]
    bus: Bus

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(run_through_outages("Scheduling syncs", self.scheduler.run))
            tasks.create_task(
                run_through_outages("Running requested syncs", partial(self.bus.run, [self.scheduler.stage()]))
            )


class LazyProviders(Mapping[str, Provider]):
    """Providers of this deployment, imported at first access: their parsers take 20 MB."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock

    def __getitem__(self, name: str) -> Provider:
        return self._providers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._providers)

    def __len__(self) -> int:
        return len(self._providers)

    @cached_property
    def _providers(self) -> dict[str, Provider]:
        from connectors.providers.provider_registry import open_providers  # noqa: PLC0415 - see above

        return open_providers(self._settings, self._clock)


@asynccontextmanager
async def open_connectors(
    supervisor: PipelineSupervisor,
    public_url: str,
    quota: DocumentQuota,
    *,
    providers: Mapping[str, Provider] | None = None,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> AsyncIterator[ConnectorRuntime]:
    """Open the connectors without running them. VaultKeyError carries a message for the operator.

    `providers` and `transport` (for the providers' origins) stand in for the real ones in tests.
    """
    resources = supervisor.resources
    settings, locks = resources.settings, resources.locks
    uri = _state_uri(settings)
    states = await ConnectorStateStore.open(uri, settings.storage_options(uri))
    registry = ConnectorRegistry(lambda: _tables(supervisor), locks, resources.clock, resources.settings_lock)
    clients = HttpClients.open(allow_private=settings.fetch_private_addresses, transport=transport)
    connection_factory = ConnectionFactory(
        providers=LazyProviders(settings, resources.clock) if providers is None else providers,
        secret_store=SecretStore(states, await asyncio.to_thread(open_vault, settings), locks),
        clients=clients,
        locks=locks,
        public_url=public_url.rstrip("/"),
        namespace_of=lambda incarnation: _namespace_of(supervisor, incarnation),
    )
    scheduler = SyncScheduler(
        registry=registry,
        connection_factory=connection_factory,
        states=states,
        blobs=resources.blobs,
        quota=quota,
        sync_interval=timedelta(hours=settings.connectors_sync_interval_hours),
    )
    try:
        webhooks = WebhookReceiver(registry, connection_factory)
        routes = edge_routes(registry, connection_factory, webhooks)
        account_linking = AccountLinking(registry, connection_factory)
        yield ConnectorRuntime(scheduler, account_linking, routes, resources.bus)
    finally:
        await clients.aclose()


def _namespace_of(supervisor: PipelineSupervisor, incarnation: str) -> str | None:
    owner = supervisor.pipeline.store.catalog.namespace_of(incarnation)
    return None if owner is None else owner.name


def _tables(supervisor: PipelineSupervisor) -> ConnectorTables:
    pipeline = supervisor.pipeline
    return ConnectorTables(pipeline.store.catalog, pipeline.store.syncs, pipeline.store.documents, pipeline.publisher)


def _state_uri(settings: Settings) -> str:
    if settings.lance_uri is not None:
        return f"{settings.lance_uri.rstrip('/')}/{CONNECTORS_FOLDER}"
    return str(settings.data_dir.resolve() / CONNECTORS_FOLDER)


def open_vault(settings: Settings) -> CredentialCipher:
    """Open the cipher of secrets. VaultKeyError carries a message for the operator."""
    return CredentialCipher(encryption_keys(settings))


def encryption_keys(settings: Settings) -> str | None:
    """Return the keys of RECOLLECT_SECRET_KEY, or those of the data directory; None for processes that share none."""
    if settings.secret_key is not None:
        return settings.secret_key.get_secret_value()
    if settings.kafka_bootstrap is not None:
        return None
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    return load_or_create_key(settings.data_dir / KEY_FILE)
