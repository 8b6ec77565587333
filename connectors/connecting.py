"""Everything a provider needs to work for one connector, put together from settings and secrets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from connectors.errors import OperatorMistakeError
from connectors.http import Clients, Http
from connectors.oauth import Authority, Tokens
from connectors.ports import Access, Account, Choice, Connection, Kind, Provider
from connectors.vault import Secrets
from pipeline.ports import Locks
from schemas.events import ConnectorChanged

CALLBACK = "/oauth/callback"


@dataclass(frozen=True, slots=True, kw_only=True)
class Connecting:
    """The providers of this deployment and how they are reached. `address`: this service's, from outside."""

    providers: Mapping[str, Provider]
    secrets: Secrets
    clients: Clients
    locks: Locks
    address: str

    def provider(self, name: str) -> Provider:
        """OperatorMistakeError where the operator has not set this provider up, or not any more."""
        found = self.providers.get(name)
        if found is None:
            raise OperatorMistakeError(
                f"This service has no access to {name}. Its operator has to set it up."
            )
        return found

    def authority(self, name: str) -> Authority:
        """Who gives tokens for a provider."""
        oauth = self.provider(name).oauth
        if oauth is None:
            raise OperatorMistakeError(f"{name} needs no authorization.")
        return Authority(name, oauth, self.address + CALLBACK, self.clients.transport)

    async def connection(self, row: ConnectorChanged) -> Connection:
        """One connector, ready to be used."""
        provider = self.provider(row.provider)
        access: Access | None = None
        if provider.oauth is not None:
            access = Tokens(row.id, self.authority(row.provider), self.secrets, self.locks)
        http = Http(
            self.clients, origins=provider.origins, judge=provider.judge, access=access, pace=provider.pace
        )
        return Connection(
            connector=row.id,
            http=http,
            access=access,
            config=row.config or {},
            secrets=(await self.secrets.read(row.id)).get("config", {}),
            selection=selection_of(row),
            account=Account(row.account.name, row.account.key) if row.account else None,
        )


def selection_of(row: ConnectorChanged) -> Mapping[Kind, tuple[Choice, ...]] | None:
    """What was selected, as providers see it."""
    if row.selection is None:
        return None
    chosen = {kind: tuple(Choice(one.id, one.name) for one in some) for kind, some in row.selection.items()}
    return cast("Mapping[Kind, tuple[Choice, ...]]", chosen)  # the interface accepts no other kinds
