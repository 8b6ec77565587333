"""What an operator asks of a running service. Ours, and outside the contract."""

from schemas.base import Answer
from schemas.http.parts import Count, Timestamp


class StatusAnswer(Answer):
    """Documents by status, records not yet handled by consumer group, dead letters by topic."""

    namespaces: Count
    documents: dict[str, Count]
    lag: dict[str, Count]
    dead_letters: dict[str, Count]


class FailedDocument(Answer):
    """A document that could not be read. `error` is for people."""

    namespace: str
    id: str
    error: str
    updated_at: Timestamp


class FailedAnswer(Answer):
    """The newest first."""

    documents: list[FailedDocument]


class DeadLetterAnswer(Answer):
    """A record that could not be handled, where it was first read, and why it was parked."""

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
