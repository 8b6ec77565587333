"""Bodies of replays (extension of the contract)."""

from typing import Annotated, Literal

from pydantic import Field, StrictInt

from schemas.base import RequestBody, ResponseBody
from schemas.http.field_types import COERCE_WHOLE_FLOAT, Count, Omittable, Text, Timestamp


class ReplayBody(RequestBody):
    """Configuration of the new generation; omitted fields keep their current value."""

    source: Annotated[Literal["documents", "memories"], Field(alias="from")] = "documents"
    stage: Omittable[Literal["embed"]] = None
    embedder: Omittable[Literal["e5", "e5-encoder", "wordllama", "openai", "none"]] = None
    embedder_model: Omittable[Annotated[Text, Field(min_length=1, max_length=200)]] = None
    embedder_dimensions: Omittable[Annotated[StrictInt, Field(ge=1, le=8192), COERCE_WHOLE_FLOAT]] = None
    embedder_base_url: Omittable[Annotated[Text, Field(min_length=1, max_length=2000)]] = None
    chunk_size: Omittable[Annotated[StrictInt, Field(ge=100, le=8000), COERCE_WHOLE_FLOAT]] = None
    shards: Omittable[Annotated[StrictInt, Field(ge=1, le=1024), COERCE_WHOLE_FLOAT]] = None
    force: bool = False
    """Switch over even if the new generation differs from the active one."""


class IndexConfigResponse(ResponseBody):
    """Configuration of a generation."""

    embedder: str
    embedder_model: str
    embedder_dimensions: int
    chunk_size: int
    shards: int


class ReplayPlanResponse(ResponseBody):
    """Records that a replay would read, by topic, and an estimate of what it would write."""

    current: Count
    previous: Count | None
    index_config: IndexConfigResponse
    records: dict[str, Count]
    documents: Count
    chunks: Count
    memories: Count
    bytes: Count


class ReplayProgressResponse(ResponseBody):
    """Progress of the running or latest replay; `read` of `total` offsets of the log."""

    state: Literal["idle", "running", "done", "failed", "cancelled"]
    generation: Count | None
    step: str
    read: Count
    total: Count
    started_at: Timestamp | None
    ended_at: Timestamp | None
    error: str | None
    differences: list[str]


class CleanUpResponse(ResponseBody):
    """Removed generations."""

    removed: list[Count]
