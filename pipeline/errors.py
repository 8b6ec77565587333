"""Errors, named after the reaction they ask for rather than the place where they happened."""

import sqlite3


class SettingsError(ValueError):
    """Settings that do not fit together or the data; the message names the one to change."""


class RetryableError(Exception):
    """A failure that may pass: a timeout, a busy peer. Retried with backoff, then dead-lettered."""


class OutageError(RetryableError):
    """A resource that every record needs is missing, such as disk space. Retried until it is back."""


class FollowerClosedError(OutageError):
    """A follower was closed before it had handled what the caller waits for."""


class EndpointUnavailableError(RetryableError):
    """An external endpoint does not answer: call it again after `retry_after_seconds`; do not block on it."""

    def __init__(self, reason: str, retry_after_seconds: float) -> None:
        super().__init__(reason)
        self.retry_after_seconds = retry_after_seconds


class NotReadyError(RetryableError):
    """The requested result is still being built: ask again after `retry_after_seconds`.

    The message is shown to the user.
    """

    def __init__(self, message: str, retry_after_seconds: int) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class LockLostError(RetryableError):
    """A lock was lost while it was held: write nothing more under it and start the work again."""


class RejectedError(Exception):
    """A failure that no retry can cure: the record becomes a dead letter with this message."""


class ParsingError(Exception):
    """A document that can't be converted to text. The message tells the user what is wrong and what to do."""

    document_type: str | None = None
    """The detected type of the document, if it was detected before the failure."""


class StageFaultError(Exception):
    """A stage fails on every record. Everything up to `through_offset` is handled or dead-lettered."""

    def __init__(self, message: str, through_offset: int) -> None:
        super().__init__(message)
        self.through_offset = through_offset


class DamagedLogError(sqlite3.DatabaseError):
    """The file of the log is damaged; the message says what to do."""


class DataDirectoryLockedError(Exception):
    """Another process serves this data directory."""


def reason_of(error: Exception) -> str:
    """Return an error's message, or the name of its class where it has none, as with a timeout."""
    return str(error) or type(error).__name__
