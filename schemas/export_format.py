"""Lines of an export. `FORMAT_VERSION` increases when older readers would misread the format."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from schemas.base import Event, Metadata
from schemas.events import (
    Content,
    Dreaming,
    KeyChanged,
    NamespaceChanged,
    OrganizationChanged,
    Relation,
    TaskType,
    Upload,
)

FORMAT_VERSION = 1


class Manifest(Event):
    """Format, version and writer of an export."""

    format: Literal["recollect-export"] = "recollect-export"
    version: int = FORMAT_VERSION
    written_by: str
    at: datetime


class ExportedMemory(Event):
    """Statement of a memory by one document; a memory is the sum of its statements.

    `since`: start of the uninterrupted statement. `at`, or `date`: the time it describes.
    """

    id: str
    incarnation: str
    text: str
    is_static: bool = False
    is_inference: bool = False
    since: datetime
    at: datetime
    date: str | None = None
    event_dates: tuple[str, ...] = ()
    start: int | None = None
    end: int | None = None
    relations: tuple[Relation, ...] = ()
    replaced_by: tuple[str, ...] = ()
    forgotten_at: datetime | None = None
    forget_reason: str | None = None
    worth: float | None = None
    in_profile: bool = True
    said_by: str | None = None


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
