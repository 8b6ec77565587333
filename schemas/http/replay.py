"""Replays, as an operator asks for them. Ours, and outside the contract."""

from typing import Annotated, Literal

from pydantic import Field, StrictInt

from schemas.base import Answer, Body
from schemas.http.parts import WHOLE, Count, Maybe, Text, Timestamp


class ReplayBody(Body):
    """What the new tables are made with; what is not given stays as it is."""

    source: Annotated[Literal["documents", "memories"], Field(alias="from")] = "documents"
    stage: Maybe[Literal["embed"]] = None
    embedder: Maybe[Literal["wordllama", "openai", "none"]] = None
    embedder_model: Maybe[Annotated[Text, Field(min_length=1, max_length=200)]] = None
    embedder_dimensions: Maybe[Annotated[StrictInt, Field(ge=1, le=8192), WHOLE]] = None
    embedder_base_url: Maybe[Annotated[Text, Field(min_length=1, max_length=2000)]] = None
    chunk_size: Maybe[Annotated[StrictInt, Field(ge=100, le=8000), WHOLE]] = None
    shards: Maybe[Annotated[StrictInt, Field(ge=1, le=1024), WHOLE]] = None
    force: bool = False
    """Switch also where the new tables hold something else than the old ones."""


class RecipeAnswer(Answer):
    """What tables are made with."""

    embedder: str
    embedder_model: str
    embedder_dimensions: int
    chunk_size: int
    shards: int


class ReplayPlan(Answer):
    """What a replay would read, in records by topic, and about how much it would write."""

    current: Count
    previous: Count | None
    recipe: RecipeAnswer
    records: dict[str, Count]
    documents: Count
    chunks: Count
    memories: Count
    bytes: Count


class ReplayAnswer(Answer):
    """How the replay goes that runs, or ran last; `read` of `total` offsets of the log."""

    state: Literal["idle", "running", "done", "failed", "cancelled"]
    generation: Count | None
    step: str
    read: Count
    total: Count
    started_at: Timestamp | None
    ended_at: Timestamp | None
    error: str | None
    differences: list[str]


class CleanedAnswer(Answer):
    """The generations that were removed."""

    removed: list[Count]
