"""Bodies of v3 and v4 searches, and of v4 profiles."""

from typing import Annotated, Any, Literal

from pydantic import Field

from schemas.http.field_types import Text
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


class ProfileBody(LenientBody):
    """Profile of a container; with `q` also a search in it."""

    container_tag: ContainerTag
    q: Text | None = None
    threshold: Threshold | None = None
    filters: RawFilters | None = None
    include: list[Literal["static", "dynamic", "buckets"]] | None = None
    buckets: list[str] | None = None


class ContainerBody(LenientBody):
    container_tag: ContainerTag
