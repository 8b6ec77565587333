"""What a search looks for in a namespace, and what it finds."""

from dataclasses import dataclass, field
from typing import Literal

from pipeline.index.documents import DocumentFacts
from pipeline.index.parts import Parts
from pipeline.rows import Vector
from schemas.events import RelationKind
from schemas.filters import FilterExpression

Kind = Literal["chunk", "memory"]
BOTH: tuple[Kind, ...] = ("chunk", "memory")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rows may be results. `forgotten` lets forgotten memories in; `threshold` cuts the similarity.

    `explained`: hits say what their scores are made of.
    """

    kinds: tuple[Kind, ...] = BOTH
    limit: int = 10
    threshold: float = 0.3
    filter: FilterExpression | None = None
    forgotten: bool = False
    explained: bool = False

    @property
    def regarded(self) -> tuple[Kind, ...]:
        """What is looked at: memories also say which passages answer."""
        return BOTH if "chunk" in self.kinds else self.kinds


@dataclass(frozen=True, slots=True)
class Hit:
    """A row that was found. `start` and `end`: a chunk's offsets in its document; times in microseconds."""

    kind: Kind
    id: str
    text: str
    raw: float
    similarity: float
    document: DocumentFacts
    vector: Vector
    created_at: int
    updated_at: int
    position: int = 0
    start: int = 0
    end: int = 0
    is_latest: bool = True
    is_inference: bool = False
    gave: Parts | None = None
    """What `raw` is made of, where that was asked for."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """A current memory, as a profile shows it. `updated_at` in microseconds."""

    updated_at: int
    id: str
    text: str
    is_static: bool
    vector: Vector
    date: str = ""
    """As its source has it; empty for none."""


@dataclass(frozen=True, slots=True)
class RelatedHit:
    """A memory that a found one is related to."""

    id: str
    relation: RelationKind
    version: int
    text: str
    document: DocumentFacts
    updated_at: int


@dataclass(frozen=True, slots=True)
class Relatives:
    """parents: what the memory updates or derives from; children: what updates or extends it; siblings: the
    other direct links: what it extends, and what derives from it."""

    parents: list[RelatedHit] = field(default_factory=list)
    children: list[RelatedHit] = field(default_factory=list)
    siblings: list[RelatedHit] = field(default_factory=list)
