"""Construction of a connector's connection from settings, catalog and secrets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from connectors.accounts.credential_vault import SecretStore
from connectors.accounts.oauth import AuthorizationServer, RefreshingTokenSource
from connectors.client.access_token import AccessTokenSource
from connectors.client.http_client import HttpClient, HttpClients
from connectors.errors import MisconfigurationError
from connectors.provider_interface import Connection, Provider
from pipeline.ports import Locks
from schemas.events import ConnectorChanged

OAUTH_CALLBACK_PATH = "/oauth/callback"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionFactory:
    """Factory of connections to the configured providers; `public_url` is this service's own address.

    `namespace_of` returns the name of the namespace to which an incarnation belongs, if it is known.
    """

    providers: Mapping[str, Provider]
    secret_store: SecretStore
    clients: HttpClients
    locks: Locks
    public_url: str
    namespace_of: Callable[[str], str | None]

    def provider_named(self, name: str) -> Provider:
        """Return the provider; MisconfigurationError if the operator has not set it up."""
        found = self.providers.get(name)
        if found is None:
            raise MisconfigurationError(f"This service has no access to {name}. Its operator has to set it up.")
        return found

    def authorization_server(self, name: str) -> AuthorizationServer:
        """Return the authorization server that issues a provider's tokens."""
        oauth = self.provider_named(name).oauth
        if oauth is None:
            raise MisconfigurationError(f"{name} needs no authorization.")
        return AuthorizationServer(name, oauth, self.public_url + OAUTH_CALLBACK_PATH, self.clients.transport)

    async def connect(self, row: ConnectorChanged, config_secrets: Mapping[str, str] | None = None) -> Connection:
        """Open the connection of one connector; `config_secrets` are tried in place of the stored ones."""
        provider = self.provider_named(row.provider)
        access: AccessTokenSource | None = None
        if provider.oauth is not None:
            access = RefreshingTokenSource(
                row.id, self.authorization_server(row.provider), self.secret_store, self.locks
            )
        elif provider.has_service_access:
            namespace = self.namespace_of(row.incarnation)
            access = provider.service_token_source(self._http_client(provider, None), namespace)
        http = self._http_client(provider, access)
        return Connection(
            connector_id=row.id,
            http=http,
            config=row.config or {},
            secrets=(await self.secret_store.read(row.id)).get("config", {})
            if config_secrets is None
            else config_secrets,
            selection=row.selection,
            account=row.account,
        )

    def _http_client(self, provider: Provider, access: AccessTokenSource | None) -> HttpClient:
        return HttpClient(
            self.clients,
            api_origins=provider.api_origins,
            classify_error=provider.classify_error,
            token_source=access,
            rate_limit=provider.rate_limit,
        )
