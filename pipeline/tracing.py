"""Which request brought something about: carried from the HTTP call through the log to the last stage.

A batch holds records of many requests, so what a stage publishes is matched with the record it comes from by
the document it is about. Nothing but log lines depends on any of it.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from schemas.base import Event

REQUEST_ID = "request-id"
"""The header of a record that says which request it goes back to."""

Subject = tuple[str, int | None]
"""A document's key and a submission of it; None: its newest."""


@dataclass(frozen=True, slots=True)
class Origins:
    """The requests behind what is being worked on: each document's, and the one behind all if one is."""

    of: Mapping[Subject, str] = field(default_factory=dict)
    all: str | None = None

    def find(self, document: str | None, seq: int | None) -> str | None:
        """The request behind a submission of a document, as exactly as it is known."""
        if document is None:
            return self.all
        return self.of.get((document, seq)) or self.of.get((document, None)) or self.all


_UNKNOWN = Origins()
_origins: ContextVar[Origins] = ContextVar("origins", default=_UNKNOWN)


def origins(handled: Iterable[tuple[Event, int, Mapping[str, str]]]) -> Origins:
    """From events with their offset and headers, in order."""
    found: dict[Subject, str] = {}
    requests: set[str | None] = set()
    for event, offset, headers in handled:
        request = headers.get(REQUEST_ID)
        requests.add(request)
        document, seq = _subject(event)
        if request is not None and document is not None:
            found[document, offset if seq is None else seq] = request
            found[document, None] = request
    return Origins(found, requests.pop() if len(requests) == 1 else None)


@contextmanager
def within(known: Origins) -> Iterator[None]:
    """Whatever is published or logged inside goes back to these."""
    token = _origins.set(known)
    try:
        yield
    finally:
        _origins.reset(token)


def request_id() -> str | None:
    """The one request behind what is being done now, if there is one."""
    return _origins.get().all


def origin(document: str, seq: int) -> str | None:
    """The request behind a submission of a document that is being worked on."""
    return _origins.get().find(document, seq)


def headers(event: Event) -> dict[str, str]:
    """What an event is published with."""
    request = _origins.get().find(*_subject(event))
    return {} if request is None else {REQUEST_ID: request}


def _subject(event: Event) -> Subject | tuple[None, None]:
    document: str | None = getattr(event, "document", None)
    return (None, None) if document is None else (document, getattr(event, "seq", None))
