"""Errors by the reaction they ask for, not by where they happened."""


class RetryableError(Exception):
    """It may work if tried again: a timeout, a busy peer. Retried with backoff, then parked."""


class RejectedError(Exception):
    """It will never work: the record is parked as a dead letter with this message."""


class ExtractionError(Exception):
    """A document that can't become text. The message is shown to a person: what was wrong, what to do."""


class DataDirectoryLockedError(Exception):
    """Another process serves this data directory."""
