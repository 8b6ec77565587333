"""What an operator asks of a running service. Ours, and outside the contract."""

from typing import Literal

from schemas.base import Answer
from schemas.http.parts import Count, Timestamp
from schemas.http.replay import ReplayAnswer


class StageLag(Answer):
    """Records of a topic that a stage has yet to handle."""

    stage: str
    topic: str
    lag: Count


class NotReady(Answer):
    """A part that does not work, and why."""

    part: str
    reason: str


class Disk(Answer):
    """Bytes; null where they are on no disk of this machine."""

    tables: Count | None
    log: Count | None
    free: Count | None


class FailedDocument(Answer):
    """A document that could not be read. `error` is for people."""

    namespace: str
    id: str
    error: str
    updated_at: Timestamp


class WaitingDocument(Answer):
    """A document whose memories could not be formed yet, and are tried again. `error` is for people."""

    namespace: str
    id: str
    error: str


class StatusAnswer(Answer):
    """Documents by status, lag by consumer group and by stage, dead letters by topic, the newest failures.

    `waiting`: some of the documents whose memories could not be formed yet; `waiting_count`: how many are.

    Chunks and memories are counted as far as they are flushed.
    """

    version: str
    bus: str
    not_ready: list[NotReady]
    namespaces: Count
    documents: dict[str, Count]
    chunks: Count
    memories: Count
    lag: dict[str, Count]
    stages: list[StageLag]
    dead_letters: dict[str, Count]
    failures: list[FailedDocument]
    waiting: list[WaitingDocument]
    waiting_count: Count
    disk: Disk
    replay: ReplayAnswer | None = None
    """The replay that runs, if one does."""


class FailedAnswer(Answer):
    """The newest first."""

    documents: list[FailedDocument]


class DeadLetterAnswer(Answer):
    """A record that could not be handled, where it was first read, and why it was parked."""

    id: str
    topic: str
    partition: int
    offset: int
    key: str
    stage: str
    error: str
    error_type: str
    attempts: Count
    parked_at: str


class DeadLettersAnswer(Answer):
    """Oldest first per topic."""

    letters: list[DeadLetterAnswer]


class ReplayedAnswer(Answer):
    """How many records were given back to their topics."""

    replayed: Count


class LetterAnswer(DeadLetterAnswer):
    """All of a dead letter; what is no UTF-8 comes as base64."""

    headers: dict[str, str]
    size: Count
    encoding: Literal["utf-8", "base64"]
    payload: str


class DroppedAnswer(Answer):
    """How many records were let go of."""

    dropped: Count
