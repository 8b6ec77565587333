"""What an operator asks of a replay, what it would do, and how it goes."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from pydantic import TypeAdapter

from pipeline.store.generations import Recipe

State = Literal["idle", "running", "done", "failed", "cancelled"]


class ReplayError(Exception):
    """A replay can't be done, or was not; the message is for the operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to make anew, and with what; None: as it is now.

    `source` documents: all, from the texts in the log; memories: only these, from the log, with documents and
    chunks copied. `stage` embed: the vectors only, and all else is copied.
    """

    source: Literal["documents", "memories"] = "documents"
    stage: Literal["embed"] | None = None
    embedder: Literal["wordllama", "openai", "none"] | None = None
    embedder_model: str | None = None
    embedder_dimensions: int | None = None
    embedder_base_url: str | None = None
    chunk_size: int | None = None
    shards: int | None = None
    force: bool = False
    """Switch also where the new tables hold something else than the old ones."""

    @property
    def copies(self) -> bool:
        """Whether documents and chunks are copied from the tables that are served."""
        return self.source == "memories" or self.stage is not None

    def check(self, now: Recipe) -> None:
        """ReplayError when it contradicts itself."""
        wanted = self.recipe(now)
        if self.source == "memories" and self.stage is not None:
            raise ReplayError("--from memories and --stage embed make different things anew: give one.")
        if self.copies and wanted.chunk_size != now.chunk_size:
            raise ReplayError("Chunks that are copied keep their size: another one needs --from documents.")
        if self.source == "memories" and _embedding(wanted) != _embedding(now):
            raise ReplayError("Chunks that are copied keep their vectors: give --stage embed instead.")

    def recipe(self, now: Recipe) -> Recipe:
        """The recipe of the new generation."""
        asked = {name: value for name in Recipe.model_fields if (value := getattr(self, name)) is not None}
        return Recipe.model_validate(now.model_dump() | asked)


def _embedding(recipe: Recipe) -> tuple[str, str, int]:
    return recipe.embedder, recipe.embedder_model, recipe.embedder_dimensions


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a replay would read (records by topic) and about how much it would write."""

    current: int
    previous: int | None
    recipe: Recipe
    records: dict[str, int]
    documents: int
    chunks: int
    memories: int
    bytes: int


@dataclass(slots=True)
class Progress:
    """`read` of `total` offsets of the log. `differences`: rows of a sample that are not as they were."""

    state: State = "idle"
    generation: int | None = None
    step: str = ""
    read: int = 0
    total: int = 0
    started_at: datetime | None = None
    ended_at: datetime | None = None
    error: str | None = None
    differences: list[str] = field(default_factory=list)
    told_at: datetime | None = None
    """When it was last written down for other processes."""

    @property
    def name(self) -> bytes:
        """Of this replay alone."""
        return b"" if self.started_at is None else self.started_at.isoformat().encode()

    def is_later_than(self, other: "Progress") -> bool:
        """Whether its replay began later."""
        return self.name > other.name

    def written(self) -> bytes:
        """For other processes."""
        return TypeAdapter(Progress).dump_json(self)

    @staticmethod
    def read_from(value: bytes) -> "Progress":
        """What `written` wrote."""
        return TypeAdapter(Progress).validate_json(value)

    def tell(self, step: str, offsets: int) -> None:
        """So many more were read."""
        self.step = step
        self.read += offsets

    def end(self, state: State, at: datetime, error: str | None = None) -> None:
        """It has ended."""
        self.state, self.ended_at, self.error = state, at, error
        self.step = ""
