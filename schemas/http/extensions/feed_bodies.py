"""Data of the events of a namespace's feed (extension of the contract)."""

from typing import Literal

from schemas.base import ResponseBody
from schemas.http.field_types import Count, Timestamp

DocumentEventName = Literal[
    "document.queued",
    "document.updated",
    "document.deleted",
    "document.extracted",
    "document.done",
    "document.failed",
]
MemoryEventName = Literal["memories.formed", "memories.forgotten", "memories.restored"]
FeedEventName = DocumentEventName | MemoryEventName


class DocumentFeedEvent(ResponseBody):
    """Change of a document. `type` and `title` with `document.extracted`, `error` with `document.failed`."""

    id: str
    at: Timestamp
    type: str | None = None
    title: str | None = None
    error: str | None = None


class CreatedMemory(ResponseBody):
    """New memory; `is_latest` False: a statement about a later time has replaced it already."""

    id: str
    memory: str
    version: Count
    is_static: bool
    is_inference: bool
    is_latest: bool


class ReplacedMemory(ResponseBody):
    """Memory that a new one replaced; its history is kept."""

    id: str
    memory: str
    replaced_by: str


class MemoriesFormedEvent(ResponseBody):
    """Memories that a document's text added, and those that these replaced."""

    document: str
    at: Timestamp
    created: list[CreatedMemory]
    replaced: list[ReplacedMemory]


class ForgottenMemory(ResponseBody):
    """Memory that is hidden from recall; its history is kept."""

    id: str
    memory: str


class MemoriesForgottenEvent(ResponseBody):
    """Memories that were forgotten together, and the reason given; or that were restored."""

    at: Timestamp
    reason: str
    forgotten: list[ForgottenMemory]
