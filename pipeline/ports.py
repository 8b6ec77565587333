"""What the program needs from outside, as small abilities; adapters live beside this module."""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import date, datetime
from typing import Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from pipeline.errors import RejectedError
from pipeline.rows import (
    ChunkColumns,
    ChunkRow,
    DocumentColumns,
    DocumentRow,
    MemoryColumns,
    MemoryRow,
    NamespaceRow,
    OperationRow,
    OrganizationRow,
    SyncsRow,
    Terms,
    Vector,
)
from schemas.base import Event
from schemas.events import BlobRef, ChunkSpan, ConnectorChanged, Content, SettingsChanged, Upload
from schemas.topics import Topic

E = TypeVar("E", bound=Event)
Row = TypeVar("Row")
Answered = TypeVar("Answered", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Position:
    """Where the log holds a record."""

    partition: int
    offset: int


class Publisher(Protocol):
    """Writes events to the log. Returning means that the log has them durably."""

    async def publish(self, topic: Topic[E], entries: Sequence[tuple[str, E]]) -> list[Position]:
        """Append (key, event) pairs; the same key always lands in the same partition, in order."""
        ...


class Hold(Protocol):
    """A lock that is held."""

    def check(self) -> None:
        """LockLostError when others may have it by now: ask before what it protects becomes final."""
        ...


class Locks(Protocol):
    """Locks by name among everybody who shares the tables. Not reentrant; who dies gives them back."""

    def hold(self, name: str) -> AbstractAsyncContextManager[Hold]:
        """Wait for the lock of this name and hold it inside `async with`."""
        ...


class Tombstones(Protocol):
    """Which documents were deleted ahead of the log, so that nothing of before brings one back.

    The interface deletes at once; a slower request, or a stage that reads the log up to there, comes later.
    """

    async def note(self, deleted: Mapping[str, int]) -> None:
        """These documents (by key) were deleted at these log positions; known everywhere on return."""
        ...

    async def newest(self, keys: Collection[str]) -> Mapping[str, int]:
        """The position of the newest deletion of each of these documents that was deleted lately."""
        ...


class Blobs(Protocol):
    """Large values by SHA-256, stored and synced before anything points to them."""

    async def put(self, data: bytes, media_type: str) -> BlobRef: ...

    async def get(self, ref: BlobRef) -> bytes:
        """The bytes; RejectedError when they are missing or their hash differs."""
        ...

    async def pack(self, text: str) -> Content:
        """A text inline, or as a claim check above INLINE_BYTES."""
        ...

    async def text(self, content: Content) -> str:
        """The text of either."""
        ...


class Clock(Protocol):
    """The time, so that tests and replays can say what it is."""

    def now(self) -> datetime: ...


@dataclass(frozen=True, slots=True)
class Extracted:
    """What an extractor made of a file or text: canonical text, its kind, and a title if it has one."""

    text: str
    type: str
    title: str | None = None


class Extractor(Protocol):
    """Files to text. Raises ExtractionError with a reason for people."""

    async def file(self, data: bytes, upload: Upload) -> Extracted: ...

    async def text(self, text: str) -> Extracted:
        """A text as submitted: plain, Markdown, HTML, JSON, CSV, e-mail or source code."""
        ...


class Fetcher(Protocol):
    """URLs to bytes, guarded. Raises ExtractionError (never works) or RetryableError (may work later)."""

    async def fetch(self, url: str) -> tuple[bytes, Upload]:
        """The body and how it describes itself (mime type, filename); `upload.blob` describes the bytes."""
        ...


class Splitter(Protocol):
    """Canonical text to passages, with exact character offsets."""

    def split(self, text: str, kind: str) -> list[ChunkSpan]: ...


class Embedder(Protocol):
    """Texts to unit vectors."""

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    async def documents(self, texts: Sequence[str]) -> list[Vector]: ...

    async def query(self, text: str, weight: Callable[[str], float] | None = None) -> Vector:
        """`weight` gives each word's weight, usually its inverse document frequency in the namespace."""
        ...


@runtime_checkable
class WordVectors(Protocol):
    """An embedder that knows single words at no cost: what comparing texts word by word needs."""

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """A matrix with the unit vector of each word, or a row of zeros."""
        ...


@dataclass(frozen=True, slots=True)
class Spent:
    """What an answer of a language model cost: calls, and tokens as the endpoint counts them (0: unsaid)."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Reply(Generic[Answered]):
    """An answer in the shape that was asked for."""

    answer: Answered
    spent: Spent


class Reranker(Protocol):
    """Reads texts beside a question: slower than an index, and better at it."""

    async def order(self, query: str, texts: Sequence[str]) -> list[int] | None:
        """The places of the texts, best first; None when it can't say so in time. Never raises for that."""
        ...


class Rewriter(Protocol):
    """Knows other ways to ask a query."""

    async def others(self, space: str, query: str, today: date) -> list[str]:
        """Queries, the most telling first; none when it can't say so in time. Never raises for that.

        `space`: where it is asked; `today`: from where it says "last week".
        """
        ...


class LanguageModel(Protocol):
    """Questions to answers of a shape."""

    @property
    def name(self) -> str: ...

    async def ask(self, instructions: str, question: str, shape: type[Answered]) -> Reply[Answered]:
        """AwayError when it may answer later, UnusableError when it gave no answer of this shape."""
        ...


class UnusableError(RejectedError):
    """A language model gave no usable answer, and would not: it refused, or its answer has another shape."""

    def __init__(self, reason: str, spent: Spent) -> None:
        super().__init__(reason)
        self.spent = spent


class Table(Protocol[Row]):
    """Rows by group: a document by its key, chunks by their document, a memory by its id.

    Changes are visible to every reader of this process when the call returns; `durable` waits until they
    are also in LanceDB and on disk, and only then may a stage let its offsets be committed. Where several
    processes share a table they are visible to all, and durable, when `update` returns.
    """

    async def get(self, groups: Collection[str]) -> dict[str, list[Row]]: ...

    async def update(
        self, groups: Collection[str], change: Callable[[str, list[Row]], Sequence[Row] | None]
    ) -> dict[str, list[Row]]:
        """Read-modify-write, atomic per group: `change` gets the rows and returns new ones (None: unchanged).

        `change` is pure, gets an empty list for a group that is not there, and may be called again.
        Returns the rows of each group afterwards. An empty sequence removes the group.
        """
        ...

    async def durable(self) -> None:
        """Wait until every change made so far is on disk."""
        ...

    def subscribe(
        self,
        listener: Callable[[Mapping[str, list[Row]]], None],
        spaces: Callable[[str], bool] | None = None,
    ) -> None:
        """Call `listener` with the new rows of each changed group, in the same instant as the change.

        Of what other processes changed it hears within a moment, and before `refresh` returns; where
        `spaces` is given, perhaps only of the spaces that it says yes to at that time.
        """
        ...

    async def refresh(self, spaces: Collection[str] | None = None) -> None:
        """Let listeners hear of what other processes changed in these spaces (None: all) up to now."""
        ...

    async def in_spaces(self, spaces: Sequence[str]) -> list[Row]:
        """Every row of these spaces, newest state. For one namespace at a time; may be large."""
        ...


class Documents(Table[DocumentRow], Protocol):
    """The documents table."""

    async def find(self, spaces: Sequence[str], ids: Collection[str]) -> dict[str, DocumentRow]:
        """By public id, within these spaces."""
        ...

    async def columns(self, spaces: Sequence[str]) -> DocumentColumns:
        """Every document of these spaces, newest state, side by side and without texts."""
        ...

    async def unfinished(self) -> list[DocumentRow]:
        """Rows whose memories are still to be formed (`dreaming`), e.g. after a restart."""
        ...


class DocumentIds(Protocol):
    """What is asked of the documents table about one connector's."""

    async def ids(self, space: str, prefix: str) -> list[str]:
        """The public ids in a space that begin so, in their order."""
        ...


class Chunks(Table[ChunkRow], Protocol):
    """The chunks table; a group is a document's key."""

    def stream(self, spaces: Sequence[str]) -> AsyncIterator[ChunkColumns]:
        """Every chunk of these spaces, newest state, in batches of some thousand rows, each row once."""
        ...


class Memories(Table[MemoryRow], Protocol):
    """The memories table; a group is a memory's id."""

    def stream(self, spaces: Sequence[str]) -> AsyncIterator[MemoryColumns]:
        """As `Chunks.stream`."""
        ...

    async def of_documents(self, documents: Collection[str]) -> list[MemoryRow]:
        """Memories that have any of these document keys among their sources, history included.

        Without vectors and terms. Costs the same however many memories there are.
        """
        ...

    async def keyed(self, spaces: Sequence[str], keys: Collection[str]) -> list[MemoryRow]:
        """Memories of these spaces that have any of these keys, with what comparing them takes.

        `seq`, `version`, `created_at`, places and ends are not among it, nor are vectors and terms.
        """
        ...

    async def expiring(self) -> list[MemoryRow]:
        """Memories that say their own end and are not forgotten yet, of every space."""
        ...


class Syncs(Table[SyncsRow], Protocol):
    """The newest runs of each connector; a group is a connector's id."""


class Catalog(Protocol):
    """Namespaces, organization and keys: small, in memory, read without waiting."""

    def namespace(self, name: str) -> NamespaceRow | None:
        """The namespace if it exists (has spaces)."""
        ...

    def owner(self, space: str) -> NamespaceRow | None:
        """The namespace that owns a space now; None: nobody does, drop what belongs to it."""
        ...

    def generation(self, name: str) -> int:
        """The generation of a namespace, or the one that its next life begins with; 0 for a new name."""
        ...

    def organization(self) -> OrganizationRow: ...

    def apply(self, event: SettingsChanged) -> None: ...

    async def durable(self) -> None: ...


class ConnectorCatalog(Catalog, Protocol):
    """The catalog with its connectors."""

    def connectors(self) -> Collection[ConnectorChanged]:
        """Every connector, pending ones and those being removed too; newest first."""
        ...

    def connector(self, id: str) -> ConnectorChanged | None:  # noqa: A002 - a connector's own word
        ...


class Operations(Protocol):
    """Operations on whole namespaces, and whether they are done."""

    async def record(self, row: OperationRow) -> None: ...


class Erasable(Protocol):
    """Every table at once."""

    async def remove_spaces(self, spaces: frozenset[str]) -> None:
        """Erase every row of these spaces; on disk when it returns, may be repeated."""
        ...


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A current memory that shares words with a text, and the key of the first document that states it."""

    id: str
    text: str
    document: str = ""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The memories nearest to a text, best first; `frequencies`: in how many of all `rows` each term is."""

    rows: int
    frequencies: Mapping[int, int]
    found: tuple[Neighbour, ...] = ()


class SharedWords(Protocol):
    """A namespace's memories as they were at one moment, by their words. Costs no waiting."""

    def __call__(self, terms: Terms) -> Neighbours:
        """What shares most with these terms."""
        ...


class WordIndex(Protocol):
    """Memories by their words, in the hot cache."""

    async def shared_words(self, namespace: str) -> SharedWords | None:
        """None for a namespace that is not there, or too large to be held."""
        ...


class KeyIndex(Protocol):
    """Memories by their keys, in the hot cache."""

    async def keyed(self, spaces: Sequence[str], keys: Collection[str]) -> list[MemoryRow]:
        """As `Memories.keyed`, of the spaces of one namespace, and perhaps some more rows of these spaces.

        Statements and keys are not among what they say either. Sources that are gone are left out, and of
        what is forgotten it is not known since when.
        """
        ...


class MemoryIndex(Protocol):
    """What memory formation asks of the hot cache."""

    async def nearest(self, namespace: str, vector: Vector, limit: int) -> list[tuple[MemoryRow, float]]:
        """Latest, not forgotten memories of a namespace with their cosine, best first."""
        ...
