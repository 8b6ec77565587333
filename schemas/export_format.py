"""Lines of an export. `FORMAT_VERSION` increases when older readers would misread the format."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, TypeAdapter

from schemas.base import Event, Metadata
from schemas.events import (
    Content,
    Dreaming,
    ImportedStatement,
    KeyChanged,
    MemoryStatement,
    NamespaceChanged,
    OrganizationChanged,
    TaskType,
    Upload,
)
from schemas.http.extensions import api_key_bodies
from schemas.http.field_types import NamespaceName, NewDocumentId, parse_metadata
from schemas.http.v5.document_bodies import is_url_with_credentials
from schemas.limits import NAMESPACE_PATTERN
from schemas.strict_json import parse_json

FORMAT_VERSION = 1
DIGEST_PATTERN = r"^[0-9a-f]{64}$"


class Manifest(Event):
    """Format, version and writer of an export."""

    format: Literal["recollect-export"] = "recollect-export"
    version: int = FORMAT_VERSION
    written_by: str
    at: datetime


class ExportedMemory(MemoryStatement, ImportedStatement):
    """Statement of a memory by one document; a memory is the sum of its statements.

    `since`: start of the uninterrupted statement. `at`, or `date`: the time it describes.
    """


class ExportedDocument(Event):
    """Document with its text and the memories it supports.

    `text`: the extracted text. `source_pending`: `text` belongs to an earlier source; `source` or `upload` has
    no text yet, or with `error` never will. `memories_included`: `memories` is complete, extraction is skipped.
    """

    kind: Literal["document"] = "document"
    incarnation: str
    key: str
    id: str
    created_at: datetime
    updated_at: datetime
    text: str | None = None
    source_pending: bool = False
    error: str | None = None
    title: str | None = None
    type: str = "text"
    summary: str | None = None
    url: str | None = None
    source: Content | None = None
    upload: Upload | None = None
    metadata: Metadata = Field(default_factory=dict)
    group: Metadata | None = None
    supporting_context: str | None = None
    date: str | None = None
    task_type: TaskType = "memory"
    dreaming: Dreaming = "dynamic"
    memories_included: bool = False
    memories: tuple[ExportedMemory, ...] = ()


class ExportEnd(Event):
    """Last line; an export without it is incomplete."""

    kind: Literal["end"] = "end"
    documents: int = 0


ExportLine = Annotated[
    OrganizationChanged | KeyChanged | NamespaceChanged | ExportedDocument | ExportEnd, Field(discriminator="kind")
]
EXPORT_LINE_ADAPTER: TypeAdapter[ExportLine] = TypeAdapter(ExportLine)


def _reject_credentials(url: str) -> str:
    if is_url_with_credentials(url):
        raise ValueError("is a URL with a user name or a password: remove what stands before the @")
    return url


_WithoutCredentials = Annotated[str, AfterValidator(_reject_credentials)]


_Incarnation = Annotated[str, Field(pattern=NAMESPACE_PATTERN.replace("+$", "+#[0-9]+$"))]
_Digest = Annotated[str, Field(pattern=DIGEST_PATTERN)]


class _BlobBounds(Event):
    sha256: _Digest


class _UploadBounds(Event):
    blob: _BlobBounds


class _ContentBounds(Event):
    text: _WithoutCredentials | None = None
    blob: _BlobBounds | None = None


_Bounded = Annotated[Metadata, AfterValidator(parse_metadata)]


class _DocumentBounds(Event):
    """Bounds of a document, as requests have them."""

    incarnation: _Incarnation
    key: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    id: NewDocumentId
    metadata: _Bounded = Field(default_factory=dict)
    group: _Bounded | None = None
    url: _WithoutCredentials | None = None
    source: _ContentBounds | None = None
    upload: _UploadBounds | None = None


class _NamespaceBounds(Event):
    name: NamespaceName
    incarnations: tuple[_Incarnation, ...]


class _KeyBounds(Event):
    """Bounds of a key. Its id is none of the operator's own key, whose end nobody looks up."""

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{12}$")]
    name: api_key_bodies.KeyName
    sha256: _Digest
    previous_sha256: _Digest | None = None
    namespaces: tuple[api_key_bodies.NamespaceScopePattern, ...] | None = Field(None, min_length=1, max_length=1000)
    scopes: tuple[api_key_bodies.Scope, ...] | None = Field(None, max_length=5)
    rate_limit: api_key_bodies.RequestsPerMinute | None = None
    monthly_documents: api_key_bodies.QuotaLimit | None = None
    monthly_searches: api_key_bodies.QuotaLimit | None = None
    monthly_bytes: api_key_bodies.BudgetLimit | None = None
    monthly_tokens: api_key_bodies.BudgetLimit | None = None


_BOUNDS: dict[type[Event], type[Event]] = {
    ExportedDocument: _DocumentBounds,
    NamespaceChanged: _NamespaceBounds,
    KeyChanged: _KeyBounds,
}


def parse_line(text: bytes) -> ExportLine:
    """Parse a line of an export; ValueError if no service like this one can have written it."""
    values = parse_json(text)
    line = EXPORT_LINE_ADAPTER.validate_python(values)
    if (bounds := _BOUNDS.get(type(line))) is not None:
        bounds.model_validate(values)
    return line
