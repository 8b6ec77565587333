"""Operations on accounts behind the API: capabilities, authorization and picker links, key rotation."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any, Final
from urllib.parse import urlencode

from connectors.accounts.connection_check import config_fault, connection_fault, credential_fault
from connectors.accounts.connection_factory import ConnectionFactory
from pipeline.connector_registry import ConnectorCapabilities, ConnectorRegistry
from schemas.events import ConnectorChanged
from schemas.http.v5.connector_bodies import ADDRESS_FIELDS

PICKER_LINK_LIFETIME: Final = timedelta(hours=1)
PICKER_PATH: Final = "/picker"


@dataclass(frozen=True, slots=True)
class AccountLinking:
    """`api.dependencies.service_interfaces.ConnectorService`: accounts, links and keys of connectors."""

    registry: ConnectorRegistry
    connection_factory: ConnectionFactory

    def capabilities(self, provider: str) -> ConnectorCapabilities | None:
        found = self.connection_factory.providers.get(provider)
        if found is None or not self.connection_factory.secret_store.has_key:
            return None
        webhooks = found.supports_webhooks and self.connection_factory.public_url.startswith("https://")
        return ConnectorCapabilities(found.selection_kinds, webhooks, found.oauth is not None)

    async def verification_tokens(self) -> Mapping[str, str]:
        """List the verification tokens that providers sent for the operator."""
        return await self.connection_factory.secret_store.verification_tokens()

    async def rotate_credentials(self) -> tuple[int, list[str]]:
        """Re-encrypt all secrets with the newest key; see `SecretStore.rotate_keys`."""
        return await self.connection_factory.secret_store.rotate_keys(
            [row.id for row in self.registry.catalog.connectors()]
        )

    async def store_config_secrets(self, connector: str, config: Mapping[str, str]) -> None:
        await self.connection_factory.secret_store.set_value(connector, "config", dict(config))

    async def find_fault(self, row: ConnectorChanged, config_secrets: Mapping[str, str] | None = None) -> str | None:
        """Return why a connector can't work and what to do, None if nothing speaks against it.

        A connector that awaits authorization has no connection to ask with; `config_secrets` are tried in place
        of the stored ones.
        """
        credentials = {name: value for name, value in (config_secrets or {}).items() if name not in ADDRESS_FIELDS}
        fault = config_fault(row.provider, row.config or {}) or credential_fault(credentials)
        if fault is not None or row.status == "pending":
            return fault
        provider = self.connection_factory.provider_named(row.provider)
        is_public = provider.oauth is None and not provider.has_service_access
        if is_public and not credentials:
            stored = (await self.connection_factory.secret_store.read(row.id)).get("config", {})
            if not stored.keys() - ADDRESS_FIELDS:
                return None  # its runs tell
        return await connection_fault(provider, await self.connection_factory.connect(row, config_secrets))

    async def create_authorization_link(self, row: ConnectorChanged, redirect_url: str | None) -> str:
        secret = {"state": token_urlsafe(32), "verifier": token_urlsafe(48), "redirect_url": redirect_url}
        await self.connection_factory.secret_store.set_value(row.id, "authorization", secret)
        return self._authorization_link(row, secret)

    async def pending_authorization_link(self, row: ConnectorChanged) -> str | None:
        """Return the unused authorization link; None if it was used or the provider was removed."""
        secret = (await self.connection_factory.secret_store.read(row.id)).get("authorization")
        if secret is None or row.provider not in self.connection_factory.providers:
            return None
        return self._authorization_link(row, secret)

    async def create_picker_link(self, row: ConnectorChanged, return_url: str | None) -> tuple[str, datetime]:
        """Create a picker link that works once; return it with its expiry."""
        expires_at = self.registry.now() + PICKER_LINK_LIFETIME
        token = token_urlsafe(32)
        kept = {"token": token_digest(token), "until": expires_at.isoformat(), "return_url": return_url}
        await self.connection_factory.secret_store.set_value(row.id, "picker", kept)
        return (f"{self.connection_factory.public_url}{PICKER_PATH}/{row.id}?{urlencode({'token': token})}", expires_at)

    def _authorization_link(self, row: ConnectorChanged, secret: Mapping[str, Any]) -> str:
        authority = self.connection_factory.authorization_server(row.provider)
        return authority.authorization_url(f"{row.id}.{secret['state']}", secret["verifier"])


def token_digest(token: str) -> str:
    """SHA-256 digest under which the token of a link is stored."""
    return sha256(token.encode()).hexdigest()
