"""Bodies of explanations and of searches at a past time (extension of the contract)."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, StrictBool
from pydantic_core import PydanticCustomError

from schemas.base import RequestBody, ResponseBody
from schemas.http.field_types import Count, Omittable, RelationKind, ResourceId, SafeInteger, Timestamp
from schemas.http.pagination import Pagination
from schemas.http.v5.memory_bodies import MemoryResponse
from schemas.http.v5.profile_bodies import ProfileBody, ProfileFact
from schemas.http.v5.search_bodies import SearchBody, SearchResult


def _require_string(value: object) -> object:
    if not isinstance(value, str):
        raise PydanticCustomError("moment", "must be a time with its zone, such as 2026-03-01T12:00:00Z")
    return value


def _to_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise PydanticCustomError("moment", "must be within the years 1 and 9999 in UTC too") from None


ZonedDateTime = Annotated[AwareDatetime, BeforeValidator(_require_string), AfterValidator(_to_utc)]
"""Timestamp with a UTC offset, in UTC."""


class ExplainSearchBody(SearchBody):
    """Search, now or at `as_of`. `include.forgotten`: also memories forgotten since then."""

    as_of: Omittable[ZonedDateTime] = None


class ExplainProfileInclude(RequestBody):
    """Parts to include; `forgotten`: also memories forgotten since `as_of`."""

    forgotten: StrictBool = False


class ExplainProfileBody(ProfileBody):
    """Profile, now or at `as_of`."""

    as_of: Omittable[ZonedDateTime] = None
    include: ExplainProfileInclude = ExplainProfileInclude()


class ScoreContributionResponse(ResponseBody):
    """Contribution of a ranking signal to a result's score."""

    signal: str
    score: float
    description: str


class ScoreExplanationResponse(ResponseBody):
    """Score of a result: `contributions` add up to `raw_score`, which the scale maps to the similarity.

    `start` and `end`: span of a chunk in its document's text, in characters.
    """

    kind: Literal["chunk", "memory"]
    raw_score: float
    contributions: list[ScoreContributionResponse]
    document: Omittable[str] = None
    position: Omittable[int] = None
    start: Omittable[int] = None
    end: Omittable[int] = None


class TextRange(ResponseBody):
    """Range of a text, in characters."""

    start: Count
    end: Count


class ExplainedResult(SearchResult):
    """Search result with its explanation; `highlights`: the parts of its text that the query's words match."""

    explanation: ScoreExplanationResponse
    highlights: list[TextRange]


class AsOfLimitations(ResponseBody):
    """Gaps of a search at a past time, as tables only hold the present and versions of memories.

    `changed_documents`: documents changed since; `withheld_memories`: memories forgotten on request since.
    `notes`: all gaps, in words for people.
    """

    changed_documents: Count
    withheld_memories: Count
    notes: list[str]


class SimilarityScale(ResponseBody):
    """Scale of scores: similarity = 1 / (1 + exp((midpoint - raw_score) / width))."""

    midpoint: float
    width: float


class ExplainedSearch(ResponseBody):
    """Explained search results. `embedder`: the model of the vectors."""

    results: list[ExplainedResult]
    search_time: float
    embedder: str
    scale: SimilarityScale
    as_of: Omittable[Timestamp] = None
    limitations: Omittable[AsOfLimitations] = None


class ExplainMissingBody(ExplainSearchBody):
    """Search, and the id of the document that it should have found."""

    document: ResourceId


MissingReason = Literal[
    "found", "unknown", "failed", "processing", "filter", "mode", "notSimilar", "threshold", "limit", "reranked"
]


class MissingCause(ResponseBody):
    """Reason why a document is not among the results, in words for people."""

    reason: MissingReason
    description: str


class ExplainedAbsence(ResponseBody):
    """Place of a document in a search without threshold, limit and reranking, and why it is not among the results.

    `rank`: of its best passage or memory, from 1; None if none matches, or more than 5,000 rank before it.
    `asOf`: the past moment that was asked about; what was then is not known of all.
    """

    document: str
    causes: list[MissingCause]
    threshold: float
    limit: Count
    rank: Count | None
    best: ExplainedResult | None
    scale: SimilarityScale
    as_of: Omittable[Timestamp] = None
    limitations: Omittable[AsOfLimitations] = None


class ExplainedFact(ProfileFact):
    """Fact of a profile, and the memories behind it."""

    memories: list[str]


