"""Bodies of v3 documents and v4 conversations."""

from typing import Annotated, Any, Literal

from pydantic import Field

from schemas.events import Dreaming, TaskType
from schemas.http.field_types import Date, MetadataBody, NewDocumentId, SupportingContext, Text
from schemas.http.v3_v4.lenient_body import LenientBody, TaggedBody
from schemas.limits import MAX_BATCH_DOCUMENTS, MAX_FILEPATH_LENGTH

MAX_LISTED_DOCUMENTS = 1100
"""Largest page of the v3 interface."""


FilePath = Annotated[Text, Field(max_length=MAX_FILEPATH_LENGTH)]


class FileFields(TaggedBody):
    custom_id: NewDocumentId | None = None
    filepath: FilePath | None = None


class DocumentFields(TaggedBody):
    """Fields of a document beside its content. `filter_by_metadata` is `group` in v5."""

    custom_id: NewDocumentId | None = None
    metadata: MetadataBody | None = None
    filter_by_metadata: MetadataBody | None = None
    entity_context: SupportingContext | None = None
    document_date: Date | None = None
    filepath: FilePath | None = None
    task_type: TaskType | None = None
    dreaming: Dreaming | None = None


class AddDocumentBody(DocumentFields):
    """A document to add: text or a URL."""

    content: Text


class AddDocumentsBody(DocumentFields):
    """Documents to add together; the other fields are their defaults."""

    documents: Annotated[list[AddDocumentBody | Text], Field(min_length=1, max_length=MAX_BATCH_DOCUMENTS)]


class UpdateDocumentBody(DocumentFields):
    content: Text | None = None


class ListBody(TaggedBody):
    filters: dict[str, Any] | str | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_LISTED_DOCUMENTS)] = 10
    page: Annotated[int, Field(ge=1)] = 1
    order: Literal["asc", "desc"] = "desc"
    sort: Literal["createdAt", "updatedAt"] = "createdAt"


class ListDocumentsBody(ListBody):
    filepath: Text | None = None
    include_content: bool = False


class DeleteDocumentsBody(TaggedBody):
    """Documents to delete: by id, or all of the containers named."""

    ids: Annotated[list[Text], Field(max_length=100)] | None = None
    filepath: Text | None = None


class TextPart(LenientBody):
    type: Literal["text"]
    text: Text


class ImageAddress(LenientBody):
    url: Text


class ImagePart(LenientBody):
    type: Literal["image_url"]
    image_url: ImageAddress


class Message(LenientBody):
    role: Literal["user", "assistant", "system", "tool"]
    content: Text | list[TextPart | ImagePart] = ""
    name: Text | None = None
    tool_calls: Annotated[list[Any] | None, Field(alias="tool_calls")] = None


class ConversationBody(TaggedBody):
    """A conversation so far; sent again with more messages it is extended."""

    conversation_id: NewDocumentId
    messages: Annotated[list[Message], Field(min_length=1)]
    metadata: MetadataBody | None = None
