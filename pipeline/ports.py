"""Ports: Protocols of what the core needs from outside; adapters implement them."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

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
    SyncRunsRow,
    Terms,
    Vector,
)
from schemas.events import BlobRef, ChunkSpan, ConnectorChanged, Content, Upload
from schemas.topics import E, Topic

Row = TypeVar("Row")
Row_co = TypeVar("Row_co", covariant=True)
Answer = TypeVar("Answer", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Position:
    partition: int
    offset: int


class Publisher(Protocol):
    """Writes events to the log; they are durable on return."""

    async def publish(self, topic: Topic[E], entries: Sequence[tuple[str, E]]) -> list[Position]:
        """Append (key, event) pairs; the same key always lands in the same partition, in order."""


class Lease(Protocol):
    def ensure_valid(self) -> None:
        """Raise LockLostError if others may hold the lock by now; call before a protected effect becomes final."""


class Locks(Protocol):
    """Named locks among the processes that share tables. Not reentrant; a dead process releases them."""

    def acquire(self, name: str) -> AbstractAsyncContextManager[Lease]:
        """Wait for the lock of this name and hold it inside `async with`."""


class KeyStorage(Protocol):
    """Small values by name, on disk on return, that every process sees. Synchronous: for a thread. OutageError."""

    def read(self, name: str) -> bytes | None:
        """Return a value; None if there is none."""

    def create(self, name: str, value: bytes) -> bool:
        """Write a value unless there is one; tell whether it was written."""

    def update(self, name: str, change: Callable[[bytes | None], bytes]) -> None:
        """Replace a value by what `change` makes of it, with no other change in between."""

    def delete(self, name: str) -> None:
        """Remove a value, if there is one."""

    def names(self, folder: str) -> Iterator[str]:
        """List the names in a folder, without it."""


class NamedFiles(KeyStorage, Protocol):
    """Small values as in `KeyStorage`, and the folders beside them."""

    def write(self, name: str, value: bytes) -> None:
        """Replace a value, whatever it was."""

    def folders(self) -> list[str]:
        """List the folders."""

    def delete_folder(self, folder: str) -> None:
        """Remove a folder with all in it, if there is one."""

    def folder_bytes(self, folder: str) -> int:
        """Bytes of all in a folder."""


class Submissions(Protocol):
    """Submissions in the log as readers of documents see them."""

    @property
    def writes_tables(self) -> bool:
        """True if this process owns the tables."""

    async def catch_up(self) -> None:
        """Wait until every submission published before this call is shown. OutageError."""

    async def refresh_if_available(self) -> bool:
        """Catch up before a read; return False in an outage, which keeps what was shown.

        OutageError if it stays behind.
        """

    async def wait_until_shown(self, positions: Sequence[Position]) -> bool:
        """Wait, for a bounded time, until readers see these submissions; False if they do not yet."""

    async def wait_until_handled(self, positions: Sequence[Position]) -> bool:
        """Wait, for a bounded time, until the stage `extract` of any process has handled these submissions."""


class Tombstones(Protocol):
    """Recent deletions, so that a slower writer with older records does not restore a document.

    Such a writer is a former owner of a partition, or a stage behind what is shown to readers already.
    """

    async def record(self, deleted: Mapping[str, int]) -> None:
        """Record deletions by document key and log position; visible to every process on return."""

    async def latest_deletions(self, keys: Collection[str]) -> Mapping[str, int]:
        """Return the log position of the latest recent deletion of each of these documents."""


class ContentKeys(Protocol):
    """Keys that seal one content each, kept apart from it. Synchronous; any thread may call. OutageError."""

    @property
    def seals(self) -> bool:
        """False: what was sealed earlier is still opened, and nothing new is sealed."""

    def new_key(self) -> tuple[str, bytes]:
        """Return the name of a key that was never used, and the key; on disk on return."""

    def find_keys(self, names: Collection[str]) -> Mapping[str, bytes | None]:
        """Return keys by name, None for those destroyed; unknown names are left out."""

    def destroy_keys(self, names: Collection[str]) -> int:
        """Destroy keys, for good on return; return how many there still were."""


@dataclass(frozen=True, slots=True)
class DeletedBlobs:
    """Digests of blobs that are gone, and the number of keys that were destroyed with them."""

    digests: Collection[str]
    keys: int = 0


class Blobs(Protocol):
    """Large values by SHA-256, stored and synced before an event refers to them."""

    async def put(self, data: bytes, media_type: str) -> BlobRef: ...

    async def get(self, ref: BlobRef) -> bytes:
        """Return the bytes; RejectedError if they are missing or their hash differs."""

    def stream(self, ref: BlobRef) -> AsyncGenerator[bytes, None]:
        """Read the bytes in parts; RejectedError before the last one if their hash differs."""

    async def store_text(self, text: str) -> Content:
        """Return the text inline, or stored as a claim check above MAX_INLINE_BYTES."""

    async def count_keys(self, digests: Collection[str]) -> int:
        """Count the keys that a deletion of these blobs would destroy."""

    async def delete(self, digests: Collection[str]) -> DeletedBlobs:
        """Delete blobs that no event refers to, and destroy their keys.

        One that was put a moment ago stays: an event that refers to it may be on its way.
        """

    async def digests_older_than(self, seconds: float) -> set[str]:
        """Return the blobs that were last put before so many seconds."""

    async def load_text(self, content: Content) -> str:
        """Return the text of an inline content or a claim check."""


class Clock(Protocol):
    """Current time; tests and replays supply their own."""

    def now(self) -> datetime: ...


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """Result of parsing a file or text: canonical text, its type, and its title if it has one."""

    text: str
    type: str
    title: str | None = None


class DocumentParser(Protocol):
    """Parses files to text. Raises ParsingError with a reason for people."""

    async def parse_file(self, data: bytes, upload: Upload) -> ParsedDocument: ...

    async def parse_text(self, text: str) -> ParsedDocument:
        """Parse a submitted text: plain, Markdown, HTML, JSON, CSV, e-mail or source code."""


class Fetcher(Protocol):
    """Fetches public URLs. Raises ParsingError (permanent) or RetryableError (may work later)."""

    async def fetch(self, url: str) -> tuple[bytes, Upload]:
        """Return the body and its description (mime type, filename); `upload.blob` describes the bytes."""


class TextSplitter(Protocol):
    """Splits canonical text into passages with exact character offsets."""

    def split(self, text: str, kind: str) -> list[ChunkSpan]: ...


class Embedder(Protocol):
    """Embeds texts as vectors of about unit length."""

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]: ...

    async def embed_query(self, text: str, term_weight: Callable[[str], float] | None = None) -> Vector:
        """`weight` gives each word's weight, usually its inverse document frequency in the namespace."""