class ExplainedProfileSections(ResponseBody):
    """Sections of a profile."""

    static: list[ExplainedFact]
    dynamic: list[ExplainedFact]
    buckets: dict[str, list[ExplainedFact]]


class ExplainedProfile(ResponseBody):
    """Explained profile."""

    profile: ExplainedProfileSections
    as_of: Omittable[Timestamp] = None
    limitations: Omittable[AsOfLimitations] = None


class LogRecordResponse(ResponseBody):
    """Record of the log with its position, times and request.

    `id`: topic/partition/offset. `at`: time of the event; `recorded_at`: time of the append. `extracted_by`:
    extractor of a memory (`rules`, or a language model), if known.
    """

    stage: Literal["submit", "extract", "memories", "forget"]
    id: str
    topic: str
    partition: SafeInteger
    offset: SafeInteger
    at: Timestamp
    recorded_at: Timestamp
    operation: Omittable[str] = None
    request_id: Omittable[str] = None
    extracted_by: Omittable[str] = None


class TextSpan(ResponseBody):
    """Span of a document's text, in characters, and its present content."""

    start: Count
    end: Count
    text: str


class SourceDocument(ResponseBody):
    """Source document."""

    id: str
    title: str | None
    type: str
    created_at: Timestamp
    updated_at: Timestamp
    url: Omittable[str] = None
    file: Omittable[str] = None


class ExplainedDocument(ResponseBody):
    """Processing history of a document, oldest event first.

    `notes`: what cannot be determined, and why.
    """

    document: SourceDocument
    status: str
    error: Omittable[str] = None
    characters: Count
    chunks: Count
    memories: Count
    embedder: str
    events: list[LogRecordResponse]
    notes: list[str]


class ExplainedChunk(ResponseBody):
    """Chunk in its document, and the events that produced it."""

    id: str
    chunk: str
    position: Count
    heading: Omittable[str] = None
    page: Omittable[str] = None
    """Its page or slide, `12` or `12-13`, or its sheet's name."""
    span: TextSpan
    document: SourceDocument
    embedder: str
    events: list[LogRecordResponse]
    notes: list[str]


class SupportingStatement(ResponseBody):
    """Document that states a memory, with the span and time of the statement.

    `since`: first uninterrupted statement. `at` with `date`: time the fact describes. `replaced_by`: memories
    about a later time.
    """

    document: Omittable[SourceDocument] = None
    span: Omittable[TextSpan] = None
    since: Timestamp
    at: Timestamp
    date: Omittable[str] = None
    event_dates: list[str]
    said_by: Omittable[str] = None
    """Speaker, if the document names one."""
    replaced_by: list[str]
    forgotten_at: Omittable[Timestamp] = None
    forget_reason: Omittable[str] = None
    events: list[LogRecordResponse]


class ExplainedRelation(ResponseBody):
    """Relation with its reason and evidence.

    `direction`: `to` a memory that this one updates, extends or derives from; `from` a memory that does so to
    this one. `score`: confidence within 0 and 1, if the rule has one. `memory` is absent if the other memory
    does not exist any more.
    """

    kind: RelationKind
    direction: Literal["to", "from"]
    id: str
    memory: Omittable[str] = None
    version: Omittable[int] = None
    is_latest: Omittable[bool] = None
    is_forgotten: Omittable[bool] = None
    reason: str
    attribute: Omittable[str] = None
    evidence: Omittable[str] = None
    score: Annotated[Omittable[float], Field(ge=0, le=1)] = None


class ExplainedMemory(ResponseBody):
    """Memory with its supporting statements and relations."""

    id: str
    memory: str
    version: SafeInteger
    is_static: bool
    is_inference: bool
    is_latest: bool
    is_forgotten: bool
    forgotten_at: Omittable[Timestamp] = None
    forget_reason: Omittable[str] = None
    expires_at: Omittable[Timestamp] = None
    statements: list[SupportingStatement]
    relations: list[ExplainedRelation]
    events: list[LogRecordResponse]
    embedder: str
    notes: list[str]


MemoryKind = Literal["long-term", "recent", "stated", "inferred"]
MemoryState = Literal["current", "replaced", "forgotten"]


class FilteredMemories(ResponseBody):
    """A page of memories. `is_complete`: all memories were looked through, not only the newest."""

    memories: list[MemoryResponse]
    pagination: Pagination
    is_complete: bool
