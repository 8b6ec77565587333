"""Search."""

from typing import Annotated, Literal

from pydantic import Field, StrictInt

from schemas.base import Answer, Body
from schemas.http.filters import Filter
from schemas.http.memories import DocumentRef, RelatedMemory
from schemas.http.parts import WHOLE, AnswerMetadata, Flag, Maybe, Real, Text
from schemas.limits import SEARCH_LIMIT

SearchMode = Literal["hybrid", "memories", "chunks"]
Rerank = Literal["none", "order", "aggregate"]


class SearchInclude(Body):
    """What to attach to results; `forgotten` lets forgotten and expired memories be results."""

    documents: Flag = False
    related: Flag = False
    forgotten: Flag = False


class SearchBody(Body):
    """A question, and how to answer it. `threshold` cuts the normalised similarity."""

    query: Annotated[Text, Field(min_length=1)]
    filter: Maybe[Filter] = None
    search_mode: SearchMode = "hybrid"
    limit: Annotated[StrictInt, Field(ge=1, le=SEARCH_LIMIT), WHOLE] = 10
    include: SearchInclude = SearchInclude()
    threshold: Annotated[Real, Field(ge=0, le=1, allow_inf_nan=False)] = 0.3
    rerank: Rerank = "none"
    rewrite_query: Flag = False


class SearchRelated(Answer):
    """parents: what the memory updates or derives from; children: what updates or extends it."""

    parents: list[RelatedMemory]
    children: list[RelatedMemory]
    siblings: list[RelatedMemory]


class SearchIncluded(Answer):
    """What was asked for with `include`."""

    related: Maybe[SearchRelated] = None
    document: Maybe[DocumentRef] = None


class SearchSystem(Answer):
    """When the result was made and last changed."""

    updated_at: str
    created_at: Maybe[str] = None


class SearchResult(Answer):
    """A memory or a chunk: exactly one of the two is set. `similarity` is within 0 and 1."""

    id: str
    memory: Maybe[str] = None
    chunk: Maybe[str] = None
    metadata: AnswerMetadata
    similarity: float
    is_latest: bool
    is_inference: bool
    system: SearchSystem
    included: Maybe[SearchIncluded] = None


class SearchAnswer(Answer):
    """Results, best first; `search_time` in milliseconds."""

    results: list[SearchResult]
    search_time: float
