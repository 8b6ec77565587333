"""Bodies of status, failures, dead letters, usage and growth (extension of the contract)."""

from typing import Literal

from schemas.base import ResponseBody
from schemas.http.extensions.replay_bodies import ReplayProgressResponse
from schemas.http.field_types import Count, Timestamp


class StageLag(ResponseBody):
    """Records of a topic that a stage has not processed yet."""

    stage: str
    topic: str
    lag: Count


class HealthIssueResponse(ResponseBody):
    """Component that does not work, and why."""

    part: str
    reason: str


class DiskUsage(ResponseBody):
    """Disk usage in bytes; null if the data is not on a local disk."""

    tables: Count | None
    log: Count | None
    free: Count | None


class FailedDocument(ResponseBody):
    """Document that could not be parsed; `error` is for people."""

    namespace: str
    id: str
    title: str | None
    error: str
    updated_at: Timestamp


class DelayedDocument(ResponseBody):
    """Document whose extraction failed and is retried; `error` is for people."""

    namespace: str
    id: str
    error: str


class SearchSpeed(ResponseBody):
    """Searches that this process answered since it started; times in milliseconds, None before the first.

    `by_bucket`: searches per bucket, whose upper bounds in milliseconds are in `bounds`; the last has none.
    """

    count: Count
    median: float | None
    p99: float | None
    bounds: list[float]
    by_bucket: list[Count]


class StatusResponse(ResponseBody):
    """Documents by status, lag by consumer group and by stage, dead letters by topic, the newest failures.

    `delayed`: some of the documents with delayed extraction; `delayed_count`: their number. Chunks and
    memories are counted as far as they are flushed.
    """

    version: str
    bus: str
    health_issues: list[HealthIssueResponse]
    namespaces: Count
    documents: dict[str, Count]
    chunks: Count
    memories: Count
    lag: dict[str, Count]
    stages: list[StageLag]
    dead_letters: dict[str, Count]
    failures: list[FailedDocument]
    delayed: list[DelayedDocument]
    delayed_count: Count
    disk: DiskUsage
    searches: SearchSpeed
    replay: ReplayProgressResponse | None = None
    """Running replay, if any."""


class FailedDocumentsResponse(ResponseBody):
    """Failed documents, newest first."""

    documents: list[FailedDocument]


class DeadLetterSummary(ResponseBody):
    """Dead letter: its original position and the error."""

    id: str
    topic: str
    partition: int
    offset: int
    key: str
    stage: str
    error: str
    error_type: str
    attempts: Count
    dead_lettered_at: str


class DeadLettersResponse(ResponseBody):
    """Dead letters, oldest first per topic."""

    dead_letters: list[DeadLetterSummary]


class RedriveResponse(ResponseBody):
    """Number of records returned to their topics."""

    redriven: Count


class DeadLetterResponse(DeadLetterSummary):
    """Dead letter with headers and payload; a payload that is not UTF-8 is base64."""

    headers: dict[str, str]
    size: Count
    encoding: Literal["utf-8", "base64"]
    payload: str


class DropResponse(ResponseBody):
    """Number of dropped records."""

    dropped: Count


class QuotaUsage(ResponseBody):
    """Usage and limit; `limit` null: unlimited."""

    used: Count
    limit: Count | None


class KeyUsage(ResponseBody):
    """Monthly usage of a key, and its limit of requests per minute."""

    id: str
    name: str
    documents: QuotaUsage
    searches: QuotaUsage
    bytes: QuotaUsage
    """Of the texts and files that it added."""
    tokens: QuotaUsage
    """Of the answers to its reads, at four characters each; counted for keys with a budget, or below one."""
    rate_limit: int | None


class UsageResponse(ResponseBody):
    """Usage of a month (`2026-01`, UTC).

    `documents`, `searches`: totals of all keys; null unless the caller is an operator.
    """

    month: str
    documents: QuotaUsage | None
    searches: QuotaUsage | None
    keys: list[KeyUsage]


class NamespaceGrowth(ResponseBody):
    """Items added per day that still exist; memories count on the day of their extraction."""

    namespace: str
    documents: list[Count]
    memories: list[Count]


class GrowthResponse(ResponseBody):
    """Growth per day; `days`: UTC dates, oldest first, ending today; each list has one number per day."""

    days: list[str]
    namespaces: list[NamespaceGrowth]
