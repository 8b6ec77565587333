"""Correlation of log lines with requests, from the HTTP call through the log to the last stage.

A batch holds records of many requests, so an event that a stage publishes is matched with its cause by the
document both are about. Only log lines depend on it.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from schemas.base import Event

REQUEST_ID_HEADER = "request-id"
"""Record header with the id of the request that caused the record."""

SubmissionKey = tuple[str, int | None]
"""A document's key and the number of a submission; None: its newest."""


@dataclass(frozen=True, slots=True)
class Correlation:
    """Request ids of the records being handled: by submission, and the common one if all share it."""

    by_submission: Mapping[SubmissionKey, str] = field(default_factory=dict)
    default: str | None = None

    def request_of(self, document: str | None, seq: int | None) -> str | None:
        """Return the request id of a submission, else of the document, else the common one."""
        if document is None:
            return self.default
        return self.by_submission.get((document, seq)) or self.by_submission.get((document, None)) or self.default


_NO_CORRELATION = Correlation()
_current: ContextVar[Correlation] = ContextVar("correlation", default=_NO_CORRELATION)


def correlate(handled: Iterable[tuple[Event, int, Mapping[str, str]]]) -> Correlation:
    """Build the correlation of events, given in order with their offsets and headers."""
    by_submission: dict[SubmissionKey, str] = {}
    requests: set[str | None] = set()
    for event, offset, headers in handled:
        request = headers.get(REQUEST_ID_HEADER)
        requests.add(request)
        document, seq = _submission_key(event)
        if request is not None and document is not None:
            by_submission[document, offset if seq is None else seq] = request
            by_submission[document, None] = request
    return Correlation(by_submission, requests.pop() if len(requests) == 1 else None)


@contextmanager
def correlation_scope(correlation: Correlation) -> Iterator[None]:
    """Attach the correlation to everything published or logged inside the block."""
    token = _current.set(correlation)
    try:
        yield
    finally:
        _current.reset(token)


def current_request_id() -> str | None:
    """Return the request id that the current work belongs to, if there is exactly one."""
    return _current.get().default


def submission_request_id(document: str, seq: int) -> str | None:
    return _current.get().request_of(document, seq)


def correlation_headers(event: Event) -> dict[str, str]:
    request = _current.get().request_of(*_submission_key(event))
    return {} if request is None else {REQUEST_ID_HEADER: request}


def _submission_key(event: Event) -> SubmissionKey | tuple[None, None]:
    document: str | None = getattr(event, "document", None)
    return (None, None) if document is None else (document, getattr(event, "seq", None))
