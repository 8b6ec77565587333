"""Rules: which records are sealed, and which key sealed one. Imports no cryptography."""

from collections.abc import Mapping

from pipeline.bus.records import SEALED_HEADER
from schemas.base import Event
from schemas.events import DocumentSubmitted
from schemas.topics import (
    CONNECTORS_SYNCED,
    DOCUMENTS_CHUNKED,
    DOCUMENTS_EXTRACTED,
    DOCUMENTS_SUBMITTED,
    MEMORIES_FORGOTTEN,
    MEMORIES_FORMED,
)

SEALED_TOPICS = frozenset(
    topic.name
    for topic in (
        DOCUMENTS_SUBMITTED,
        DOCUMENTS_EXTRACTED,
        DOCUMENTS_CHUNKED,
        MEMORIES_FORMED,
        MEMORIES_FORGOTTEN,
        CONNECTORS_SYNCED,
    )
)
"""Topics with what people wrote, or what was read of it, except settings of namespaces."""
BLOCK_RECORDS = 1024
"""Records that are sealed under keys of one block: one synced write for so many."""
_MAX_NUMBER_DIGITS = 6
KeyLabel = tuple[str, int]
"""Block and number of a record's key."""


def stays_plain(event: Event) -> bool:
    """Tell whether an event stays as it is: a deletion has no words, is kept for ever, and is found by its bytes."""
    return isinstance(event, DocumentSubmitted) and event.operation == "delete"


def key_label(headers: Mapping[str, str]) -> KeyLabel | None:
    """Return the label of the key that sealed a record; None if it is not sealed, or its header names no key.

    >>> key_label({"sealed": "5f/12"}), key_label({}), key_label({"sealed": "5f/-1"})
    (('5f', 12), None, None)
    """
    block, _, number = headers.get(SEALED_HEADER, "").partition("/")
    if not number.isascii() or not number.isdecimal() or len(number) > _MAX_NUMBER_DIGITS:
        return None
    return (block, int(number)) if int(number) < BLOCK_RECORDS else None
