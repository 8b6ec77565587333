"""A provider beside its double: runs one after another, and what they leave behind."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from connectors.errors import AuthExpiredError
from connectors.ports import Access, Connection, Item, Kind, Provider, Step
from tests.connectors.doubles.double import Double
from tests.connectors.mirror import Killed, Mirror, Patience, connection, network


class Token:
    """`ports.Access` to one token; renewed only where somebody says how."""

    def __init__(self, token: str, renewal: Callable[[str], str] | None = None) -> None:
        self.current = token
        self._renewal = renewal

    async def token(self) -> str:
        return self.current

    async def renew(self, rejected: str) -> str:
        if self._renewal is None:
            raise AuthExpiredError("The token was refused. Connect again.")
        self.current = self._renewal(rejected)
        return self.current


@dataclass
class Bench:
    """No pause is really slept: `patience` remembers it."""

    provider: Provider
    double: Double
    access: Access | None = None
    secrets: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, str | float | bool] = field(default_factory=dict)
    selection: Mapping[Kind, Sequence[str]] | None = None
    mirror: Mirror = field(default_factory=Mirror)
    patience: Patience = field(default_factory=Patience)
    told: bool = False

    @property
    def items(self) -> dict[str, Item]:
        """The documents by id."""
        return self.mirror.items

    def connection(self) -> Connection:
        """As the engine makes one for each run."""
        made = connection(
            self.provider,
            network(self.double, self.double),
            config=self.config,
            patience=self.patience,
            selection=self.selection,
        )
        made.http._access = self.access
        return replace(made, access=self.access, secrets=self.secrets, told=self.told)

    async def run(self, *, complete: bool = False) -> list[Step]:
        """One run from the saved cursor, or a complete one."""
        if complete:
            self.mirror.cursor, self.mirror.listing = None, True
        return await self.mirror.run(self.provider, self.connection())

    async def killed(self, after: int) -> list[Step]:
        """A run that ends after so many steps, without a word."""
        self.mirror.kill_after = after
        try:
            await self.run()
        except Killed:
            return self.mirror.steps
        raise AssertionError(f"the run had no more than {after} steps")

    def text(self, id_: str) -> str:
        """The Markdown of a document."""
        return self.mirror.text(id_)