@runtime_checkable
class WordVectors(Protocol):
    """An embedder with cheap vectors of single words, for comparing texts word by word."""

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return a matrix with the unit vector of each word, or a row of zeros."""


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Cost of a language model's answer: calls, and tokens as the endpoint counts them (0 if it does not say)."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ModelReply(Generic[Answer]):
    """An answer that validated against the requested schema; not `is_complete` if its end was cut off."""

    answer: Answer
    usage: TokenUsage
    is_complete: bool = True


class Reranker(Protocol):
    """Cross-encoder: scores texts against a query, slower and better than the index."""

    async def rerank(self, query: str, texts: Sequence[str]) -> list[int] | None:
        """Return the positions of the texts, best first; None if there is no answer in time."""


class QueryRewriter(Protocol):
    async def rewrite(self, incarnation: str, query: str, today: date) -> list[str]:
        """Return alternative queries, best first; empty if there is no answer in time.

        `incarnation`: where it is asked; `today`: from where it says "last week".
        """


class LanguageModel(Protocol):
    @property
    def name(self) -> str: ...

    async def generate(self, instructions: str, prompt: str, schema: type[Answer]) -> ModelReply[Answer]:
        """Raise EndpointUnavailableError if it may answer later, UnusableReplyError on a reply of another shape."""


class UnusableReplyError(RejectedError):
    """The language model gave no usable answer and would not on a retry: it refused or broke the schema."""

    def __init__(self, reason: str, usage: TokenUsage) -> None:
        super().__init__(reason)
        self.usage = usage


class EntityTable(Protocol[Row]):
    """Rows by entity key: a document by its key, chunks by their document, a memory by its id.

    Changes are visible to every reader of this process when the call returns; `durable` waits until they
    are also in LanceDB and on disk, and only then may a stage let its offsets be committed. Where several
    processes share a table they are visible to all, and durable, when `update` returns.
    """

    async def get(self, entity_keys: Collection[str]) -> dict[str, list[Row]]: ...

    def hint_incarnations(self, incarnations: Mapping[str, str]) -> None:
        """Say in which incarnation each key is or would be, so that no other shard is read for it."""

    async def update(
        self,
        entity_keys: Collection[str],
        change: Callable[[str, list[Row]], Sequence[Row] | None],
        prepare: Callable[[], Awaitable[None]] | None = None,
    ) -> dict[str, list[Row]]:
        """Read-modify-write, atomic per group: `change` gets the rows and returns new ones (None: unchanged).

        `change` is pure, gets an empty list for a group that is not there, and may be called again.
        Returns the rows of each group afterwards. An empty sequence removes the group.

        `prepare` is awaited when no other process can change the groups any more, before their `change`;
        over a table of one process it must not suspend.
        """

    async def update_soon(
        self, entity_keys: Collection[str], change: Callable[[str, list[Row]], Sequence[Row] | None]
    ) -> None:
        """Like `update`, for changes that are only shown and that a later one makes needless.

        Where several processes share a table, they are written with the next update, or within seconds; a process
        that is killed drops them.
        """

    async def wait_until_durable(self) -> None:
        """Wait until every change made so far is on disk."""

    def subscribe(
        self,
        listener: Callable[[Mapping[str, list[Row]]], None],
        incarnation_filter: Callable[[str], bool] | None = None,
    ) -> None:
        """Call `listener` with the new rows of each changed entity, synchronously with the change.

        Changes of other processes arrive within a moment, and before `refresh` returns; with an
        `incarnation_filter`, possibly only those of incarnations that it accepts at that time.
        """

    async def refresh(self, incarnations: Collection[str] | None = None) -> None:
        """Deliver to listeners what other processes changed in these incarnations (None: all) so far."""

    async def list_rows(self, incarnations: Sequence[str]) -> list[Row]:
        """Return every row of these incarnations, latest state. Meant for one namespace; may be large."""


TablePosition = Mapping[str, Any]
"""How far a reader of a table is, as JSON that only the table understands."""


class TrackedTable(Protocol[Row_co]):
    """A table that tells, also after a restart, which rows changed since a copy of them was made."""

    async def get(self, entity_keys: Collection[str]) -> Mapping[str, Sequence[Row_co]]: ...

    async def track_changes(self, incarnations: Collection[str]) -> None:
        """Remember from now on which rows of these incarnations change."""

    def position(self, incarnations: Collection[str]) -> TablePosition | None:
        """Position of a reader who heard of every change so far; None if the table cannot tell."""

    async def changed_since(self, position: TablePosition, incarnations: Collection[str]) -> Collection[str] | None:
        """Entity keys of these incarnations that may have changed since.

        None if the table cannot tell: it is another one, was put back to an earlier state, or forgot.
        """

    async def forget_changes(self, position: TablePosition, incarnations: Collection[str]) -> None:
        """Drop what changed in these incarnations up to a position: nobody asks for it any more."""


class DocumentTable(EntityTable[DocumentRow], Protocol):
    async def find_by_public_id(self, incarnations: Sequence[str], ids: Collection[str]) -> dict[str, DocumentRow]:
        """Return the documents with these public ids in these incarnations."""

    async def columns(self, incarnations: Sequence[str]) -> DocumentColumns:
        """Return every document of these incarnations in columns, latest state, without texts."""

    async def pending_extraction(self) -> list[DocumentRow]:
        """Return documents that wait for memory extraction, e.g. after a restart."""


class DocumentIdLookup(Protocol):
    async def ids_with_prefix(self, incarnation: str, prefix: str) -> list[str]:
        """Return the public ids of an incarnation that begin with a prefix, sorted."""


class ChunkTable(EntityTable[ChunkRow], Protocol):
    """The chunks table; the entity key is the document's key."""

    def stream(self, incarnations: Sequence[str]) -> AsyncIterator[ChunkColumns]:
        """Yield every chunk of these incarnations once, latest state, in batches of some thousand rows."""


