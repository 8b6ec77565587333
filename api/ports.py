"""What the interface needs of the store and of the queries, beyond the pipeline's ports."""

from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pipeline import ports
from pipeline.connections import Connections
from pipeline.measuring import Measured, Trouble
from pipeline.records import DeadLetter, RawRecord
from pipeline.replay.order import Order, Plan, Progress
from pipeline.rows import ChunkRow, DocumentRow, KeyRow, MemoryRow, NamespaceRow, OrganizationRow
from schemas.events import ConnectorChanged
from schemas.filters import FilterExpression
from schemas.http.explain import (
    ExplainedChunk,
    ExplainedDocument,
    ExplainedMemory,
    ExplainedProfile,
    ExplainedSearch,
    ExplainProfileBody,
    ExplainSearchBody,
)
from schemas.http.memories import MemoryIncluded
from schemas.http.profile import Profile, ProfileBody
from schemas.http.search import SearchAnswer, SearchBody

Row_co = TypeVar("Row_co", covariant=True)
Edit = Callable[[MemoryRow | None], MemoryRow | None]
ChunkSort = Literal["createdAt", "updatedAt", "position"]
Sort = Literal["createdAt", "updatedAt"]


class Page(Protocol[Row_co]):
    """Some rows of a list, and how many there are in all."""

    @property
    def rows(self) -> Sequence[Row_co]: ...

    @property
    def total(self) -> int: ...


class Documents(ports.Documents, Protocol):
    """The documents table with its lists."""

    async def page(
        self,
        spaces: Sequence[str],
        *,
        filter: FilterExpression | None,  # noqa: A002 - the contract's word
        sort: Sort,
        descending: bool,
        offset: int,
        limit: int,
        with_text: bool,
    ) -> Page[DocumentRow]: ...

    async def states(self) -> Mapping[tuple[str, str], int]:
        """Documents by space and status."""
        ...

    async def failed(self, limit: int) -> Sequence[DocumentRow]:
        """Documents that could not be read, newest change first."""
        ...

    async def delayed(self, limit: int) -> Sequence[DocumentRow]:
        """Documents whose memories wait because of something, newest change first."""
        ...

    async def keys(self, spaces: Sequence[str], filter: FilterExpression) -> set[str]:  # noqa: A002
        """Keys of the documents that pass."""
        ...

    def count(self, spaces: Iterable[str]) -> Mapping[str, int]:
        """Documents by space."""
        ...

    async def created(self, spaces: Sequence[str], since: datetime) -> Mapping[str, NDArray[np.int64]]:
        """When each document that came since then came to be, in microseconds since 1970, by space."""
        ...


class Chunks(ports.Chunks, Protocol):
    """The chunks table with its lists; `documents` None: of every document."""

    async def find(self, spaces: Sequence[str], id: str) -> ChunkRow | None:  # noqa: A002 - a chunk's own word
        """A chunk by its id."""
        ...

    async def page(
        self,
        spaces: Sequence[str],
        *,
        documents: Collection[str] | None,
        sort: ChunkSort,
        descending: bool,
        offset: int,
        limit: int,
    ) -> Page[ChunkRow]: ...


class Memories(ports.Memories, Protocol):
    """The memories table with its lists; `documents` None: of every document."""

    async def page(
        self,
        spaces: Sequence[str],
        *,
        documents: Collection[str] | None,
        forgotten: bool,
        sort: Sort,
        descending: bool,
        offset: int,
        limit: int,
    ) -> Page[MemoryRow]: ...

    async def counts(self, documents: Collection[str]) -> Mapping[str, int]:
        """Recallable memories by document key."""
        ...

    def count(self, spaces: Iterable[str]) -> Mapping[str, int]:
        """Recallable memories by space."""
        ...

    async def created(self, spaces: Sequence[str], since: datetime) -> Mapping[str, NDArray[np.int64]]:
        """When each memory that was formed since then was, in microseconds since 1970, by space."""
        ...


class Catalog(ports.ConnectorCatalog, Protocol):
    """The catalog with what only the interface asks for."""

    def namespaces(self) -> Collection[NamespaceRow]:
        """Those that exist."""
        ...

    def generation(self, name: str) -> int:
        """The generation that a namespace of this name has, or would begin with."""
        ...

    def key(self, id: str) -> KeyRow | None:  # noqa: A002 - a key's own word
        """A key, revoked ones too."""
        ...

    def keys(self) -> Collection[KeyRow]: ...


class Keeper(Protocol):
    """The one way in which memories change, together with the versions they belong to."""

    async def change(self, spaces: Iterable[str], edits: Mapping[str, Sequence[Edit]]) -> None:
        """Apply edits by memory id."""
        ...

    async def withdraw(self, documents: Collection[str]) -> None:
        """Documents (keys) are gone: so are the memories that only they supported."""
        ...


class Search(Protocol):
    """Answers a search in a namespace that exists."""

    async def __call__(self, namespace: NamespaceRow, body: SearchBody) -> SearchAnswer: ...


