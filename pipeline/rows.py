"""The rows of the tables, as the rest of the program sees them. Arrow stays in pipeline.store."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from schemas.base import Metadata
from schemas.events import Content, Dreaming, Relation, SyncReported, TaskType, Upload

Vector = NDArray[np.float32]
Terms = NDArray[np.uint32]
Status = Literal["unknown", "queued", "extracting", "chunking", "embedding", "indexing", "done", "failed"]


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document as of the newest submission that was applied to it.

    `seq` is the log position (offset in documents.submitted) of that submission, `content_seq` that of the
    newest one that touched the content, `text_seq` that of the submission `text` stands for: while
    `text_seq < content_seq`, the text is still being worked on. `error` is for people.
    """

    key: str
    space: str
    id: str
    seq: int
    content_seq: int
    created_at: datetime
    updated_at: datetime
    status: Status = "queued"
    dreaming: bool = False
    dreaming_error: str | None = None
    """Why its memories were not formed when that was last tried, while they are still to be."""
    error: str | None = None
    title: str | None = None
    type: str = "text"
    summary: str | None = None
    url: str | None = None
    text: str | None = None
    text_seq: int = -1
    source: Content | None = None
    upload: Upload | None = None
    metadata: Metadata = field(default_factory=dict)
    group: Metadata | None = None
    supporting_context: str | None = None
    date: str | None = None
    task_type: TaskType = "memory"
    dreaming_mode: Dreaming = "dynamic"

    @property
    def current_seq(self) -> int:
        """The submission it is to be found by: the newest of content, or where that failed the shown one."""
        return self.text_seq if self.status == "failed" else self.content_seq


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """A passage of a document, ready to be searched. Its metadata is its document's."""

    id: str
    space: str
    document: str
    position: int
    text: str
    start: int
    end: int
    seq: int
    created_at: datetime
    vector: Vector
    """float32, unit length (or zero where the embedder found nothing)."""
    terms: Terms
    """What BM25 counts: hashes of stemmed terms, its own twice, those around once (`text.surroundings`)."""
    type: str = "text"
    heading: str | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """That a document states a fact, without a break since the text of `since_seq`, last in that of `seq`.

    `since` is when that text was submitted, `at` with `date` the time the fact speaks of, `event_dates` when
    what it tells happens. `placed` is where the document comes among the sources. `replaced_by`: ids of
    memories that speak of a later time.
    """

    document: str
    since_seq: int
    seq: int
    since: datetime
    at: datetime
    placed: datetime
    date: str | None = None
    event_dates: tuple[str, ...] = ()
    start: int | None = None
    end: int | None = None
    relations: tuple[Relation, ...] = ()
    replaced_by: tuple[str, ...] = ()
    forgotten_at: datetime | None = None
    forget_reason: str | None = None


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """One atomic fact. Its metadata is that of its first source, or the first that a filter lets through.

    No source left means it is gone. `sources` are document keys, `statements` what each of them states: all
    but the reading, the version and whether it is the latest follows from them. `version` 1 is the first of
    an updates chain, `is_latest` its head.
    """

    id: str
    space: str
    text: str
    sources: tuple[str, ...]
    seq: int
    created_at: datetime
    updated_at: datetime
    vector: Vector
    terms: Terms
    is_static: bool = False
    is_inference: bool = False
    is_latest: bool = True
    forgotten_at: datetime | None = None
    forget_reason: str | None = None
    version: int = 1
    date: str | None = None
    expires_at: datetime | None = None
    """When it is over by its own words: it is forgotten then."""
    start: int | None = None
    end: int | None = None
    relations: tuple[Relation, ...] = ()
    statements: tuple[Statement, ...] = ()
    keys: tuple[str, ...] = ()
    """What it is found by when memories are compared (`pipeline.memory.keys`)."""

    @property
    def recallable(self) -> bool:
        """Whether it is current, and counts as one of its document or namespace."""
        return self.is_latest and self.forgotten_at is None


