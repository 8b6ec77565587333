"""Bodies of searches."""

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictFloat, StrictInt

from schemas.base import RequestBody, ResponseBody
from schemas.http.field_types import COERCE_WHOLE_FLOAT, Omittable, ResponseMetadata, Text
from schemas.http.filter_parsing import Filter
from schemas.http.v5.memory_bodies import DocumentRef, RelatedMemory
from schemas.limits import MAX_SEARCH_RESULTS

SearchMode = Literal["hybrid", "memories", "chunks"]
RerankMode = Literal["none", "order", "aggregate"]


class SearchInclude(RequestBody):
    """Parts to attach to results; `forgotten`: also return forgotten and expired memories."""

    documents: StrictBool = False
    related: StrictBool = False
    forgotten: StrictBool = False


class SearchBody(RequestBody):
    """Query and its options. `threshold`: minimum normalised similarity."""

    query: Annotated[Text, Field(min_length=1)]
    filter: Omittable[Filter] = None
    search_mode: SearchMode = "hybrid"
    limit: Annotated[StrictInt, Field(ge=1, le=MAX_SEARCH_RESULTS), COERCE_WHOLE_FLOAT] = 10
    include: SearchInclude = SearchInclude()
    threshold: Annotated[StrictFloat, Field(ge=0, le=1, allow_inf_nan=False)] = 0.3
    rerank: RerankMode = "none"
    rewrite_query: StrictBool = False


class SearchRelated(ResponseBody):
    """parents: what the memory updates or derives from; children: what updates or extends it."""

    parents: list[RelatedMemory]
    children: list[RelatedMemory]
    siblings: list[RelatedMemory]


class SearchIncluded(ResponseBody):
    """Parts requested with `include`."""

    related: Omittable[SearchRelated] = None
    document: Omittable[DocumentRef] = None


class SearchSystem(ResponseBody):
    """Times of a result's creation and last change."""

    updated_at: str
    created_at: Omittable[str] = None


class SearchResult(ResponseBody):
    """A memory or a chunk: exactly one of the two is set. `similarity` is within 0 and 1."""

    id: str
    memory: Omittable[str] = None
    chunk: Omittable[str] = None
    metadata: ResponseMetadata
    similarity: float
    is_latest: bool
    is_inference: bool
    system: SearchSystem
    included: Omittable[SearchIncluded] = None


class SearchResponse(ResponseBody):
    """Results, best first; `search_time` in milliseconds."""

    results: list[SearchResult]
    search_time: float
