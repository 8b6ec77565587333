"""Bodies of v3 and v4 searches, and of v4 profiles."""

from typing import Annotated, Any, Literal

from pydantic import Field

from schemas.base import ResponseBody
from schemas.http.field_types import ResponseMetadata, Text
from schemas.http.v3_v4.lenient_body import ContainerTag, LenientBody, TaggedBody
from schemas.limits import MAX_SEARCH_RESULTS

Query = Annotated[Text, Field(min_length=1)]
Limit = Annotated[int, Field(ge=1, le=MAX_SEARCH_RESULTS)]
Threshold = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
RawFilters = dict[str, Any] | str


class DocumentSearchBody(TaggedBody):
    q: Query
    limit: Limit = 10
    filters: RawFilters | None = None
    filepath: Text | None = None
    categories_filter: list[Text] | None = None
    doc_id: Text | None = None
    chunk_threshold: Threshold = 0.0
    document_threshold: Threshold = 0.0
    include_full_docs: bool = False
    include_summary: bool = False
    only_matching_chunks: bool = True
    rerank: bool = False
    rewrite_query: bool = False


class MatchingChunk(ResponseBody):
    """A passage of a found document; `is_relevant` False: a neighbour of a match."""

    content: str
    is_relevant: bool
    score: float


class FoundDocument(ResponseBody):
    """A document with its best passages; its score is that of the best one."""

    document_id: str
    title: str | None
    type: str | None
    score: float
    chunks: list[MatchingChunk]
    metadata: ResponseMetadata
    created_at: str
    updated_at: str
    summary: str | None = None
    content: str | None = None


class DocumentSearchResponse(ResponseBody):
    """Found documents, best first; `timing` in milliseconds."""

    results: list[FoundDocument]
    timing: float
    total: int


class MemorySearchInclude(LenientBody):
    """Parts to attach to results, and whether forgotten memories are found."""

    documents: bool = False
    summaries: bool = False
    related_memories: bool = False
    forgotten_memories: bool = False
    chunks: bool = False


class MemorySearchBody(TaggedBody):
    """Search for memories, passages or both (v4). `threshold` None: this service's default."""

    q: Query
    search_mode: Literal["memories", "hybrid", "documents"] = "memories"
    limit: Limit = 10
    threshold: Threshold | None = None
    filters: RawFilters | None = None
    filepath: Text | None = None
    include: MemorySearchInclude = MemorySearchInclude()
    rerank: bool = False
    aggregate: bool = False
    rewrite_query: bool = False


class RelatedMemory(ResponseBody):
    relation: str
    version: int | None = None
    memory: str
    metadata: ResponseMetadata
    updated_at: str


class MemoryContext(ResponseBody):
    """Memories that a result replaces or follows from, that replace it, and others linked to it."""

    parents: list[RelatedMemory]
    children: list[RelatedMemory]
    related: list[RelatedMemory]


class SourceDocument(ResponseBody):
    id: str
    title: str
    type: str
    metadata: ResponseMetadata
    summary: str | None = None
    created_at: str
    updated_at: str


class SourceChunk(ResponseBody):
    content: str
    score: float
    position: int
    document_id: str


class FoundMemory(ResponseBody):
    """A memory or a passage: exactly one of the two is set."""

    id: str
    memory: str | None = None
    chunk: str | None = None
    metadata: ResponseMetadata
    updated_at: str
    similarity: float
    filepath: str | None = None
    version: int | None = None
    context: MemoryContext | None = None
    documents: list[SourceDocument] | None = None
    chunks: list[SourceChunk] | None = None


class MemorySearchResponse(ResponseBody):
    """Results, best first; `timing` in milliseconds."""

    results: list[FoundMemory]
    timing: float
    total: int


class ProfileBody(LenientBody):
    """Profile of a container; with `q` also a search in it."""

    container_tag: ContainerTag
    q: Text | None = None
    threshold: Threshold | None = None
    filters: RawFilters | None = None
    include: list[Literal["static", "dynamic", "buckets"]] | None = None
    buckets: list[str] | None = None


class ProfileSections(ResponseBody):
    static: list[str] | None = None
    dynamic: list[str] | None = None
    buckets: dict[str, list[str]] | None = None


class ProfileResponse(ResponseBody):
    """Profile, and the results of the search if there was one."""

    profile: ProfileSections
    search_results: MemorySearchResponse | None = None


class ContainerBody(LenientBody):
    container_tag: ContainerTag
