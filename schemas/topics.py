"""Topics `<entity>.<fact>.v1`: event types and retention."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeVar

from schemas import events
from schemas.base import Event

E = TypeVar("E", bound=Event)


@dataclass(frozen=True, slots=True)
class Topic(Generic[E]):
    """Named stream of one event type. `retention` None: for ever. `compacted`: the newest per key is kept.

    `single_partition`: one partition on Kafka, so that every process reads all of it in one order. The embedded log
    divides it by key.
    """

    name: str
    event_type: type[E]
    retention: timedelta | None = None
    compacted: bool = False
    single_partition: bool = False

    @property
    def dead_letter_topic(self) -> str:
        """Name of the topic for failed records, which carry error and origin in their headers."""
        return f"{self.name}.dlq"


DERIVED_RETENTION = timedelta(hours=1)
"""Retention of events derived from an earlier topic; deletion always waits for every consumer group."""
SYNC_RETENTION = timedelta(days=30)
"""Retention of connector runs; the ten newest of each connector are shown."""
USAGE_RETENTION = timedelta(days=400)
"""Retention of usage: a year, for billing."""
AUDIT_RETENTION = timedelta(days=1100)
"""Retention of the audit log and of recall logs: three years."""

DOCUMENTS_SUBMITTED = Topic("documents.submitted.v1", events.DocumentSubmitted)
DOCUMENTS_EXTRACTED = Topic("documents.extracted.v1", events.DocumentExtracted)
DOCUMENTS_CHUNKED = Topic("documents.chunked.v1", events.DocumentChunked, retention=DERIVED_RETENTION)
MEMORIES_FORMED = Topic("memories.formed.v1", events.MemoriesFormed)
MEMORIES_FORGOTTEN = Topic("memories.forgotten.v1", events.MemoriesForgotten)
SETTINGS_CHANGED = Topic("settings.changed.v1", events.SettingsChanged, compacted=True, single_partition=True)
OPERATIONS_REQUESTED = Topic("operations.requested.v1", events.OperationRequested)
CONNECTORS_TRIGGERED = Topic("connectors.triggered.v1", events.ConnectorTriggered, retention=SYNC_RETENTION)
CONNECTORS_SYNCED = Topic("connectors.synced.v1", events.SyncReported, retention=SYNC_RETENTION)
USAGE_RECORDED = Topic("usage.recorded.v1", events.ModelUsageRecorded, retention=USAGE_RETENTION)
USAGE_COUNTED = Topic(
    "usage.counted.v1", events.ApiUsageCounted, retention=USAGE_RETENTION, compacted=True, single_partition=True
)
AUDIT_RECORDED = Topic("audit.recorded.v1", events.AuditEntryRecorded, retention=AUDIT_RETENTION, single_partition=True)
RECALLS_RECORDED = Topic("recalls.recorded.v1", events.RecallRecorded, retention=AUDIT_RETENTION)
QUESTIONS_RECORDED = Topic("questions.recorded.v1", events.QuestionRecorded, compacted=True, single_partition=True)
FEEDBACK_SUBMITTED = Topic("feedback.submitted.v1", events.FeedbackSubmitted)

ALL_TOPICS: tuple[Topic[Any], ...] = (
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
    RECALLS_RECORDED,
    QUESTIONS_RECORDED,
    FEEDBACK_SUBMITTED,
)
CONTENT_TOPICS: tuple[Topic[Any], ...] = (
    DOCUMENTS_SUBMITTED,
    DOCUMENTS_EXTRACTED,
    DOCUMENTS_CHUNKED,
    MEMORIES_FORMED,
    MEMORIES_FORGOTTEN,
    CONNECTORS_TRIGGERED,
    CONNECTORS_SYNCED,
    RECALLS_RECORDED,
    QUESTIONS_RECORDED,
)
"""Topics with words of people, or with what was read of them, which are sealed and erased. Their keys begin with the
incarnation."""
