"""Rows of the tables, as the rest of the program sees them. Arrow stays in pipeline.store."""

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
PackedVectors = NDArray[np.int8]
"""Vectors as they are stored, a row for each (`pipeline.packed_vectors`)."""
Terms = NDArray[np.uint32]
RowKind = Literal["chunk", "memory"]
"""Kinds of rows that a search finds."""
DocumentStatus = Literal["unknown", "queued", "extracting", "chunking", "embedding", "indexing", "done", "failed"]


@dataclass(frozen=True, slots=True)
class RecentSubmissions:
    """Recent submissions of a document, oldest first, to tell a repetition from a new one.

    `contents` and `keys` are hashes of added contents and of idempotency keys, each with the time of its
    submission. `repeated` are the log positions after `text_seq` whose content was a repetition.
    """

    contents: tuple[tuple[str, datetime], ...] = ()
    keys: tuple[tuple[str, datetime], ...] = ()
    repeated: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document as of the newest submission applied to it.

    `seq` is the log position (offset in documents.submitted) of that submission, `content_seq` that of the
    newest one that changed the content, `text_seq` that of the submission `text` belongs to: while `text_seq
    < content_seq`, the text is still being processed. `error` is for people.
    """

    key: str
    incarnation: str
    id: str
    seq: int
    content_seq: int
    created_at: datetime
    updated_at: datetime
    status: DocumentStatus = "queued"
    extraction_pending: bool = False
    extraction_error: str | None = None
    """Reason of the last failed memory extraction, while it is still pending."""
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
    group_metadata: Metadata | None = None
    supporting_context: str | None = None
    date: str | None = None
    task_type: TaskType = "memory"
    extraction_mode: Dreaming = "dynamic"
    recent: RecentSubmissions = RecentSubmissions()

    @property
    def searchable_seq(self) -> int:
        """The submission whose chunks are searched: the newest content, or the shown text if that failed."""
        return self.text_seq if self.status == "failed" else self.content_seq


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """A searchable passage of a document, whose metadata it shares."""

    id: str
    incarnation: str
    document: str
    position: int
    text: str
    start: int
    end: int
    seq: int
    created_at: datetime
    vector: Vector
    """Of about unit length, rounded as it is stored; zero until it is embedded, and if the embedder finds nothing."""
    terms: Terms
    """Hashes of stemmed terms for BM25: its own twice, those of its surroundings once."""
    type: str = "text"
    heading: str | None = None
    page: str | None = None
    """Number of its page or slide, `12` or `12-13`, or name of its sheet; None: it has none, or none is known."""


@dataclass(frozen=True, slots=True)
class ProvenanceEntry:
    """A document states a fact, in every text from `first_stated_seq` to `seq`.

    `first_stated_at` is when the first of these texts was submitted, `effective_at` with `date` the time the
    fact refers to, `event_dates` when its events happen, `source_order_time` the order of sources.
    `superseded_by`: ids of memories of a later time. `said_by`: the speaker, if the document names one.
    """

    document: str
    first_stated_seq: int
    seq: int
    first_stated_at: datetime
    effective_at: datetime
    source_order_time: datetime
    date: str | None = None
    event_dates: tuple[str, ...] = ()
    start: int | None = None
    end: int | None = None
    relations: tuple[Relation, ...] = ()
    superseded_by: tuple[str, ...] = ()
    forgotten_at: datetime | None = None
    forget_reason: str | None = None
    worth: float | None = None
    in_profile: bool = True
    said_by: str | None = None


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """Atomic fact. Its metadata is that of its first source, or the first that a filter admits.

    A memory without sources is deleted. `sources` are document keys, and `provenance` has what each of them
    states: everything but the wording, the version and whether it is the latest follows from it. `version` 1
    is the first of a chain of updates, `is_latest` its head.
    """

    id: str
    incarnation: str
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
    """Time after which it is forgotten, by its own words."""
    start: int | None = None
    end: int | None = None
    relations: tuple[Relation, ...] = ()
    provenance: tuple[ProvenanceEntry, ...] = ()
    worth: float = 0.0
    """Highest score of worth that a source gave it; 0 if none did."""
    in_profile: bool = True
    """Whether any source speaks of the namespace's subject, as messages and notes do and files don't."""
    comparison_keys: tuple[str, ...] = ()
    """Keys by which memories to compare are found (`pipeline.memory.versioning.comparison_keys`)."""

    @property
    def is_active(self) -> bool:
        """True if it is current and counts as a memory of its document and namespace."""
        return self.is_latest and self.forgotten_at is None


@dataclass(frozen=True, slots=True)
class StringColumn:
    """Strings in one UTF-8 buffer, as Arrow holds them, without a Python object for each.

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
        return (str(data[start:end], "utf-8", "surrogatepass") for start, end in pairwise(self.offsets.tolist()))

    def take(self, rows: NDArray[np.intp]) -> list[str]:
        """Decode many strings in a third of the time that decoding them singly takes."""
        data = self.data
        bounds = zip(self.offsets[rows].tolist(), self.offsets[rows + 1].tolist(), strict=True)
        return [str(data[start:end], "utf-8", "surrogatepass") for start, end in bounds]

    def without(self, rows: NDArray[np.int32]) -> "StringColumn":
        """The same strings, but empty ones in these rows (ascending)."""
        starts, ends = self.offsets[rows].tolist(), self.offsets[rows + 1].tolist()
        bounds = zip([int(self.offsets[0]), *ends], [*starts, int(self.offsets[-1])], strict=True)
        lengths = np.diff(self.offsets)
        lengths[rows] = 0
        return StringColumn(
            memoryview(b"".join(self.data[start:end] for start, end in bounds)),
            np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]),
        )

    def count_spaces(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        begin, end = int(self.offsets[0]), int(self.offsets[-1])
        is_space = np.frombuffer(self.data[begin:end], np.uint8) == ord(" ")
        space_counts = np.concatenate([np.zeros(1, np.int64), np.cumsum(is_space)])
        counts: NDArray[np.int64] = (
            space_counts[self.offsets[rows + 1] - begin] - space_counts[self.offsets[rows] - begin]
        )
        return counts


@dataclass(frozen=True, slots=True)
class DocumentColumns:
    """Documents as columns, without their texts: what search shows and filters by.

    `metadata` is JSON; `dates` are as they were given; times are microseconds since 1970 UTC. Arrays have
    one entry per document.
    """

    keys: StringColumn
    ids: StringColumn
    titles: StringColumn
    types: StringColumn
    summaries: StringColumn
    metadata: StringColumn
    dates: StringColumn
    created_at: NDArray[np.int64]
    updated_at: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ChunkColumns:
    """Chunks as columns.

    Row i has `terms[term_offsets[i]:term_offsets[i + 1]]`. Times are microseconds since 1970 UTC.
    """

    ids: StringColumn
    documents: StringColumn
    texts: StringColumn
    positions: NDArray[np.int32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    created_at: NDArray[np.int64]
    vectors: PackedVectors
    terms: NDArray[np.uint32]
    term_offsets: NDArray[np.int64]
    pages: StringColumn
    """Empty for no page."""


@dataclass(frozen=True, slots=True)
class MemoryColumns:
    """Memories as columns, like `ChunkColumns`.

    `sources` are document keys joined by a space; `relations` is a JSON list of {kind, target, reason},
    empty for none; `dates` are those of the sources; `starts` are offsets in the first source, -1 for none.
    `incarnation_hashes` are those of `columns.incarnation_hash`. Row i has the keys
    `comparison_key_hashes[comparison_key_offsets[i]:comparison_key_offsets[i + 1]]`, 32 bits each.
    """

    ids: StringColumn
    sources: StringColumn
    texts: StringColumn
    relations: StringColumn
    dates: StringColumn
    starts: NDArray[np.int64]
    versions: NDArray[np.int32]
    is_static: NDArray[np.bool_]
    is_inference: NDArray[np.bool_]
    is_latest: NDArray[np.bool_]
    in_profile: NDArray[np.bool_]
    worths: NDArray[np.float32]
    forgotten: NDArray[np.bool_]
    created_at: NDArray[np.int64]
    updated_at: NDArray[np.int64]
    vectors: PackedVectors
    terms: NDArray[np.uint32]
    term_offsets: NDArray[np.int64]
    incarnation_hashes: NDArray[np.int64]
    comparison_key_hashes: NDArray[np.uint32]
    comparison_key_offsets: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NamespaceRow:
    """A namespace and the incarnations whose rows it owns; new rows go to the first."""

    name: str
    epoch: int
    incarnations: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    supporting_context: str | None = None
    description: str | None = None
    buckets: dict[str, str] = field(default_factory=dict)
    recall_log: bool = False


@dataclass(frozen=True, slots=True)
class OrganizationRow:
    context: str | None = None
    buckets: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OperationRow:
    id: str
    kind: Literal["move", "purge"]
    source: str
    target: str | None
    status: Literal["queued", "done", "failed"]
    created_at: datetime
    updated_at: datetime
    error: str | None = None


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """Answer to a request with an idempotency key.

    `key`, `request`: hashes of the key and of what was asked for; `body`: sealed under the secret of the API key, in
    base64, as some answers tell a secret.
    """

    key: str
    request: str
    status: int
    body: str
    at: datetime


@dataclass(frozen=True, slots=True)
class SyncRunsRow:
    """Latest runs of a connector, newest first. A run that is `running` may still be queued."""

    connector: str
    runs: tuple[SyncReported, ...] = ()
    succeeded_at: datetime | None = None

    @property
    def active_run(self) -> SyncReported | None:
        """The oldest run that is running or queued."""
        return next((run for run in reversed(self.runs) if run.status == "running"), None)
