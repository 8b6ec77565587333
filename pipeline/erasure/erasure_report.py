"""Reports of erasures: what went, what waits, when, and a digest of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from pipeline.rows import DocumentRow, MemoryRow, NamespaceRow


class ErasureUnsupportedError(Exception):
    """The log of this deployment cannot erase single records; the message is for the operator."""


@dataclass(frozen=True, slots=True)
class ErasureScope:
    """Rows that go; `shared_memories` stay, as other documents support them too."""

    namespace: NamespaceRow | None = None
    documents: Sequence[DocumentRow] | None = None
    """None: the whole namespace."""
    document_count: int = 0
    chunks: int = 0
    memories: int = 0
    shared_memories: int = 0
    derived_memories: int = 0
    """Memories among them that follow from others that go, and that no document of the erasure states."""
    going_memories: Sequence[MemoryRow] = ()
    """The memories that go with documents."""


@dataclass(frozen=True, slots=True)
class ErasedCounts:
    """Numbers of erased records by topic, with dead letters under their own topic, and of blobs.

    `waiting_events`: a stage has yet to read them. `waiting_blobs`: stored a moment ago, by a writer that may still
    refer to them. The next round erases both. `keys`: of sealed records, destroyed at once. `retained_events`: not
    sealed, on a log that cannot erase those: they stay until its retention ends.
    """

    events: Mapping[str, int]
    blobs: int
    keys: int = 0
    waiting_events: int = 0
    waiting_blobs: int = 0
    retained_events: int = 0


@dataclass(frozen=True, slots=True)
class ErasureReport:
    """Result of a round. `moved_rows`: written anew, as their files held deleted rows too."""

    started_at: datetime
    ended_at: datetime
    counts: ErasedCounts
    moved_rows: int
    removed_generations: Sequence[int]
    cleared_vectors: bool
    positions_digest: str
    """SHA-256 of the positions of the erased records and of the digests of the erased blobs."""


def digest_of(lines: Sequence[str]) -> str:
    """Return the SHA-256 of these lines in order, in hex.

    >>> digest_of(["b", "a"]) == digest_of(["a", "b"])
    True
    """
    return sha256("\n".join(sorted(lines)).encode()).hexdigest()
