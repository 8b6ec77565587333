"""Lists of documents, chunks and memories, and counts of memories."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from schemas.base import Answer, Body
from schemas.http.documents import ChunkAnswer
from schemas.http.filters import Filter
from schemas.http.memories import MemoryAnswer
from schemas.http.pagination import Pagination
from schemas.http.parts import AnswerMetadata, Count, DocumentId, DreamingStatus, Flag, Maybe, Timestamp
from schemas.limits import DELETE_DOCUMENTS

ListType = Literal["documents", "chunks", "memories"]
ListSort = Literal["createdAt", "updatedAt", "position"]
ListOrder = Literal["asc", "desc"]


class ListInclude(Body):
    """`content` and `memory_count` concern documents, `forgotten` memories."""

    content: Flag = False
    memory_count: Flag = True
    forgotten: Flag = False


class ListBody(Body):
    """What to list."""

    filter: Maybe[Filter] = None
    include: ListInclude = ListInclude()


class ListedDocumentSystem(Answer):
    """The state of a listed document; `memory_count` unless it was declined, `error` as when it is read."""

    model_config = ConfigDict(extra="allow")
    status: str
    dreaming_status: DreamingStatus
    memory_count: Maybe[Count] = None
    created_at: Timestamp
    updated_at: Timestamp


class ListedDocument(Answer):
    """A document in a list; `content` only when asked for, null before there is a text."""

    id: str
    title: str | None
    type: str
    content: str | None = None
    summary: str | None
    metadata: AnswerMetadata
    url: str | None
    system: ListedDocumentSystem


class ListedChunk(ChunkAnswer):
    """A chunk in a list."""

    document_id: str


class ListAnswer(Answer):
    """All three lists are always there; those not asked for are empty."""

    documents: list[ListedDocument]
    chunks: list[ListedChunk]
    memories: list[MemoryAnswer]
    pagination: Pagination


class CountsBody(Body):
    """Documents whose memories are to be counted."""

    ids: Annotated[list[DocumentId], Field(min_length=1, max_length=DELETE_DOCUMENTS)]


class MemoryCount(Answer):
    """How many memories a document supports."""

    id: str
    memory_count: Count


class CountsAnswer(Answer):
    """Counts; unknown documents are left out."""

    counts: list[MemoryCount]