_WIDEST = 4
"""Bytes of one character in UTF-8."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Many strings end to end in one UTF-8 buffer: what Arrow holds, without a Python object for each.

    `offsets` has one entry more than there are strings. A missing value is an empty string.
    """

    data: memoryview
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> str:
        return str(self.data[self.offsets[row] : self.offsets[row + 1]], "utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        data = self.data
        return (
            str(data[start:end], "utf-8", "surrogatepass") for start, end in pairwise(self.offsets.tolist())
        )

    def some(self, rows: NDArray[np.intp]) -> list[str]:
        """Many of them, in a third of the time that each by itself takes."""
        data = self.data
        bounds = zip(self.offsets[rows].tolist(), self.offsets[rows + 1].tolist(), strict=True)
        return [str(data[start:end], "utf-8", "surrogatepass") for start, end in bounds]

    def heads(self, rows: NDArray[np.intp], characters: int) -> list[bytes]:
        """At least so many characters of each, as they are encoded; the last may be cut."""
        begin = self.offsets[rows]
        end = np.minimum(self.offsets[rows + 1], begin + _WIDEST * characters)
        data = self.data
        return [bytes(data[start:stop]) for start, stop in zip(begin.tolist(), end.tolist(), strict=True)]

    def spaces(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """How many spaces each of these has."""
        begin, end = int(self.offsets[0]), int(self.offsets[-1])
        blank = np.frombuffer(self.data[begin:end], np.uint8) == ord(" ")
        counted = np.concatenate([np.zeros(1, np.int64), np.cumsum(blank)])
        found: NDArray[np.int64] = (
            counted[self.offsets[rows + 1] - begin] - counted[self.offsets[rows] - begin]
        )
        return found


@dataclass(frozen=True, slots=True)
class DocumentColumns:
    """Documents side by side, without their texts: what a search shows and filters by.

    `metadata` is JSON; `dates` are as they were given; times are microseconds since 1970 UTC. Arrays have one
    entry per document.
    """

    keys: Texts
    ids: Texts
    titles: Texts
    types: Texts
    summaries: Texts
    metadata: Texts
    dates: Texts
    created_at: NDArray[np.int64]
    updated_at: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ChunkColumns:
    """Chunks side by side. `vectors` is (rows, dimensions) float32; row i has
    `terms[term_offsets[i]:term_offsets[i + 1]]`. Times are microseconds since 1970 UTC.
    """

    ids: Texts
    documents: Texts
    texts: Texts
    positions: NDArray[np.int32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    created_at: NDArray[np.int64]
    vectors: NDArray[np.float32]
    terms: NDArray[np.uint32]
    term_offsets: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MemoryColumns:
    """Memories side by side, as `ChunkColumns`. `sources` are document keys joined by a space;
    `relations` is a JSON list of {kind, target, why}, empty for none; `dates` as their sources have them;
    `starts` are offsets in the first source, -1 for none. `spaces` are hashes of their names, true in this
    process; row i has the keys of `keys[key_offsets[i]:key_offsets[i + 1]]`, 32 bits of each.
    """

    ids: Texts
    sources: Texts
    texts: Texts
    relations: Texts
    dates: Texts
    starts: NDArray[np.int64]
    versions: NDArray[np.int32]
    is_static: NDArray[np.bool_]
    is_inference: NDArray[np.bool_]
    is_latest: NDArray[np.bool_]
    forgotten: NDArray[np.bool_]
    created_at: NDArray[np.int64]
    updated_at: NDArray[np.int64]
    vectors: NDArray[np.float32]
    terms: NDArray[np.uint32]
    term_offsets: NDArray[np.int64]
    spaces: NDArray[np.int64]
    keys: NDArray[np.uint32]
    key_offsets: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NamespaceRow:
    """A namespace: the name, and the spaces whose rows it owns now (the first is where new rows go)."""

    name: str
    generation: int
    spaces: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    supporting_context: str | None = None
    description: str | None = None
    buckets: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OrganizationRow:
    """The organization's settings."""

    context: str | None = None
    buckets: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KeyRow:
    """An API key; only the SHA-256 of its secret is kept. `namespaces`: names or prefixes (`team-a:*`)."""

    id: str
    name: str
    sha256: str
    role: Literal["admin", "write", "read"]
    created_at: datetime
    namespaces: tuple[str, ...] | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    changed_at: datetime | None = None
    previous_sha256: str | None = None
    previous_until: datetime | None = None
    rate_limit: int | None = None
    monthly_documents: int | None = None
    monthly_searches: int | None = None

    @property
    def as_of(self) -> datetime:
        """When it last changed."""
        return self.changed_at or self.created_at


@dataclass(frozen=True, slots=True)
class OperationRow:
    """Work on a whole namespace that was asked for over the interface."""

    id: str
    kind: Literal["move", "purge"]
    source: str
    target: str | None
    status: Literal["queued", "done", "failed"]
    created_at: datetime
    updated_at: datetime
    error: str | None = None


@dataclass(frozen=True, slots=True)
class SyncsRow:
    """The newest runs of a connector, newest first. What is `running` is also what is still to be done."""

    connector: str
    runs: tuple[SyncReported, ...] = ()
    succeeded_at: datetime | None = None

    @property
    def running(self) -> SyncReported | None:
        """The run that is under way, or waits: the oldest of them."""
        return next((run for run in reversed(self.runs) if run.status == "running"), None)
