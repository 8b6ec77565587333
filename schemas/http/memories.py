"""Memories: reading and forgetting them."""

from typing import Annotated

from pydantic import ConfigDict, Field

from schemas.base import Answer, Body
from schemas.http.parts import (
    AnswerMetadata,
    Count,
    Flag,
    Maybe,
    Quantity,
    RelationKind,
    ResourceId,
    SafeInteger,
    Text,
    Timestamp,
)
from schemas.limits import FORGET_MEMORIES, FORGET_QUERY_LENGTH


class MemorySystem(Answer):
    """When the memory was formed and last changed."""

    created_at: Timestamp
    updated_at: Timestamp


class MemoryAnswer(Answer):
    """One atomic fact."""

    id: str
    memory: str
    metadata: AnswerMetadata
    is_static: bool
    is_inference: bool
    is_latest: bool
    is_forgotten: bool
    version: SafeInteger
    system: MemorySystem


class DocumentRefSystem(Answer):
    """When the source was added and last changed."""

    created_at: str
    updated_at: str


class DocumentRef(Answer):
    """The document that a result comes from."""

    id: str
    title: str | None
    type: str | None
    metadata: AnswerMetadata
    summary: str | None
    system: DocumentRefSystem


class RelatedSystem(Answer):
    """When the related memory last changed."""

    updated_at: str


class RelatedMemory(Answer):
    """A memory that another one is related to, and how."""

    id: str
    relation: RelationKind
    version: Quantity | None = None
    memory: str
    metadata: AnswerMetadata
    system: RelatedSystem


class RelatedMemoryWithDocument(RelatedMemory):
    """As `RelatedMemory`; the document only when both includes were asked for."""

    document: Maybe[DocumentRef] = None


class Family(Answer):
    """Earlier versions, later versions, and direct extends or derives links."""

    parents: list[RelatedMemoryWithDocument]
    children: list[RelatedMemoryWithDocument]
    siblings: list[RelatedMemoryWithDocument]


class MemoryIncluded(Answer):
    """What was asked for with `include`."""

    related: Maybe[Family] = None
    document: Maybe[DocumentRef] = None


class MemoryDetails(MemoryAnswer):
    """A memory with what was asked for beside it."""

    included: Maybe[MemoryIncluded] = None


class ForgetBody(Body):
    """Memories to forget, each on its own."""

    ids: Annotated[list[ResourceId], Field(min_length=1, max_length=FORGET_MEMORIES)]


class ForgetMatchingBody(Body):
    """What to forget, in words. `dry_run` only shows what would be forgotten."""

    query: Annotated[Text, Field(min_length=1, max_length=FORGET_QUERY_LENGTH)]
    dry_run: Flag


class ForgetProblem(Answer):
    """A memory that could not be forgotten."""

    model_config = ConfigDict(extra="forbid")
    id: str
    error: str


class ForgetMatch(Answer):
    """A memory that is (or in a dry run would be) forgotten."""

    model_config = ConfigDict(extra="forbid")
    id: str
    memory: str


class ForgetAnswer(Answer):
    """`count` equals the number of `matches`."""

    model_config = ConfigDict(extra="forbid")
    count: Count
    errors: list[ForgetProblem]
    matches: list[ForgetMatch]
