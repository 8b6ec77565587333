"""Bodies of v4 memories."""

from typing import Annotated, Any

from pydantic import Field

from schemas.base import ResponseBody
from schemas.http.field_types import Date, MetadataBody, ResponseMetadata, Text
from schemas.http.pagination import Pagination
from schemas.http.v3_v4.lenient_body import ContainerTag, LenientBody
from schemas.limits import MAX_FORGET_IDS, MAX_FORGET_QUERY_LENGTH

ForgetReason = Annotated[Text, Field(max_length=MAX_FORGET_QUERY_LENGTH)]
MemoryText = Annotated[Text, Field(min_length=1, max_length=10_000)]


class TemporalContext(LenientBody):
    """Date of the source and dates of the described event, ISO 8601."""

    document_date: Date | None = None
    event_date: list[Text] | None = None


class MemoryFields(LenientBody):
    metadata: MetadataBody | None = None
    forget_after: Text | None = None
    forget_reason: Text | None = None
    temporal_context: TemporalContext = TemporalContext()


class NewMemory(MemoryFields):
    content: MemoryText
    is_static: bool = False


class CreateMemoriesBody(LenientBody):
    container_tag: ContainerTag
    memories: Annotated[list[NewMemory], Field(min_length=1, max_length=100)]


class MemoryReference(LenientBody):
    container_tag: ContainerTag
    id: Text | None = None
    content: Text | None = None


class ForgetMemoryBody(MemoryReference):
    reason: ForgetReason | None = None


class UpdateMemoryBody(MemoryReference, MemoryFields):
    new_content: MemoryText


class ForgetMatchingBody(LenientBody):
    container_tag: ContainerTag
    query: Annotated[Text, Field(min_length=1, max_length=MAX_FORGET_QUERY_LENGTH)]
    dry_run: bool = False
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.5
    max_forget: Annotated[int, Field(ge=1, le=MAX_FORGET_IDS)] = 100
    reason: ForgetReason | None = None


class StoredMemoryResponse(ResponseBody):
    id: str
    memory: str
    created_at: str
    forget_after: str | None
    forget_reason: str | None
    metadata: ResponseMetadata | None


class CreatedMemory(StoredMemoryResponse):
    is_static: bool


class CreateMemoriesResponse(ResponseBody):
    """Stored memories, and the document that holds them; None: more than one does."""

    document_id: str | None
    memories: list[CreatedMemory]


class ForgetMemoryResponse(ResponseBody):
    id: str
    forgotten: bool


class UpdatedMemory(StoredMemoryResponse):
    version: int
    parent_memory_id: str | None
    root_memory_id: str | None


class ScoredMemory(ResponseBody):
    id: str
    memory: str
    score: float


class ForgetMatchingResponse(ResponseBody):
    """`candidates` of a dry run, else what was `forgotten`."""

    dry_run: bool
    count: int
    forget_batch_id: str | None
    summary: str
    candidates: list[ScoredMemory] | None = None
    forgotten: list[ScoredMemory] | None = None


class MemoryVersion(ResponseBody):
    id: str
    memory: str
    version: int
    created_at: str
    updated_at: str
    parent_memory_id: str | None
    root_memory_id: str | None
    is_latest: bool
    is_forgotten: bool


class MemoryEntry(MemoryVersion):
    is_static: bool
    is_inference: bool
    space_id: str
    org_id: str
    source_count: int
    forget_after: str | None
    forget_reason: str | None
    metadata: ResponseMetadata | None
    memory_relations: dict[str, str] | None
    temporal_context: dict[str, Any] | None
    history: list[MemoryVersion]
    document_ids: list[str]


class ListMemoriesResponse(ResponseBody):
    memory_entries: list[MemoryEntry]
    pagination: Pagination
