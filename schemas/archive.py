"""What an export holds, line by line. `FORMAT` grows when a reader of the one before would go wrong."""

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

FORMAT = 1


class Manifest(Event):
    """What an export is, and what wrote it."""

    format: Literal["recollect-export"] = "recollect-export"
    version: int = FORMAT
    written_by: str
    at: datetime


class ExportedMemory(Event):
    """A fact as one document states it; what all its documents state together makes the memory.

    `since`: when it was first stated without a break. `at`, or `date`, is the time it speaks of.
    """

    id: str
    space: str
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


class ExportedDocument(Event):
    """A document with its text and the memories it supports.

    `text` is what it became. `stale`: not `source` or `upload`, but what was sent before that, which is no
    text yet, or with `error` never will be. `formed`: its memories are these; none are to be formed.
    """

    kind: Literal["document"] = "document"
    space: str
    key: str
    id: str
    created_at: datetime
    updated_at: datetime
    text: str | None = None
    stale: bool = False
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
    formed: bool = False
    memories: tuple[ExportedMemory, ...] = ()


class End(Event):
    """The last line: without it an export was cut off."""

    kind: Literal["end"] = "end"
    documents: int = 0


Line = Annotated[
    OrganizationChanged | KeyChanged | NamespaceChanged | ExportedDocument | End, Field(discriminator="kind")
]
LINE: TypeAdapter[Line] = TypeAdapter(Line)
