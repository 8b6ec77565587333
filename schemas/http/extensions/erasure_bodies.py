"""Bodies of erasures (extension of the contract)."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from schemas.base import RequestBody, ResponseBody
from schemas.http.field_types import Count, DocumentId, NamespaceName, Omittable, Timestamp
from schemas.limits import MAX_DOCUMENT_IDS


class ErasureBody(RequestBody):
    """Documents or a namespace to delete first. Then everything deleted is erased; without both, only that.

    `dryRun`: count what would go, and change nothing.
    """

    namespace: Omittable[NamespaceName] = None
    documents: Omittable[Annotated[list[DocumentId], Field(min_length=1, max_length=MAX_DOCUMENT_IDS)]] = None
    dry_run: bool = False

    @model_validator(mode="after")
    def _require_namespace(self) -> Self:
        if self.documents is not None and self.namespace is None:
            raise ValueError("documents are given without their namespace")
        return self


class GoingMemory(ResponseBody):
    """Memory that would go. `is_derived`: it follows from one that goes, and no document of the erasure states it."""

    id: str
    memory: str
    is_derived: bool


class ErasureResponse(ResponseBody):
    """Report of an erasure, or of a dry run: then the times are null, and the counts are what would go.

    `events`: records of the log by topic. `keys`: keys of sealed records, destroyed, so that copies of the log are
    unreadable too. `waitingEvents` and `waitingBlobs` go in the next round: a stage has yet to read the events, the
    blobs were stored a moment ago. `retainedEvents` were written to Kafka before it was sealed, and stay until their
    topics' retention ends. `movedRows`: rows written anew, as their files held deleted rows too. `digest`:
    SHA-256 of the positions of the events and the digests of the blobs.
    """

    namespace: str | None
    documents: Count
    chunks: Count
    memories: Count
    shared_memories: Count
    """Memories that other documents support too: they stay."""
    derived_memories: Count
    """Memories, counted in `memories`, that follow from others that go, and that no document of the erasure states."""
    going_memories: list[GoingMemory]
    """First of a dry run's memories, to a key that may read."""
    events: dict[str, Count]
    blobs: Count
    keys: Count
    waiting_events: Count
    waiting_blobs: Count
    retained_events: Count
    moved_rows: Count
    removed_generations: list[int]
    cleared_vectors: bool
    digest: str | None
    started_at: Timestamp | None
    ended_at: Timestamp | None
    erased_by: str
