"""What the engine does with a provider's steps, in a dictionary: enough to see what a run leaves behind."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
from pydantic import JsonValue

from connectors.errors import CursorExpiredError
from connectors.http import USER_AGENT, Clients, Http
from connectors.ports import (
    Checkpoint,
    Choice,
    Connection,
    Failure,
    Item,
    Kind,
    Note,
    Pace,
    Provider,
    Removed,
    Step,
)
from tests.connectors.doubles.accounts import Accounts, Grant

QUICK = Pace(per_second=1e6, concurrent=8, burst=1000)


class Killed(Exception):  # noqa: N818 - what happened, not an error of ours
    """The process went away in mid-run."""


@dataclass
class Mirror:
    """`ports.Known` and the documents that a connector's runs lead to; `kill_after` so many steps."""

    limit: int = 10_000
    items: dict[str, Item] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)
    noted: dict[str, str] = field(default_factory=dict)
    cursor: Mapping[str, JsonValue] | None = None
    listing: bool = True
    mentioned: set[str] = field(default_factory=set)
    kill_after: int | None = None
    steps: list[Step] = field(default_factory=list)

    async def wanted(self, versions: Sequence[tuple[str, str]]) -> set[str]:
        """The new and the changed, up to the limit."""
        chosen: set[str] = set()
        new = 0
        for id_, version in versions:
            if id_ in self.items or len(self.items) + new < self.limit:
                new += id_ not in self.items
                self.mentioned.add(id_)
                if id_ not in self.items or self.items[id_].version != version:
                    chosen.add(id_)
        return chosen

    async def versions(self, prefix: str = "") -> AsyncIterator[tuple[str, str]]:
        """What is known."""
        for id_ in sorted(id_ for id_ in self.items if id_.startswith(prefix)):
            yield id_, self.items[id_].version

    async def failed(self) -> list[str]:
        """What may be tried again."""
        return [id_ for id_, failure in self.failures.items() if failure.again]

    async def notes(self, keys: Sequence[str]) -> dict[str, str]:
        """Notes by key."""
        return {key: self.noted[key] for key in keys if key in self.noted}

    async def all_notes(self, prefix: str = "") -> AsyncIterator[tuple[str, str]]:
        """Notes by prefix."""
        for key in sorted(self.noted):
            if key.startswith(prefix):
                yield key, self.noted[key]

    async def run(self, provider: Provider, connection: Connection) -> list[Step]:
        """One run to its end; a cursor that the provider forgot begins again without one."""
        self.steps = []
        try:
            await self._run(provider, connection)
        except CursorExpiredError:
            self.cursor, self.listing, self.mentioned = None, True, set()
            await self._run(provider, connection)
        if self.listing:
            for id_ in self.items.keys() - self.mentioned:
                del self.items[id_]
        self.listing, self.mentioned = False, set()
        return self.steps

    async def _run(self, provider: Provider, connection: Connection) -> None:
        pending: list[Step] = []
        async for step in provider.sync(connection, self.cursor, self):
            if self.kill_after is not None and len(self.steps) >= self.kill_after:
                self.kill_after = None
                raise Killed
            self.steps.append(step)
            pending.append(step)
            if isinstance(step, Checkpoint):
                self._apply(pending)
                pending = []
                self.cursor = step.cursor
        self._apply(pending)

    def _apply(self, steps: Iterable[Step]) -> None:
        for step in steps:
            match step:
                case Item():
                    assert (step.text is None) != (step.file is None)
                    self.mentioned.add(step.id)
                    self.items[step.id] = step
                    self.failures.pop(step.id, None)
                case Removed():
                    self.items.pop(step.id, None)
                    self.failures.pop(step.id, None)
                case Failure():
                    self.mentioned.add(step.id)
                    self.failures[step.id] = step
                case Note():
                    if step.value is None:
                        self.noted.pop(step.key, None)
                    else:
                        self.noted[step.key] = step.value

    def titles(self) -> set[str]:
        """The titles of what there is."""
        return {item.title or "" for item in self.items.values()}

    def text(self, id_: str) -> str:
        """A document's text."""
        item = self.items[id_]
        return item.text if item.text is not None else item.file.data.decode() if item.file else ""


def items(steps: Iterable[Step]) -> list[Item]:
    """The items among steps."""
    return [step for step in steps if isinstance(step, Item)]


class Patience:
    """A sleep that returns at once and remembers how long it was asked for."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.now = 0.0

    async def sleep(self, seconds: float) -> None:
        """Time passes on this clock only."""
        self.waits.append(seconds)
        self.now += seconds


def network(app: Any, outside: Any = None) -> Clients:
    """An application in place of the network, and another in place of the rest of the world."""
    clients = Clients.open(transport=httpx2.ASGITransport(app))
    if outside is None:
        return clients
    named = {"User-Agent": USER_AGENT}
    world = httpx2.AsyncClient(transport=httpx2.ASGITransport(outside), headers=named)
    return replace(clients, outside=world)


def connection(
    provider: Provider,
    clients: Clients,
    accounts: Accounts | None = None,
    *,
    config: Mapping[str, str | float | bool] | None = None,
    patience: Patience | None = None,
    selection: Mapping[Kind, Sequence[str]] | None = None,
) -> Connection:
    """A connector of this provider, with this network."""
    access = Grant(accounts) if accounts is not None else None
    patience = patience or Patience()
    http = Http(
        clients,
        origins=provider.origins,
        judge=provider.judge,
        access=access,
        pace=QUICK,
        sleep=patience.sleep,
        clock=lambda: patience.now,
    )
    chosen = {kind: tuple(Choice(id_, id_) for id_ in ids) for kind, ids in (selection or {}).items()}
    return Connection("connector-1", http, access, config or {}, selection=chosen or None)
