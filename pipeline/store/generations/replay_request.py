"""Replay request and progress."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from pydantic import TypeAdapter

from pipeline.store.generations.generation_registry import IndexConfig

ReplayState = Literal["idle", "running", "done", "failed", "cancelled"]


class ReplayError(Exception):
    """A replay is impossible or failed; the message is for the operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
    """Sources and settings of a rebuild; None: unchanged.

    `source` documents: everything, from the texts in the log; memories: only memories, from the log, while
    documents and chunks are copied. `stage` embed: only the vectors, everything else is copied.
    """

    source: Literal["documents", "memories"] = "documents"
    stage: Literal["embed"] | None = None
    embedder: Literal["e5", "e5-encoder", "wordllama", "openai", "none"] | None = None
    embedder_model: str | None = None
    embedder_dimensions: int | None = None
    embedder_base_url: str | None = None
    chunk_size: int | None = None
    shards: int | None = None
    force: bool = False
    """Switch even if the new tables differ from the old ones."""

    @property
    def copies_documents(self) -> bool:
        """True if documents and chunks are copied from the active generation."""
        return self.source == "memories" or self.stage is not None

    def validate(self, current: IndexConfig) -> None:
        """Raise ReplayError if the options contradict each other."""
        requested = self.index_config(current)
        if self.source == "memories" and self.stage is not None:
            raise ReplayError("--from memories and --stage embed rebuild different things: give only one.")
        if self.copies_documents and requested.chunk_size != current.chunk_size:
            raise ReplayError("Copied chunks keep their size: another size needs --from documents.")
        if self.source == "memories" and _embedding_config(requested) != _embedding_config(current):
            raise ReplayError("Copied chunks keep their vectors: give --stage embed instead.")

    def index_config(self, current: IndexConfig) -> IndexConfig:
        overrides = {name: value for name in IndexConfig.model_fields if (value := getattr(self, name)) is not None}
        return IndexConfig.model_validate(current.model_dump() | overrides)


def _embedding_config(index_config: IndexConfig) -> tuple[str, str, int]:
    return index_config.embedder, index_config.embedder_model, index_config.embedder_dimensions


@dataclass(slots=True)
class ReplayProgress:
    """Progress: `read` of `total` log offsets. `differences`: sampled rows that changed."""

    state: ReplayState = "idle"
    generation: int | None = None
    step: str = ""
    read: int = 0
    total: int = 0
    started_at: datetime | None = None
    ended_at: datetime | None = None
    error: str | None = None
    differences: list[str] = field(default_factory=list)
    reported_at: datetime | None = None
    """Time of the last report to other processes."""

    @property
    def replay_id(self) -> bytes:
        """Identifier of this replay; empty before it started."""
        return b"" if self.started_at is None else self.started_at.isoformat().encode()

    def started_after(self, other: "ReplayProgress") -> bool:
        """True if this replay started later than the other."""
        return self.replay_id > other.replay_id

    def to_bytes(self) -> bytes:
        """Serialize for other processes."""
        return TypeAdapter(ReplayProgress).dump_json(self)

    @staticmethod
    def from_bytes(value: bytes) -> "ReplayProgress":
        """Parse the result of `to_bytes`."""
        return TypeAdapter(ReplayProgress).validate_json(value)

    def advance(self, step: str, offsets: int) -> None:
        """Add read offsets and name the current step."""
        self.step = step
        self.read += offsets

    def finish(self, state: ReplayState, at: datetime, error: str | None = None) -> None:
        """Record how the replay ended."""
        self.state, self.ended_at, self.error = state, at, error
        self.step = ""