class MemoryTable(EntityTable[MemoryRow], Protocol):
    """The memories table; the entity key is the memory's id."""

    def stream(self, incarnations: Sequence[str]) -> AsyncIterator[MemoryColumns]:
        """Yield every memory of these incarnations, like `ChunkTable.stream`."""

    async def find_by_documents(self, documents: Collection[str]) -> list[MemoryRow]:
        """Return memories with any of these document keys among their sources, history included.

        Without vectors and terms. Costs the same however many memories there are.
        """

    async def find_by_keys(self, incarnations: Sequence[str], keys: Collection[str]) -> list[MemoryRow]:
        """Return memories of these incarnations with any of these comparison keys, in the columns that comparing needs.

        `seq`, `version`, `created_at`, places and ends are not among it, nor are vectors and terms.
        """

    async def expiring(self) -> list[MemoryRow]:
        """Return the memories of every incarnation that have an expiration time and are not forgotten yet."""


class SyncRunTable(EntityTable[SyncRunsRow], Protocol):
    """Latest sync runs of each connector; the entity key is the connector's id."""


class Catalog(Protocol):
    """Namespaces, organization and keys, read synchronously: from memory, or from a file in microseconds."""

    def namespace(self, name: str) -> NamespaceRow | None:
        """Return the namespace if it exists (has incarnations)."""

    def namespace_of(self, incarnation: str) -> NamespaceRow | None:
        """Return the namespace that owns an incarnation; None if it was deleted and its records are to be dropped."""

    def epoch(self, name: str) -> int:
        """Current epoch of a namespace, or the one its next incarnation starts with; 0 for a new name."""

    def organization(self) -> OrganizationRow: ...


