"""Rules: which records are sealed, and which key sealed one."""

from collections.abc import Iterable, Mapping

from pipeline.bus.records import SEALED_HEADER
from schemas.base import Event
from schemas.events import DocumentSubmitted
from schemas.topics import CONTENT_TOPICS

SEALED_TOPICS = frozenset(topic.name for topic in CONTENT_TOPICS)
MAX_BLOCK_DAYS = 1
"""Days that a block is sealed with whose keys end by themselves."""
BLOCK_RECORDS = 1024
"""Records that are sealed under keys of one block: one synced write for so many."""
WRAPPING_NAME = "wrapping"
"""Where the name of the key that wraps the others is stored; there if there are any keys."""
BLOCKS = "blocks"
"""Folder of the blocks of keys."""
DESTROYED = "destroyed"
"""Folder of the lists of destroyed keys, which outlive older copies of the keys."""
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
    return parse_key_label(headers.get(SEALED_HEADER, ""))


def parse_key_label(name: str) -> KeyLabel | None:
    """Return the label that a header spells; None if it is none."""
    block, _, number = name.partition("/")
    if not number.isascii() or not number.isdecimal() or len(number) > _MAX_NUMBER_DIGITS:
        return None
    return (block, int(number)) if int(number) < BLOCK_RECORDS else None


def ends_by_itself(label: KeyLabel) -> bool:
    """Tell whether a key ends on the day in the name of its block.

    >>> ends_by_itself(("5f", 12)), ends_by_itself(("5f-20261127", 12))
    (False, True)
    """
    return "-" in label[0]


def key_labels(records: Iterable[Mapping[str, str]]) -> set[KeyLabel]:
    """Return the labels of the keys of sealed records, given by their headers."""
    return {label for headers in records if (label := key_label(headers)) is not None}
