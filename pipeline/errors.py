"""Errors by the reaction they ask for, not by where they happened."""


class RetryableError(Exception):
    """It may work if tried again: a timeout, a busy peer. Retried with backoff, then parked."""


class OutageError(RetryableError):
    """What every record needs is away, such as space on the disk: waited for, and no record is to blame."""


class AwayError(RetryableError):
    """Something outside does not answer now: ask it again after so many seconds, and nobody waits for it."""

    def __init__(self, reason: str, seconds: float) -> None:
        super().__init__(reason)
        self.seconds = seconds


class NotReadyError(RetryableError):
    """What is asked for is being made, and goes on being made: ask again after so many seconds.

    The message is shown to a person.
    """

    def __init__(self, message: str, seconds: int) -> None:
        super().__init__(message)
        self.seconds = seconds


class LockLostError(RetryableError):
    """A lock was lost while it was held: nothing more may be written under it, the work begins again."""


class RejectedError(Exception):
    """It will never work: the record is parked as a dead letter with this message."""


class ExtractionError(Exception):
    """A document that can't become text. The message is shown to a person: what was wrong, what to do."""

    kind: str | None = None
    """What the document is, as far as that was found out before."""


class StageFaultError(Exception):
    """A stage fails on whatever it is given. `through`: the offset up to which all is handled or parked."""

    def __init__(self, message: str, through: int) -> None:
        super().__init__(message)
        self.through = through


class DataDirectoryLockedError(Exception):
    """Another process serves this data directory."""
