"""The engine's side of a provider, in memory: what it keeps between runs, and what a run does to it."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import httpx2

from connectors.http import Clients, Http
from connectors.pace import Pacer
from connectors.ports import (
    Access,
    Checkpoint,
    Choice,
    Connection,
    Cursor,
    Failure,
    Item,
    Kind,
    Note,
    Provider,
    Removed,
    Step,
)


@dataclass
class Keeper:
    """`ports.Known`, and documents by id as runs leave them; a complete one removes what it left out."""

    limit: int = 10_000
    items: dict[str, Item] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    cursor: Cursor | None = None
    complete: bool = True
    mentioned: set[str] = field(default_factory=set)

    async def wanted(self, versions: Sequence[tuple[str, str]]) -> set[str]:
        found: set[str] = set()
        for id_, version in versions:
            if id_ in self.items or len(self.mentioned) < self.limit:
                self.mentioned.add(id_)
                if id_ not in self.items or self.items[id_].version != version:
                    found.add(id_)
        return found

    async def versions(self, prefix: str = "") -> AsyncIterator[tuple[str, str]]:
        for id_ in sorted(id_ for id_ in self.items if id_.startswith(prefix)):
            yield id_, self.items[id_].version

    async def failed(self) -> list[str]:
        return [failure.id for failure in self.failures if failure.again]

    async def notes(self, keys: Sequence[str]) -> dict[str, str]:
        return {key: self.kept[key] for key in keys if key in self.kept}

    async def all_notes(self, prefix: str = "") -> AsyncIterator[tuple[str, str]]:
        for key in sorted(self.kept):
            if key.startswith(prefix):
                yield key, self.kept[key]

    def take(self, step: Step) -> None:
        """What the engine does with one step."""
        match step:
            case Item():
                assert (step.text is None) != (step.file is None), step
                self.items[step.id] = step
                self.mentioned.add(step.id)
            case Removed():
                self.items.pop(step.id, None)
            case Failure():
                self.failures.append(step)
                self.mentioned.add(step.id)
            case Note():
                self.kept.pop(step.key, None)
                if step.value is not None:
                    self.kept[step.key] = step.value
            case Checkpoint():
                self.cursor = step.cursor

    def finish(self) -> None:
        """A run ended well."""
        if self.complete:
            self.items = {id_: item for id_, item in self.items.items() if id_ in self.mentioned}
        self.complete = False
        self.mentioned = set()

    def text(self, id_: str) -> str:
        """The Markdown of a document."""
        return self.items[id_].text or ""


class Token:
    """`ports.Access` to one token that can't be renewed."""

    def __init__(self, token: str, renewal: Callable[[str], str] | None = None) -> None:
        self.current = token
        self._renewal = renewal

    async def token(self) -> str:
        return self.current

    async def renew(self, rejected: str) -> str:
        if self._renewal is None:
            from connectors.errors import AuthExpiredError  # noqa: PLC0415 - only where it is raised

            raise AuthExpiredError("The token was refused. Connect again.")
        self.current = self._renewal(rejected)
        return self.current


@dataclass
class Bench:
    """A provider beside its double: runs, and what they leave behind. No pause is really slept."""

    provider: Provider
    app: object
    access: Access | None = None
    secrets: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, str | float | bool] = field(default_factory=dict)
    selection: Mapping[Kind, Sequence[str]] | None = None
    keeper: Keeper = field(default_factory=Keeper)
    slept: list[float] = field(default_factory=list)
    clock: float = 0.0

    def connection(self) -> Connection:
        """As the engine makes one for each run."""
        transport = httpx2.ASGITransport(app=self.app)  # type: ignore[arg-type]  # any ASGI application
        client = httpx2.AsyncClient(transport=transport)
        clients = Clients(client, client, transport)
        http = Http(
            clients,
            origins=self.provider.origins,
            judge=self.provider.judge,
            access=self.access,
            sleep=self._sleep,
        )
        http._pacer = Pacer(self.provider.pace, clock=lambda: self.clock, sleep=self._sleep)
        chosen = {
            kind: tuple(Choice(id_, id_) for id_ in ids) for kind, ids in (self.selection or {}).items()
        }
        return Connection(
            "con_1",
            http,
            access=self.access,
            config=self.config,
            secrets=self.secrets,
            selection=chosen if self.selection is not None else None,
        )

    async def run(self, *, complete: bool = False, steps: int | None = None) -> list[Step]:
        """One run from the saved cursor, or a complete one; killed after so many `steps`."""
        if complete:
            self.keeper.cursor, self.keeper.complete = None, True
        self.keeper.failures.clear()
        done: list[Step] = []
        async for step in self.provider.sync(self.connection(), self.keeper.cursor, self.keeper):
            self.keeper.take(step)
            done.append(step)
            if steps is not None and len(done) >= steps:
                return done
        self.keeper.finish()
        return done

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.clock += seconds
