"""Lists of documents, chunks and memories, and counts of memories."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StrictBool

from schemas.base import RequestBody, ResponseBody
from schemas.http import field_types as fields
from schemas.http.filter_parsing import Filter
from schemas.http.pagination import Pagination
from schemas.http.v5.document_bodies import ChunkResponse
from schemas.http.v5.memory_bodies import MemoryResponse
from schemas.limits import MAX_DOCUMENT_IDS

ListType = Literal["documents", "chunks", "memories"]
ListSort = Literal["createdAt", "updatedAt", "position"]
ListOrder = Literal["asc", "desc"]


class ListInclude(RequestBody):
    """`content` and `memory_count` concern documents, `forgotten` memories."""

    content: StrictBool = False
    memory_count: StrictBool = True
    forgotten: StrictBool = False


class ListBody(RequestBody):
    """Filter and parts of a list."""

    filter: fields.Omittable[Filter] = None
    include: ListInclude = ListInclude()


class ListedDocumentSystem(ResponseBody):
    """The state of a listed document; `memory_count` unless it was declined, `error` as when it is read."""

    model_config = ConfigDict(extra="allow")
    status: str
    dreaming_status: fields.DreamingStatus
    memory_count: fields.Omittable[fields.Count] = None
    created_at: fields.Timestamp
    updated_at: fields.Timestamp


class ListedDocument(ResponseBody):
    """A document in a list; `content` only when asked for, null before there is a text."""

    id: str
    title: str | None
    type: str
    content: str | None = None
    summary: str | None
    metadata: fields.ResponseMetadata
    url: str | None
    system: ListedDocumentSystem


class ListedChunk(ChunkResponse):
    """A chunk in a list."""

    document_id: str


class ListResponse(ResponseBody):
    """All three lists are always there; those not asked for are empty."""

    documents: list[ListedDocument]
    chunks: list[ListedChunk]
    memories: list[MemoryResponse]
    pagination: Pagination


class MemoryCountsBody(RequestBody):
    """Documents whose memories are to be counted."""

    ids: Annotated[list[fields.DocumentId], Field(min_length=1, max_length=MAX_DOCUMENT_IDS)]


class MemoryCount(ResponseBody):
    """Number of memories that a document supports."""

    id: str
    memory_count: fields.Count


class MemoryCountsResponse(ResponseBody):
    """Counts; unknown documents are left out."""

    counts: list[MemoryCount]
