"""Documents: adding, changing, reading and deleting them."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from schemas.base import Answer, Body
from schemas.events import Dreaming, TaskType
from schemas.http.memories import MemoryAnswer
from schemas.http.parts import (
    NO_NUL,
    AnswerMetadata,
    Count,
    DocumentId,
    DreamingStatus,
    Maybe,
    MetadataBody,
    SafeInteger,
    Status,
    SupportingContext,
    Text,
    Timestamp,
)
from schemas.limits import BATCH_DOCUMENTS, CONTENT_BYTES, DELETE_DOCUMENTS

FileType = Literal["text", "pdf", "image", "video", "audio"]


class BatchItem(Body):
    """A document of a batch. `content` is text or a URL."""

    content: Text
    id: Maybe[DocumentId] = None
    supporting_context: Maybe[SupportingContext] = None
    metadata: Maybe[MetadataBody] = None
    group: Maybe[MetadataBody] = None
    date: Maybe[Text] = None


class DocumentBody(BatchItem):
    """A document to add."""

    task_type: Maybe[TaskType] = None
    dreaming: Maybe[Dreaming] = None


class BatchBody(Body):
    """Documents to add together."""

    documents: Annotated[list[BatchItem], Field(min_length=1, max_length=BATCH_DOCUMENTS)]
    task_type: Maybe[TaskType] = None
    dreaming: Maybe[Dreaming] = None


class DocumentPatch(Body):
    """Changes to a document: at least one of the first five."""

    content: Maybe[Text] = None
    supporting_context: Maybe[SupportingContext] = None
    metadata: Maybe[MetadataBody] = None
    group: Maybe[MetadataBody] = None
    date: Maybe[Text] = None
    task_type: Maybe[TaskType] = None
    dreaming: Maybe[Dreaming] = None

    @model_validator(mode="after")
    def _changes_something(self) -> "DocumentPatch":
        if not self.model_fields_set - {"task_type", "dreaming"}:
            raise ValueError(
                "give at least one of content, supportingContext, metadata, group and date: "
                "there is nothing to change"
            )
        return self


class FileForm(Body):
    """The fields of a multipart form beside `file`; metadata and group are JSON in a string."""

    supporting_context: Maybe[SupportingContext] = None
    metadata: Maybe[str] = None
    group: Maybe[str] = None
    date: Maybe[Text] = None
    task_type: Maybe[TaskType] = None
    dreaming: Maybe[Dreaming] = None
    file_type: Maybe[FileType] = None
    mime_type: Maybe[Annotated[str, Field(pattern=r"^[^\s/]+\/[^\s/]+$"), NO_NUL]] = None


class DeleteDocumentsBody(Body):
    """Documents to delete, each on its own."""

    ids: Annotated[list[DocumentId], Field(min_length=1, max_length=DELETE_DOCUMENTS)]


class Accepted(Answer):
    """The document's id and its state after the request."""

    model_config = ConfigDict(extra="forbid")
    id: Annotated[str, Field(min_length=1)]
    status: Status


class BatchResult(Answer):
    """What became of one document of a batch."""

    model_config = ConfigDict(extra="forbid")
    id: str
    status: Literal[
        "unknown", "queued", "extracting", "chunking", "embedding", "indexing", "done", "failed", "error"
    ]
    error: Maybe[str] = None
    details: Maybe[str] = None
    url: Maybe[str] = None


class BatchAnswer(Answer):
    """Accepted documents first, in the order of the request, then those that failed."""

    model_config = ConfigDict(extra="forbid")
    results: list[BatchResult]
    count: Count
    failed: Count


class DeleteProblem(Answer):
    """A document that could not be deleted."""

    model_config = ConfigDict(extra="forbid")
    id: DocumentId
    error: Annotated[str, Field(min_length=1)]


class DeleteDocumentsAnswer(Answer):
    """How many documents are gone, and which could not be deleted."""

    model_config = ConfigDict(extra="forbid")
    count: Count
    errors: list[DeleteProblem]


class ChunkSystem(Answer):
    """When the chunk was made."""

    created_at: Timestamp


class ChunkAnswer(Answer):
    """A passage of a document; `position` counts from 0."""

    id: str
    position: SafeInteger
    content: str
    type: str
    metadata: AnswerMetadata
    system: ChunkSystem


class DocumentSystem(Answer):
    """The state of a document. `dreaming_status` is that of its memories.

    Beyond the contract, which leaves room for it, a failed one has an `error`: why, in words for people.
    """

    model_config = ConfigDict(extra="allow")
    status: Status
    dreaming_status: DreamingStatus
    created_at: Timestamp
    updated_at: Timestamp


class DocumentAnswer(Answer):
    """A document; `chunks` and `memories` only when they were asked for."""

    id: str
    title: str | None
    type: str
    summary: str | None
    content: str | None
    metadata: AnswerMetadata
    system: DocumentSystem
    chunks: Maybe[list[ChunkAnswer]] = None
    memories: Maybe[list[MemoryAnswer]] = None


def content_problem(content: str) -> str | None:
    """Why this content can't be accepted, in words for its sender; None: it can."""
    if not content.strip():
        return "content is empty: send some text or a URL"
    if len(content) > CONTENT_BYTES or len(content.encode()) > CONTENT_BYTES:
        return f"content is larger than {CONTENT_BYTES // 2**20} MB: split it, or upload it as a file"
    return None


def form_schema(*, file_required: bool) -> dict[str, Any]:
    """The JSON schema of the multipart form, with its file."""
    schema = FileForm.model_json_schema(by_alias=True)
    schema["properties"] = {"file": {"type": "string", "format": "binary"}, **schema["properties"]}
    for field in schema["properties"].values():
        field.pop("default", None)
    if file_required:
        schema["required"] = ["file"]
    return schema