class ConnectorCatalog(Catalog, Protocol):
    def connectors(self) -> Collection[ConnectorChanged]:
        """Every connector, pending ones and those being removed too; newest first."""

    def connector(self, id: str) -> ConnectorChanged | None:  # noqa: A002 - a connector's own word
        ...


class OperationTable(Protocol):
    async def record(self, row: OperationRow) -> None: ...


class IncarnationEraser(Protocol):
    async def delete_incarnations(self, incarnations: frozenset[str]) -> None:
        """Erase every row of these incarnations; durable on return, idempotent."""


@dataclass(frozen=True, slots=True)
class NearestMemory:
    """A current memory that shares words with a text, and the key of its first source document."""

    id: str
    text: str
    document: str = ""


@dataclass(frozen=True, slots=True)
class NearestMemories:
    """Memories nearest to a text, best first, with the document frequency of each term among `row_count` rows."""

    row_count: int
    document_frequencies: Mapping[int, int]
    memories: tuple[NearestMemory, ...] = ()


class LexicalNeighborSearch(Protocol):
    """Snapshot of a namespace's memories, searched by words without waiting."""

    def __call__(self, terms: Terms) -> NearestMemories:
        """Return the memories that share the most with these terms."""


class LexicalNeighborIndex(Protocol):
    """Memories by their words, in the namespace index."""

    async def neighbor_search(self, namespace: str) -> LexicalNeighborSearch | None:
        """None for a namespace that is not there, or too large to be held."""


class MemoryKeyIndex(Protocol):
    async def find_by_keys(self, incarnations: Sequence[str], keys: Collection[str]) -> list[MemoryRow]:
        """Return what `MemoryTable.find_by_keys` does, for one namespace, possibly with more rows of it.

        Provenance and comparison keys are missing too, deleted sources are left out, and the time at which a
        memory was forgotten is unknown.
        """


class NearestMemoryIndex(Protocol):
    async def nearest(self, namespace: str, vector: Vector, limit: int) -> list[tuple[MemoryRow, float]]:
        """Return the latest memories of a namespace that are not forgotten, with their cosine, best first."""
