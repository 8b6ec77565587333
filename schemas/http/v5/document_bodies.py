"""Bodies of documents."""

import re
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from schemas.base import ClosedResponseBody, PatchBody, RequestBody, ResponseBody
from schemas.events import Dreaming, TaskType
from schemas.http import field_types as fields
from schemas.http.v5.memory_bodies import MemoryResponse
from schemas.limits import MAX_BATCH_DOCUMENTS, MAX_CONTENT_BYTES, MAX_DOCUMENT_IDS

_URL_WITH_CREDENTIALS = re.compile(r"\s*https?://[^\s/?#<>\"]*@[^\s<>\"]*\s*", re.IGNORECASE)
_MAX_URL_CHARS = 4096
"""More than the longest URL that is fetched, with its surrounding space."""
FileType = Literal["text", "pdf", "image", "video", "audio"]


class BatchItem(RequestBody):
    """A document of a batch. `content` is text or a URL."""

    content: fields.Text
    id: fields.Omittable[fields.NewDocumentId] = None
    supporting_context: fields.Omittable[fields.SupportingContext] = None
    metadata: fields.Omittable[fields.MetadataBody] = None
    group: fields.Omittable[fields.MetadataBody] = None
    date: fields.Omittable[fields.Date] = None


class DocumentBody(BatchItem):
    """A document to add."""

    task_type: fields.Omittable[TaskType] = None
    dreaming: fields.Omittable[Dreaming] = None


class BatchBody(RequestBody):
    """Documents to add together."""

    documents: Annotated[list[BatchItem], Field(min_length=1, max_length=MAX_BATCH_DOCUMENTS)]
    task_type: fields.Omittable[TaskType] = None
    dreaming: fields.Omittable[Dreaming] = None


class DocumentPatch(PatchBody):
    """Changes to a document: at least one of the first five."""

    changes_nothing = frozenset({"task_type", "dreaming"})

    content: fields.Omittable[fields.Text] = None
    supporting_context: fields.Omittable[fields.SupportingContext] = None
    metadata: fields.Omittable[fields.MetadataBody] = None
    group: fields.Omittable[fields.MetadataBody] = None
    date: fields.Omittable[fields.Date] = None
    task_type: fields.Omittable[TaskType] = None
    dreaming: fields.Omittable[Dreaming] = None


class FileFormFields(RequestBody):
    """The fields of a multipart form beside `file`; metadata and group are JSON in a string."""

    supporting_context: fields.Omittable[fields.SupportingContext] = None
    metadata: fields.Omittable[str] = None
    group: fields.Omittable[str] = None
    date: fields.Omittable[fields.Date] = None
    task_type: fields.Omittable[TaskType] = None
    dreaming: fields.Omittable[Dreaming] = None
    file_type: fields.Omittable[FileType] = None
    mime_type: fields.Omittable[Annotated[str, Field(pattern=r"^[^\s/]+\/[^\s/]+$"), fields.REJECT_NUL]] = None


class DeleteDocumentsBody(RequestBody):
    """Documents to delete, each on its own."""

    ids: Annotated[list[fields.DocumentId], Field(min_length=1, max_length=MAX_DOCUMENT_IDS)]


class DocumentAccepted(ClosedResponseBody):
    """The document's id and its state after the request."""

    id: Annotated[str, Field(min_length=1)]
    status: fields.Status


class BatchResult(ClosedResponseBody):
    """Outcome of a document in a batch."""

    id: str
    status: Literal["unknown", "queued", "extracting", "chunking", "embedding", "indexing", "done", "failed", "error"]
    error: fields.Omittable[str] = None
    details: fields.Omittable[str] = None
    url: fields.Omittable[str] = None


class BatchResponse(ClosedResponseBody):
    """Accepted documents first, in the order of the request, then those that failed."""

    results: list[BatchResult]
    count: fields.Count
    failed: fields.Count


class DeleteDocumentError(ClosedResponseBody):
    """A document that could not be deleted."""

    id: fields.DocumentId
    error: Annotated[str, Field(min_length=1)]


class DeleteDocumentsResponse(ClosedResponseBody):
    """Number of deleted documents, and the failures."""

    count: fields.Count
    errors: list[DeleteDocumentError]


class ChunkSystem(ResponseBody):
    """Creation time of a chunk."""

    created_at: fields.Timestamp


class ChunkResponse(ResponseBody):
    """A passage of a document; `position` counts from 0."""

    id: str
    position: fields.SafeInteger
    content: str
    type: str
    metadata: fields.ResponseMetadata
    system: ChunkSystem


class DocumentSystem(ResponseBody):
    """State of a document. `dreaming_status`: state of its extraction.

    Extension of the contract: a failed document has an `error`, in words for people.
    """

    model_config = ConfigDict(extra="allow")
    status: fields.Status
    dreaming_status: fields.DreamingStatus
    created_at: fields.Timestamp
    updated_at: fields.Timestamp


class DocumentResponse(ResponseBody):
    """Document; `chunks` and `memories` only on request."""

    id: str
    title: str | None
    type: str
    summary: str | None
    content: str | None
    metadata: fields.ResponseMetadata
    system: DocumentSystem
    chunks: fields.Omittable[list[ChunkResponse]] = None
    memories: fields.Omittable[list[MemoryResponse]] = None


def validate_content(content: str) -> str | None:
    """Return why content is rejected, in words for its sender; None if it is accepted."""
    if not content.strip():
        return "content is empty: send some text or a URL"
    if len(content) > MAX_CONTENT_BYTES or len(content.encode()) > MAX_CONTENT_BYTES:
        return f"content is larger than {MAX_CONTENT_BYTES // 2**20} MB: split it, or upload it as a file"
    if is_url_with_credentials(content):
        return (
            "content is a URL with a user name or a password, which would be stored and shown in clear: "
            "remove what stands before the @"
        )
    return None


def multipart_schema(*, file_required: bool) -> dict[str, Any]:
    """Build the JSON schema of the multipart form with its file."""
    schema = FileFormFields.model_json_schema(by_alias=True)
    schema["properties"] = {"file": {"type": "string", "format": "binary"}, **schema["properties"]}
    for field in schema["properties"].values():
        field.pop("default", None)
    if file_required:
        schema["required"] = ["file"]
    return schema


def is_url_with_credentials(text: str) -> bool:
    """Tell whether a text is a URL with a user name or a password, and nothing else."""
    return len(text) <= _MAX_URL_CHARS and _URL_WITH_CREDENTIALS.fullmatch(text) is not None