class Explaining(Protocol):
    """Answers as `Search` and `Profiles` do, and says why."""

    async def search(self, namespace: NamespaceRow | None, body: ExplainSearchBody) -> ExplainedSearch:
        """None: a namespace that does not exist."""
        ...

    async def profile(
        self, namespace: NamespaceRow | None, organization: OrganizationRow, body: ExplainProfileBody
    ) -> ExplainedProfile: ...


class Origins(Protocol):
    """Where something comes from. NotFoundError where there is no such thing in the namespace."""

    async def document(self, namespace: NamespaceRow, id: str) -> ExplainedDocument: ...  # noqa: A002

    async def chunk(self, namespace: NamespaceRow, id: str) -> ExplainedChunk: ...  # noqa: A002

    async def memory(self, namespace: NamespaceRow, id: str) -> ExplainedMemory: ...  # noqa: A002


class Profiles(Protocol):
    """Makes the profile of a namespace that exists."""

    async def __call__(
        self, namespace: NamespaceRow, organization: OrganizationRow, body: ProfileBody
    ) -> Profile: ...


class Related(Protocol):
    """What belongs to a memory: its family, its source document."""

    async def __call__(
        self, namespace: NamespaceRow, memory: MemoryRow, *, include: Collection[str], limit: int
    ) -> MemoryIncluded: ...


class Matching(Protocol):
    """Memories that a description means, best first: what forgetting by meaning would forget."""

    async def __call__(self, namespace: NamespaceRow, query: str) -> Sequence[MemoryRow]: ...


class History(Protocol):
    """The log, read where something is expected."""

    async def record(self, topic: str, key: str, offset: int) -> RawRecord | None:
        """The record at this offset of the key's partition; None where there is none, or none any more."""
        ...

    def since(self, topic: str, key: str, moment: datetime) -> AsyncGenerator[RawRecord, None]:
        """The records of the key's partition from the first one written at that moment or later."""
        ...


class DeadLetters(Protocol):
    """Records that could not be handled; `topic` is the one they were first read from, None: all."""

    async def depth(self, topic: str) -> int:
        """How many records a topic holds."""
        ...

    async def dead_letters(self, topic: str | None = None, limit: int = 100) -> Sequence[DeadLetter]: ...

    async def redrive(
        self, topic: str | None = None, limit: int = 1000, *, only: Collection[str] | None = None
    ) -> int:
        """Give parked records back to their topic, those with these ids if any; how many there were."""
        ...

    async def drop(
        self, topic: str | None = None, limit: int = 1000, *, only: Collection[str] | None = None
    ) -> int:
        """Let go of parked records, those with these ids if any; how many there were."""
        ...


class Health(Protocol):
    """How the parts of the service are now."""

    async def troubles(self) -> Sequence[Trouble]:
        """What keeps the service from being ready."""
        ...

    async def lag(self) -> Mapping[tuple[str, str], int]:
        """Records not yet handled, by consumer group and topic."""
        ...

    async def look(self) -> Measured:
        """Sizes and lag."""
        ...

    async def exposition(self) -> bytes:
        """All metrics in Prometheus' text format."""
        ...


class Replays(Protocol):
    """Making the tables again from the log, one at a time. ReplayError when one runs already."""

    @property
    def progress(self) -> Progress:
        """Of the one in this process."""
        ...

    async def look(self) -> Progress:
        """Of the one that runs, or ran last, in any process."""
        ...

    async def plan(self, order: Order) -> Plan: ...

    def start(self, order: Order) -> None: ...

    def roll_back(self) -> None: ...

    async def clean_up(self) -> list[int]: ...

    async def cancel(self) -> None: ...


class Offer(Protocol):
    """What a provider can do here."""

    @property
    def kinds(self) -> Sequence[str]:
        """What can be selected; nothing where a selection is refused."""
        ...

    @property
    def webhooks(self) -> bool: ...

    @property
    def authorizes(self) -> bool:
        """Whether a user has to authorize it first."""
        ...


class Connectors(Protocol):
    """Connectors, where this deployment has that part."""

    @property
    def connections(self) -> Connections: ...

    async def handshakes(self) -> Mapping[str, str]:
        """Verification tokens that providers sent, for the operator to carry to their pages."""
        ...

    def offer(self, provider: str) -> Offer | None:
        """None where the operator has not set the provider up."""
        ...

    async def reseal(self) -> tuple[int, list[str]]:
        """Seal credentials with the newest key: how many had an older one's, and whose no key opens."""
        ...

    async def keep(self, connector: str, config: Mapping[str, str]) -> None:
        """Seal the secret part of a config."""
        ...

    async def authorize(self, row: ConnectorChanged, redirect_url: str | None) -> str:
        """A link that works once."""
        ...

    async def authorization(self, row: ConnectorChanged) -> str | None:
        """The link again; None where it was used."""
        ...

    async def pick(self, row: ConnectorChanged, return_url: str | None) -> tuple[str, datetime]:
        """A link to the picker that works once, and until when."""
        ...
