"""The topics: `<entity>.<fact>.v1`, what they carry, and how long the bus keeps them."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeVar

from schemas import events
from schemas.base import Event

E = TypeVar("E", bound=Event)


@dataclass(frozen=True, slots=True)
class Topic(Generic[E]):
    """A named stream of one event type. `keep` None: for ever. `compacted`: only the newest per key stays.

    `single`: one partition on Kafka, so that every process can follow all of it in one order.
    """

    name: str
    event: type[E]
    keep: timedelta | None = None
    compacted: bool = False
    single: bool = False

    @property
    def dead_letters(self) -> str:
        """Where records go that can't be handled, with error and origin in their headers."""
        return f"{self.name}.dlq"


TRANSIENT = timedelta(hours=1)
"""For what an earlier topic brings forth again; retention waits for every group in any case."""
SYNCS = timedelta(days=30)
"""Runs of connectors are news, not truth: ten of each are shown."""
USAGE = timedelta(days=400)
"""A year, to be added up by whoever pays."""
AUDIT = timedelta(days=1100)
"""Three years."""

DOCUMENTS_SUBMITTED = Topic("documents.submitted.v1", events.DocumentSubmitted)
DOCUMENTS_EXTRACTED = Topic("documents.extracted.v1", events.DocumentExtracted)
DOCUMENTS_CHUNKED = Topic("documents.chunked.v1", events.DocumentChunked, keep=TRANSIENT)
MEMORIES_FORMED = Topic("memories.formed.v1", events.MemoriesFormed)
MEMORIES_FORGOTTEN = Topic("memories.forgotten.v1", events.MemoriesForgotten)
SETTINGS_CHANGED = Topic("settings.changed.v1", events.SettingsChanged, compacted=True, single=True)
OPERATIONS_REQUESTED = Topic("operations.requested.v1", events.OperationRequested)
CONNECTORS_TRIGGERED = Topic("connectors.triggered.v1", events.ConnectorTriggered, keep=SYNCS)
CONNECTORS_SYNCED = Topic("connectors.synced.v1", events.SyncReported, keep=SYNCS)
USAGE_RECORDED = Topic("usage.recorded.v1", events.UsageRecorded, keep=USAGE)
USAGE_COUNTED = Topic("usage.counted.v1", events.UsageCounted, keep=USAGE, compacted=True, single=True)
AUDIT_RECORDED = Topic("audit.recorded.v1", events.ActRecorded, keep=AUDIT, single=True)
FEEDBACK_SUBMITTED = Topic("feedback.submitted.v1", events.FeedbackSubmitted)

ALL: tuple[Topic[Any], ...] = (
    DOCUMENTS_SUBMITTED,
    DOCUMENTS_EXTRACTED,
    DOCUMENTS_CHUNKED,
    MEMORIES_FORMED,
    MEMORIES_FORGOTTEN,
    SETTINGS_CHANGED,
    OPERATIONS_REQUESTED,
    CONNECTORS_TRIGGERED,
    CONNECTORS_SYNCED,
    USAGE_RECORDED,
    USAGE_COUNTED,
    AUDIT_RECORDED,
    FEEDBACK_SUBMITTED,
)
