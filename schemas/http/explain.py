"""Where results come from, and how a namespace looked at a past moment. Ours, and outside the contract."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from schemas.base import Answer, Body
from schemas.http.parts import Count, Flag, Maybe, RelationKind, SafeInteger, Timestamp
from schemas.http.profile import ProfileBody, ProfileFact
from schemas.http.search import SearchBody, SearchResult


def _text(value: object) -> object:
    if not isinstance(value, str):
        raise PydanticCustomError("moment", "must be a time with its zone, such as 2026-03-01T12:00:00Z")
    return value


Moment = Annotated[AwareDatetime, BeforeValidator(_text)]
"""A time with its zone."""


class ExplainSearchBody(SearchBody):
    """A search, and at which moment; without one: now. `include.forgotten`: also what was forgotten since."""

    as_of: Maybe[Moment] = None


class ExplainProfileInclude(Body):
    """`forgotten`: also what was forgotten since, and was known then."""

    forgotten: Flag = False


class ExplainProfileBody(ProfileBody):
    """A profile, and at which moment; without one: now."""

    as_of: Maybe[Moment] = None
    include: ExplainProfileInclude = ExplainProfileInclude()


class ScorePart(Answer):
    """What one part of the ranking gave to a result, or took from it."""

    part: str
    score: float
    says: str


class Why(Answer):
    """`parts` add up to `raw`, and `raw` is the similarity on the scale of the answer.

    `start` and `end`: where a chunk stands in the text of its document, in characters.
    """

    kind: Literal["chunk", "memory"]
    raw: float
    parts: list[ScorePart]
    document: Maybe[str] = None
    position: Maybe[int] = None
    start: Maybe[int] = None
    end: Maybe[int] = None


class ExplainedResult(SearchResult):
    """A result of the same search, and why it is one."""

    why: Why


class Limits(Answer):
    """What `asOf` can't show: the tables hold what is, and what was as far as its versions tell.

    `changed_documents`: there then, and changed since; `withheld_memories`: known then, and forgotten since
    on somebody's request. `says`: all of it, for people.
    """

    changed_documents: Count
    withheld_memories: Count
    says: list[str]


class Scale(Answer):
    """similarity = 1 / (1 + exp((middle - raw) / width))."""

    middle: float
    width: float


class ExplainedSearch(Answer):
    """The answer of the same search, explained. `embedder`: what gave the vectors."""

    results: list[ExplainedResult]
    search_time: float
    embedder: str
    scale: Scale
    as_of: Maybe[Timestamp] = None
    limits: Maybe[Limits] = None


class ExplainedFact(ProfileFact):
    """A fact of a profile, and the memories it is made of."""

    memories: list[str]


class ExplainedPortrait(Answer):
    """The sections of a profile."""

    static: list[ExplainedFact]
    dynamic: list[ExplainedFact]
    buckets: dict[str, list[ExplainedFact]]


class ExplainedProfile(Answer):
    """The answer of the same profile, explained."""

    profile: ExplainedPortrait
    as_of: Maybe[Timestamp] = None
    limits: Maybe[Limits] = None


class LogEvent(Answer):
    """A record of the log: where it is, what it did, when it was written, and the request behind it.

    `id`: topic/partition/offset. `at`: the time of what it tells; `recorded_at`: when the log took it.
    `by`: what found a memory (`rules`, or a language model), where that was noted.
    """

    stage: Literal["submit", "extract", "memories", "forget"]
    id: str
    topic: str
    partition: SafeInteger
    offset: SafeInteger
    at: Timestamp
    recorded_at: Timestamp
    operation: Maybe[str] = None
    request_id: Maybe[str] = None
    by: Maybe[str] = None


class Span(Answer):
    """A stretch of a document's text, in characters, and what stands there now."""

    start: Count
    end: Count
    text: str


class Origin(Answer):
    """A document as the source of something."""

    id: str
    title: str | None
    type: str
    created_at: Timestamp
    updated_at: Timestamp
    url: Maybe[str] = None
    file: Maybe[str] = None


class ExplainedDocument(Answer):
    """What was done to a document, oldest first, and what became of it.

    `notes`: what can't be said, and why.
    """

    document: Origin
    status: str
    error: Maybe[str] = None
    characters: Count
    chunks: Count
    memories: Count
    embedder: str
    events: list[LogEvent]
    notes: list[str]


class ExplainedChunk(Answer):
    """The passage in its document, and the events that made it."""

    id: str
    chunk: str
    position: Count
    heading: Maybe[str] = None
    span: Span
    document: Origin
    embedder: str
    events: list[LogEvent]
    notes: list[str]


class StatedBy(Answer):
    """A document that states a memory: where, since which text, in which that holds now last, and when.

    `at` with `date`: the time the fact speaks of. `replaced_by`: memories that speak of a later time.
    """

    document: Maybe[Origin] = None
    span: Maybe[Span] = None
    since: Timestamp
    at: Timestamp
    date: Maybe[str] = None
    event_dates: list[str]
    replaced_by: list[str]
    forgotten_at: Maybe[Timestamp] = None
    forget_reason: Maybe[str] = None
    events: list[LogEvent]


class ExplainedRelation(Answer):
    """A relation with the reason it was drawn and the evidence that was kept of it.

    `direction`: `to` what the memory updates, extends or derives from; `from` what does that to it.
    `score`: how sure, within 0 and 1, where the rule can tell. `memory` is absent where the other is gone.
    """

    kind: RelationKind
    direction: Literal["to", "from"]
    id: str
    memory: Maybe[str] = None
    version: Maybe[int] = None
    is_latest: Maybe[bool] = None
    is_forgotten: Maybe[bool] = None
    why: str
    slot: Maybe[str] = None
    evidence: Maybe[str] = None
    score: Annotated[Maybe[float], Field(ge=0, le=1)] = None


class ExplainedMemory(Answer):
    """Who states a memory, since when, and how it stands to others."""

    id: str
    memory: str
    version: SafeInteger
    is_static: bool
    is_inference: bool
    is_latest: bool
    is_forgotten: bool
    forgotten_at: Maybe[Timestamp] = None
    forget_reason: Maybe[str] = None
    expires_at: Maybe[Timestamp] = None
    statements: list[StatedBy]
    relations: list[ExplainedRelation]
    events: list[LogEvent]
    embedder: str
    notes: list[str]
