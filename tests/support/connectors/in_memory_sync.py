"""Sync runner in memory: applies a provider's messages to dictionaries."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
from pydantic import JsonValue

from connectors.client.http_client import USER_AGENT, HttpClient, HttpClients
from connectors.client.request_throttle import RateLimit
from connectors.errors import CursorExpiredError
from connectors.provider_interface import Connection, Provider, SelectionKind
from connectors.sync_messages import (
    Checkpoint,
    FailedItem,
    ProviderState,
    RemovedItem,
    SourceItem,
    SyncMessage,
    UnlistablePrefix,
)
from schemas.events import SelectedItem
from tests.support.providers.authorization_server import AuthorizationServerDouble, GrantTokenSource

UNLIMITED_RATE = RateLimit(requests_per_second=1e6, max_concurrent=8, burst=1000)


class SimulatedKill(Exception):  # noqa: N818 - what happened, not an error of ours
    """The process went away in mid-run."""


@dataclass
class InMemorySync:
    """`SyncState` and the documents that syncs lead to; `kill_after_messages` ends a run early."""

    document_limit: int = 10_000
    items: dict[str, SourceItem] = field(default_factory=dict)
    failures: dict[str, FailedItem] = field(default_factory=dict)
    stored_state: dict[str, str] = field(default_factory=dict)
    cursor: Mapping[str, JsonValue] | None = None
    full_sync: bool = True
    listed_ids: set[str] = field(default_factory=set)
    chosen: Any = None
    """Selection and config of the last run."""
    kill_after_messages: int | None = None
    messages: list[SyncMessage] = field(default_factory=list)

    async def select_changed(self, versions: Sequence[tuple[str, str]]) -> set[str]:
        """The new and the changed, up to the limit."""
        chosen: set[str] = set()
        new = 0
        for id_, version in versions:
            if id_ in self.items or len(self.items) + new < self.document_limit:
                new += id_ not in self.items
                self.listed_ids.add(id_)
                if id_ not in self.items or self.items[id_].version != version:
                    chosen.add(id_)
        return chosen

    async def item_versions(self, prefix: str = "") -> AsyncIterator[tuple[str, str]]:
        """See `SyncState.item_versions`."""
        for id_ in sorted(id_ for id_ in self.items if id_.startswith(prefix)):
            yield id_, self.items[id_].version

    async def retryable_failures(self) -> list[str]:
        """See `SyncState.retryable_failures`."""
        return [id_ for id_, failure in self.failures.items() if failure.retryable]

    async def provider_state(self, keys: Sequence[str]) -> dict[str, str]:
        """Notes by key."""
        return {key: self.stored_state[key] for key in keys if key in self.stored_state}

    async def scan_provider_state(self, prefix: str = "") -> AsyncIterator[tuple[str, str]]:
        """Notes by prefix."""
        for key in sorted(self.stored_state):
            if key.startswith(prefix):
                yield key, self.stored_state[key]

    async def run(self, provider: Provider, connection: Connection) -> list[SyncMessage]:
        """One run to its end; a cursor that the provider forgot begins again without one."""
        self.messages = []
        chosen = (connection.selection, connection.config)
        if self.chosen not in (None, chosen):  # as the runner does
            self.cursor, self.full_sync = None, True
        self.chosen = chosen
        try:
            await self._run(provider, connection)
        except CursorExpiredError:
            self.cursor, self.full_sync, self.listed_ids = None, True, set()
            await self._run(provider, connection)
        if self.full_sync:
            kept = tuple(step.prefix for step in self.messages if isinstance(step, UnlistablePrefix))
            for id_ in [id_ for id_ in self.items.keys() - self.listed_ids if not id_.startswith(kept)]:
                del self.items[id_]
        self.full_sync, self.listed_ids = False, set()
        return self.messages

    async def _run(self, provider: Provider, connection: Connection) -> None:
        pending: list[SyncMessage] = []
        async for step in provider.sync(connection, self.cursor, self):
            if self.kill_after_messages is not None and len(self.messages) >= self.kill_after_messages:
                self.kill_after_messages = None
                raise SimulatedKill
            self.messages.append(step)
            pending.append(step)
            if isinstance(step, Checkpoint):
                self._apply(pending)
                pending = []
                self.cursor = step.cursor
        self._apply(pending)

    def _apply(self, steps: Iterable[SyncMessage]) -> None:
        for step in steps:
            match step:
                case SourceItem():
                    assert (step.text is None) != (step.file is None)
                    self.listed_ids.add(step.id)
                    self.items[step.id] = step
                    self.failures.pop(step.id, None)
                case RemovedItem():
                    self.items.pop(step.id, None)
                    self.failures.pop(step.id, None)
                case FailedItem():
                    self.listed_ids.add(step.id)
                    self.failures[step.id] = step
                case ProviderState():
                    if step.value is None:
                        self.stored_state.pop(step.key, None)
                    else:
                        self.stored_state[step.key] = step.value

    def titles(self) -> set[str]:
        """The titles of what there is."""
        return {item.title or "" for item in self.items.values()}

    def text(self, id_: str) -> str:
        """A document's text."""
        item = self.items[id_]
        return item.text if item.text is not None else item.file.data.decode() if item.file else ""


def items(steps: Iterable[SyncMessage]) -> list[SourceItem]:
    """The items among steps."""
    return [step for step in steps if isinstance(step, SourceItem)]


class VirtualSleep:
    """A sleep that returns at once and remembers how long it was asked for."""

    def __init__(self) -> None:
        self.requested_seconds: list[float] = []
        self.now = 0.0

    async def sleep(self, seconds: float) -> None:
        """Time passes on this clock only."""
        self.requested_seconds.append(seconds)
        self.now += seconds


def http_clients(app: Any, outside_app: Any = None) -> HttpClients:
    """An application in place of the network, and another in place of the rest of the world."""
    clients = HttpClients.open(transport=httpx2.ASGITransport(app))
    if outside_app is None:
        return clients
    named = {"User-Agent": USER_AGENT}
    world = httpx2.AsyncClient(transport=httpx2.ASGITransport(outside_app), headers=named)
    return replace(clients, guarded_client=world)


def connect(
    provider: Provider,
    clients: HttpClients,
    authorization_server: AuthorizationServerDouble | None = None,
    *,
    config: Mapping[str, str | float | bool] | None = None,
    virtual_sleep: VirtualSleep | None = None,
    selection: Mapping[SelectionKind, Sequence[str]] | None = None,
) -> Connection:
    """A connector of this provider, with this network."""
    access = GrantTokenSource(authorization_server) if authorization_server is not None else None
    virtual_sleep = virtual_sleep or VirtualSleep()
    http = HttpClient(
        clients,
        api_origins=provider.api_origins,
        classify_error=provider.classify_error,
        token_source=access,
        rate_limit=UNLIMITED_RATE,
        sleep=virtual_sleep.sleep,
        clock=lambda: virtual_sleep.now,
    )
    chosen = {
        str(kind): tuple(SelectedItem(id=id_, name=id_) for id_ in ids) for kind, ids in (selection or {}).items()
    }
    return Connection("connector-1", http, config or {}, selection=chosen or None)
