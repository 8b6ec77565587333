"""A provider beside its double: runs one after another, and what they leave behind."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from connectors.client.access_token import AccessTokenSource
from connectors.errors import AuthExpiredError
from connectors.provider_interface import Connection, Provider, SelectionKind
from connectors.sync_messages import SourceItem, SyncMessage
from tests.support.connectors.in_memory_sync import (
    InMemorySync,
    SimulatedKill,
    VirtualSleep,
    connect,
    http_clients,
)
from tests.support.providers.provider_double import ProviderDouble


class FixedTokenSource:
    """`ports.Access` to one token; renewed only where somebody says how."""

    def __init__(self, token: str, renewal: Callable[[str], str] | None = None) -> None:
        self.current = token
        self._renewal = renewal

    async def token(self) -> str:
        return self.current

    async def refresh(self, rejected_token: str) -> str:
        if self._renewal is None:
            raise AuthExpiredError("The token was refused. Connect again.")
        self.current = self._renewal(rejected_token)
        return self.current


@dataclass
class ProviderHarness:
    """No pause is really slept: `patience` remembers it."""

    provider: Provider
    double: ProviderDouble
    access: AccessTokenSource | None = None
    secrets: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, str | float | bool] = field(default_factory=dict)
    selection: Mapping[SelectionKind, Sequence[str]] | None = None
    in_memory_sync: InMemorySync = field(default_factory=InMemorySync)
    virtual_sleep: VirtualSleep = field(default_factory=VirtualSleep)
    triggered_by_event: bool = False

    @property
    def items(self) -> dict[str, SourceItem]:
        """The documents by id."""
        return self.in_memory_sync.items

    def connection(self) -> Connection:
        """Open a connection as for one run."""
        connected = connect(
            self.provider,
            http_clients(self.double, self.double),
            config=self.config,
            virtual_sleep=self.virtual_sleep,
            selection=self.selection,
        )
        connected.http._token_source = self.access
        return replace(connected, secrets=self.secrets, triggered_by_event=self.triggered_by_event)

    async def run(self, *, complete: bool = False) -> list[SyncMessage]:
        """One run from the saved cursor, or a complete one."""
        if complete:
            self.in_memory_sync.cursor, self.in_memory_sync.full_sync = None, True
        return await self.in_memory_sync.run(self.provider, self.connection())

    async def run_until_killed(self, messages: int) -> list[SyncMessage]:
        """A run that ends after so many steps, without a word."""
        self.in_memory_sync.kill_after_messages = messages
        try:
            await self.run()
        except SimulatedKill:
            return self.in_memory_sync.messages
        raise AssertionError(f"the run had no more than {messages} steps")

    def text(self, id_: str) -> str:
        """The Markdown of a document."""
        return self.in_memory_sync.text(id_)
