"""Bodies of v4 memories."""

from typing import Annotated

from pydantic import Field

from schemas.http.field_types import Date, MetadataBody, Text
from schemas.http.v3_v4.lenient_body import ContainerTag, LenientBody
from schemas.limits import MAX_FORGET_IDS, MAX_FORGET_QUERY_LENGTH

ForgetReason = Annotated[Text, Field(max_length=MAX_FORGET_QUERY_LENGTH)]
MemoryText = Annotated[Text, Field(min_length=1, max_length=10_000)]


class TemporalContext(LenientBody):
    """Date of the source and dates of the described event, ISO 8601."""

    document_date: Date | None = None
    event_date: list[Text] | None = None


class MemoryFields(LenientBody):
    metadata: MetadataBody | None = None
    forget_after: Text | None = None
    forget_reason: Text | None = None
    temporal_context: TemporalContext = TemporalContext()


class NewMemory(MemoryFields):
    content: MemoryText
    is_static: bool = False


class CreateMemoriesBody(LenientBody):
    container_tag: ContainerTag
    memories: Annotated[list[NewMemory], Field(min_length=1, max_length=100)]


class MemoryReference(LenientBody):
    container_tag: ContainerTag
    id: Text | None = None
    content: Text | None = None


class ForgetMemoryBody(MemoryReference):
    reason: ForgetReason | None = None


class UpdateMemoryBody(MemoryReference, MemoryFields):
    new_content: MemoryText


class ForgetMatchingBody(LenientBody):
    container_tag: ContainerTag
    query: Annotated[Text, Field(min_length=1, max_length=MAX_FORGET_QUERY_LENGTH)]
    dry_run: bool = False
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.5
    max_forget: Annotated[int, Field(ge=1, le=MAX_FORGET_IDS)] = 100
    reason: ForgetReason | None = None
