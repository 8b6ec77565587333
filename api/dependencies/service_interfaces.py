"""The parts of app and connectors that requests use and that this layer may not import, and functions of queries."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from pipeline.connector_registry import ConnectorCapabilities, ConnectorRegistry
from pipeline.erasure.erasure_report import ErasedCounts, ErasureReport
from pipeline.rows import MemoryRow, NamespaceRow, OrganizationRow
from pipeline.store.generations.replay_request import ReplayProgress, ReplayRequest
from schemas.events import ConnectorChanged
from schemas.http.extensions.replay_bodies import ReplayPlanResponse
from schemas.http.v5.memory_bodies import MemoryIncluded
from schemas.http.v5.profile_bodies import Profile, ProfileBody
from schemas.http.v5.search_bodies import SearchBody, SearchResponse

ProfileFunction = Callable[[NamespaceRow, OrganizationRow, ProfileBody], Awaitable[Profile]]
"""Builds the profile of an existing namespace."""
SemanticMatchFunction = Callable[[NamespaceRow, str], Awaitable[Sequence[MemoryRow]]]
"""Finds the memories that a description means, best first: the candidates of a semantic delete."""


class SearchFunction(Protocol):
    """Answers a search in an existing namespace, or in some of its documents by their keys."""

    def __call__(
        self, namespace: NamespaceRow, body: SearchBody, *, documents: tuple[str, ...] | None = None
    ) -> Awaitable[SearchResponse]: ...


class RelatedMemoriesFunction(Protocol):
    async def __call__(
        self, namespace: NamespaceRow, memory: MemoryRow, *, include: Collection[str], limit: int
    ) -> MemoryIncluded: ...


class ReplayService(Protocol):
    """Rebuilds the tables from the log, one replay at a time. ReplayError when one runs already."""

    @property
    def progress(self) -> ReplayProgress:
        """Progress of the replay in this process."""

    async def latest_progress(self) -> ReplayProgress:
        """Progress of the running or latest replay of any process."""

    async def plan(self, order: ReplayRequest) -> ReplayPlanResponse: ...

    def start(self, order: ReplayRequest) -> None: ...

    def roll_back(self) -> None: ...

    async def clean_up(self) -> list[int]: ...

    async def cancel(self) -> None: ...


class ErasureService(Protocol):
    def require_support(self) -> None:
        """ErasureUnsupportedError with a log that cannot erase single records."""

    async def plan(self, documents: Collection[tuple[str, str]], incarnations: Collection[str]) -> ErasedCounts:
        """Count what erasing these documents (incarnation and key), or all of these incarnations, would remove."""

    async def erase_now(self, delete: Callable[[], Awaitable[object]] | None = None) -> ErasureReport:
        """Delete something, then erase everything that was deleted; ReplayError while a replay runs."""


class ConnectorService(Protocol):
    @property
    def registry(self) -> ConnectorRegistry: ...

    async def verification_tokens(self) -> Mapping[str, str]:
        """Verification tokens that providers sent, for the operator to carry to their pages."""

    def capabilities(self, provider: str) -> ConnectorCapabilities | None:
        """None for a provider that the operator has not configured."""

    async def rotate_credentials(self) -> tuple[int, list[str]]:
        """Re-encrypt credentials with the newest key; returns how many, and the connectors that no key decrypts."""

    async def store_config_secrets(self, connector: str, config: Mapping[str, str]) -> None:
        """Encrypt and store the secret part of a config."""

    async def find_fault(self, row: ConnectorChanged, config_secrets: Mapping[str, str] | None = None) -> str | None:
        """Return why a connector can't work and what to do, None if nothing speaks against it."""

    async def create_authorization_link(self, row: ConnectorChanged, redirect_url: str | None) -> str:
        """A single-use link to authorize the connector."""

    async def pending_authorization_link(self, row: ConnectorChanged) -> str | None:
        """The unused link; None after its use."""

    async def create_picker_link(self, row: ConnectorChanged, return_url: str | None) -> tuple[str, datetime]:
        """A single-use link to the picker, and its expiry."""
