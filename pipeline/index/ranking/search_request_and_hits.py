"""The request and the results of a search in one namespace."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pipeline.index.segments.document_store import StoredDocument
from pipeline.rows import RowKind, Vector
from schemas.events import RelationKind
from schemas.filters import FilterExpression

ALL_KINDS: tuple[RowKind, ...] = ("chunk", "memory")
ScoreFactor = Literal[
    "bm25",
    "documentBm25",
    "vector",
    "topic",
    "neighbor",
    "speaker",
    "time",
    "number",
    "date",
    "memory",
    "supersedes",
    "memorySupport",
    "passage",
    "statedInChunk",
    "outdated",
    "cueLimit",
    "newer",
    "relative",
    "noNumber",
    "otherKind",
    "unknownName",
    "verbatim",
    "proximity",
    "wordSimilarity",
    "sharedTerms",
    "borderlineOffset",
    "rerankEndpoint",
    "queryVariants",
]
"""Parts of a score: first-stage and second-stage ranking, reranking, and query rewriting, in this order."""
Rescore = Callable[[Sequence[str]], dict[ScoreFactor, NDArray[np.float64]]]
"""What is added to the scores of some texts, by factor, an amount for each."""
ScoreExplanation = Mapping[ScoreFactor, float]
"""The contribution of each factor; their sum is the raw score."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """Options of a search. `threshold`: least similarity; `explain`: hits carry their score contributions."""

    kinds: tuple[RowKind, ...] = ALL_KINDS
    limit: int = 10
    threshold: float = 0.3
    filter: FilterExpression | None = None
    include_forgotten: bool = False
    explain: bool = False
    documents: tuple[str, ...] | None = None
    """Keys of the documents whose rows may be found, with the scores that they have among all; None: any."""
    rescore: Rescore | None = None
    """Features of the best rows that are added in the second stage; a search with it runs in a thread."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A found row. `start` and `end`: a chunk's offsets in its document; times in microseconds.

    `page`: the chunk's page, slide or sheet; empty for none. `in_profile`: a memory is of the user's own words.
    """

    kind: RowKind
    id: str
    text: str
    raw_score: float
    similarity: float
    document: StoredDocument
    vector: Vector
    created_at: int
    updated_at: int
    position: int = 0
    start: int = 0
    end: int = 0
    page: str = ""
    is_latest: bool = True
    is_inference: bool = False
    in_profile: bool = True
    explanation: ScoreExplanation | None = None
    """The contributions to `raw_score`; None unless requested."""


@dataclass(frozen=True, slots=True)
class CurrentMemory:
    """A current memory for profiles. `updated_at` in microseconds."""

    updated_at: int
    id: str
    text: str
    is_static: bool
    vector: Vector
    date: str = ""
    """The date of its source, as given; empty for none."""
    worth: float = 0.0


@dataclass(frozen=True, slots=True)
class RelatedHit:
    """A memory with a direct relation to another one. `updated_at` in microseconds."""

    id: str
    relation: RelationKind
    version: int
    text: str
    document: StoredDocument
    updated_at: int
    in_profile: bool


@dataclass(frozen=True, slots=True)
class RelatedMemories:
    """Direct relations of a memory.

    parents: the memories it updates or derives from; children: those that update or extend it; siblings:
    those it extends and those that derive from it.
    """

    parents: list[RelatedHit] = field(default_factory=list)
    children: list[RelatedHit] = field(default_factory=list)
    siblings: list[RelatedHit] = field(default_factory=list)
